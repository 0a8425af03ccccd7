// Package kubesched is kube-scheduler for the virtual world: which node it binds a pod to, and which
// pods it ends to make room for one that fits nowhere.
//
// The plugins are the scheduler's own in their default profile, filters and scores, over the
// scheduler's own cache. What it does around them is told again here, since the original draws from
// chance that no seed governs and works in goroutines: how many nodes it looks at, where it begins,
// which node it takes, and which node it empties.
//
// What flows in: nodes, bound pods and controllers of the truth, as they change; dice; and the pods
// to schedule, one by one in the scheduler's order. What flows out: a node's name, or a node and the
// pods that must end there first.
//
// It is the second door to k8s.io/kubernetes, and for the virtual world alone: what decides asks
// schedsim.
package kubesched
