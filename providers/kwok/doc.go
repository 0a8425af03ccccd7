// Package kwok is the provider of simulated nodes: its machines are Node
// objects without a machine, kept alive by the KWOK controller
// (https://kwok.sigs.k8s.io), so that the autoscaler can be tried at any scale
// on one machine, or on a real cluster without buying a node.
//
// What flows in: template nodes, read once by New from a file
// (KWOK_TEMPLATES_PATH), else from the ConfigMap form of the Cluster
// Autoscaler's own kwok provider, else from the nodes of the cluster. What
// flows out: the contract of package provider. The steps are
//
//	bytes   → parseTemplates, parseConfigMap → templates   (pure)
//	nodes   → buildGroups                    → groups      (pure)
//	cluster → LIST of node metadata,
//	          GET of the ConfigMap of machines → Inventory (each call again)
//	Grow, Remove, Start, Close               → node creates and deletes,
//	                                           writes of that ConfigMap
//
// The cluster is the only state: a group's target is the number of its live
// nodes in a fresh, consistent LIST. A restart therefore adopts what is there,
// reads show writes by construction (rule P2), and there are never anonymous
// requests: a node that could not be created is simply not counted.
//
// A template may name a fault, so that failing clouds can be rehearsed. Machines
// that fail to start or never register have no Node object; the ConfigMap
// kwok-provider-machines remembers them, and they are instances and counted like
// the others. A node that never becomes ready is an ordinary one, but for an
// annotation that keeps KWOK's controller from it.
//
// Only nodes that carry both the annotation kwok.x-k8s.io/node, with the value fake or unattended,
// and the annotation cluster-autoscaler.kwok.nodegroup/name are ever listed, counted or deleted.
// Every other node is left alone.
//
// Hosts import this package; nothing else does. It imports provider and
// client-go, and nothing of internal/.
package kwok
