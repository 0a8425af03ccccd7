// Package aws is the provider of Amazon EC2 Auto Scaling groups, those that EKS
// managed node groups are made of among them.
//
// What flows in: the operator's choice of groups (Config), and AWS's answers.
// What flows out: the contract of package provider. The steps are
//
//	flags     → Config → settings                               (pure)
//	AWS       → readAll: all groups, again at each call
//	          → sources: launch configurations and templates,
//	            instance requirements, instance types            (remembered)
//	          → managedNodegroups: what EKS says of node groups  (remembered)
//	          → lookForStockOut: why a launch failed
//	of these  → buildTemplate, seenAs                            (pure) → Inventory
//	Grow      → SetDesiredCapacity, after a fresh look
//	Remove    → TerminateInstanceInAutoScalingGroup, with decrement, after one
//	Cancel    → SetDesiredCapacity, where AWS ends no instance for it; else nothing
//
// A group can be grown from zero: its template is made without any node, from
// its instance types, its tags, and EKS. An Auto Scaling group has 50 tags at
// most, and needs most of them for other things; an EKS node group has as many
// labels as it likes, and no such limit.
//
// A group's target is its desired capacity, and an instance that AWS lists is an
// instance; what AWS has not launched yet has no name and is anonymous. Nothing
// is made up in its place. State that AWS does not keep (when a scale-up was asked
// for, why the last one failed, since when an instance can be there) lives in
// memory, and nothing depends on it after a restart.
//
// The package imports provider, the SDK and prometheus' client, and nothing of
// internal/. Hosts import it; nothing else does.
package aws
