// Package act is the only writer: it carries out the calls of a plan, on the
// cloud through its provider and on nodes and pods through the API server.
//
// What flows in: model.Calls, each one short write on one subject with a
// deadline. What flows out: one model.Outcome for each, by Collect, and
// Changed, a signal that there is one. Start returns at once; nothing here
// decides, and nothing is tried again that the loop could decide anew. A write
// whose end is unknown says so (MayHaveHappened), so that the ledger can err to
// "it happened". One call is two steps, a write and a look: of a Cordon that
// may have happened nobody knows that the look was made, and it is asked for
// once more.
//
// Writes to one pool (else group) follow each other, one at a time (rule P3), and
// so do writes to one node, and those to one pod. Removals from one group that
// wait for their turn are one write, ten at most: Cluster API's takes a second, and
// a growth that comes after them would wait for each. Evictions from one node run
// beside each other. Of all writes to nodes, and of all evictions, only so many
// run at once: a plan may mark hundreds of nodes, and the API server has others
// to serve.
//
// Before a node is emptied, and before it goes, act looks at it once more: that
// read is act's own (rule L9). Nodes are written by PUT with the version that
// was read, never by patch: Plimsoll has the rights that the Cluster Autoscaler
// has, and patch is none of them.
//
// The context given to Start is the leader's. When it ends, calls that have not
// begun never do; those under way get their deadline (rule L10).
//
// A process that only observes has an Onlooker in the Actor's place, which has
// nothing to write with.
//
// Who may import it: hosts (cmd). It imports model and provider, and fills the
// loop's port Actor without importing it.
package act
