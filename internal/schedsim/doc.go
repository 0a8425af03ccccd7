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
//   - domain: it depends on the pods of whole topology domains. The plugins
//     see one stand-in per domain, with only the pods that matter, instead of
//     every node.
//   - single: every node is a domain of its own. Pods go one by one; nodes that
//     are alike to the class are shown as one where that is exact.
//
// Place, Spread and Pack find room for pods that have none. A Mover moves the pods
// of nodes that are to go onto others, and tells which of them cannot go.
//
// A World may be marked, changed and undone. State computed before a placement
// is never patched, always computed afresh where the placement matters (rule
// C3).
//
// Who may import it: decide and what is below it. Beside the virtual world's scheduler it is the
// only importer of k8s.io/kubernetes in this module.
package schedsim
