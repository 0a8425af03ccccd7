// Package clusterapi is the provider of Cluster API (https://cluster-api.sigs.k8s.io):
// its groups are MachineDeployments, MachineSets without one, and MachinePools
// of a management cluster, in v1beta1 and v1beta2.
//
// What flows in: the operator's choice of groups (Config), and the objects of
// the management cluster. What flows out: the contract of package provider. The
// steps are
//
//	flags      → Config → settings                              (pure)
//	management → kinds: which version the API server serves      (remembered)
//	           → census: LISTs of Machines, sets and groups, again at each call
//	           → infrastructure: what a template's status promises (remembered)
//	workload   → examples: a few nodes of each group              (remembered)
//	of these   → readBounds, readCapacity, templateLike, buildTemplate,
//	             instancesOf                                    (pure) → Inventory
//	Grow       → PUT of the scale subresource, after a fresh look
//	Remove     → marks on the Machines (delete-machine), then that PUT
//	Cancel     → that PUT, where no Machine can be ended by it; else nothing
//
// The management cluster is the only state. A group's target is spec.replicas,
// an instance is a Machine, named by namespace and name for all its life: with
// or without a provider id, a node, or luck. A MachinePool whose infrastructure
// makes no Machines has the provider ids that it lists instead; none of those
// can be removed by name, so that its removals are held as Unsupported, unless its owner
// allows to empty it as a whole.
//
// The Machine's provider id and the node that Cluster API itself found for it say
// which node an instance is. Nodes are read as examples only: a
// group's next node will be like those that it has. So the client of the
// workload cluster is optional, and whatever is written is written to the
// management cluster.
//
// The rights are few (docs/clusterapi.md has them). What is optional (Clusters,
// MachinePools, infrastructure templates) is read with a short patience of its
// own, and a refusal costs only what it would have said.
//
// The package imports provider, providers/kube and client-go, and nothing of
// internal/. Hosts import it; nothing else does.
package clusterapi
