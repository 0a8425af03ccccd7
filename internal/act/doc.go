// Package act is the only writer: it carries out the calls of a plan, on the
// cloud through its provider and on nodes through the API server.
//
// What flows in: model.Calls, each one short write on one subject with a
// deadline. What flows out: one model.Outcome for each, by Collect, and
// Changed, a signal that there is one. Start returns at once; nothing here
// decides, and nothing is tried again that the loop could decide anew. A write
// whose end is unknown says so (MayHaveHappened), so that the ledger can err to
// "it happened".
//
// Writes to one pool (else group) follow each other, one at a time (rule P3);
// so do writes to one node. Before a node goes, act looks at it once more: that
// read is act's own.
//
// The context given to Start is the leader's. When it ends, calls that have not
// begun never do; those under way get their deadline (rule L10).
//
// Who may import it: hosts (cmd). It imports model and provider, and fills the
// loop's port Actor without importing it.
package act
