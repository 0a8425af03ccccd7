// Package schedsim answers one question, exactly and fast: would pods of this
// class fit on this node, and how many?
//
// What flows in: a frozen model.Snapshot. What flows out: numbers and reasons
// in the model's terms. Nothing of the scheduler's own types crosses the face
// of this package, so that what is inside can be replaced.
//
// The verdicts are the scheduler's own: its PreFilter and Filter plugins in their
// default profile, fed from memory. They are asked as seldom as exactness
// allows, by how a class is coupled to the pods around it (rule C2):
//
//   - free: what fits depends on the node's shape and on arithmetic.
//   - host: it also depends on the other pods of that one node.
//   - domain: it depends on the pods of whole topology domains. These are
//     counted, and the verdict is read from the counts; the plugins are asked
//     about the node itself alone.
//   - single: the same, and every node is a domain of its own.
//
// Place, Spread and Pack find room for pods that have none. A Mover moves the pods
// of nodes that are to go onto others, and tells which of them cannot go.
//
// A World may be marked, changed and undone, and its counters follow. State of
// a plugin is never patched, always computed afresh (rule C3).
//
// What it costs: a placement, as much as there are counters that its class
// feeds; a verdict, as much as the class has terms; the first question about a
// term, a look at every node.
//
// Who may import it: decide and what is below it. Beside the virtual world's scheduler it is the
// only importer of k8s.io/kubernetes in this module.
package schedsim
