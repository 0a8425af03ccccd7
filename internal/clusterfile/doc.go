// Package clusterfile is a cluster in a file: the objects that deciding reads, the node groups as the
// provider read them, what the leader remembered, and the time.
//
// What flows in: files of YAML or JSON, as Plimsoll, kubectl or kwokctl write them, or lists that were
// read from a cluster. What flows out: a Cluster, which Write puts into a file, Anonymize takes the
// names from, and Observation makes ready to decide on. Objects are cut down as they come, to what
// observe reads of them.
//
// A document that cannot be read is an error with file and line. Kinds that are not needed are
// counted, and what is missing is said with what it means.
//
// Who may import it: hosts (cmd) and tests.
package clusterfile
