// Package infrastructure is the provider behind the kinds of package kwokapi: four
// controllers that do for Cluster API what a cloud's provider does, with nodes that
// kwok cares for instead of machines.
//
// A KwokMachine becomes a Node of its cluster, reached with the cluster's own
// kubeconfig Secret, as a kubelet would register it; kwok makes it Ready and runs
// its pods. A KwokMachinePool makes and ends the KwokMachines of a MachinePool.
// A KwokMachineTemplate gets the capacity of its machines in its status.
// A KwokControlPlane is told to be initialized.
//
// It keeps Cluster API's contract for providers (version v1beta2) and knows none of
// Cluster API's own controllers, but for the cache of connections that they share.
// Package clusterapi sets both up in one manager.
package infrastructure
