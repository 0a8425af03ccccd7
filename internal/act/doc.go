// Package act is the only writer: it carries out the calls of a plan, on the
// cloud through its provider and on nodes and pods through the API server.
//
// What flows in: model.Calls, each one short write on one subject with a deadline. What flows out:
// one model.Outcome for each, by Collect, and Changed, a signal that there is one. Start returns at
// once. Nothing here decides, and nothing is retried that the loop can decide again. A write whose
// end is unknown says so (MayHaveHappened), so that the ledger can err to "it happened". One call
// is two steps, a write and a look: if a Cordon may have happened, the look may not have, so the
// loop asks for it again.
//
// Writes to one pool (else group) follow each other, one at a time (rule P3), and so do writes to
// one node, and those to one pod. Removals from one group that wait for their turn are one write,
// ten at most: Cluster API's takes a second, and a growth that comes after them would wait for
// each. Evictions from one node run beside each other. The numbers of concurrent writes to nodes
// and of concurrent evictions are limited: a plan may mark hundreds of nodes, and the API server
// has other clients.
//
// Before a node is emptied, and before it goes, act looks at it once more: that read is act's own
// (rule L9). Nodes are written by PUT with the version that was read, never by patch: Plimsoll has
// the Cluster Autoscaler's permissions, which do not include patch.
//
// The clock and what runs the jobs are handed in (Runtime). A job blocks in the client's requests and
// the provider's calls alone; lanes and slots are state. So the virtual world runs this package as it
// is, one job at a time.
//
// The context given to Start is the leader's. When it ends, waiting calls never begin; those under
// way keep their deadline (rule L10).
//
// A process that only observes has an Onlooker in the Actor's place, which cannot write.
//
// Who may import it: hosts (cmd). It imports model and provider, and fills the
// loop's port Actor without importing it.
package act
