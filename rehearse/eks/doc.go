// Package eks is an EKS cluster's managed node groups in a rehearsal: how a person
// describes them, the account of AWS that they are, and what their instances
// become in Kubernetes.
//
//	file → Cluster → Account → awstest, a process that speaks AWS's protocols
//	                              ↓ instances
//	                           RunNodes → Node objects, which kwok keeps ready
//
// What AWS says and does is the simulated AWS's own matter (package awstest). What
// is added here is the part that neither AWS's API nor an autoscaler does: EKS,
// which makes an Auto Scaling group for each node group and tags it; kubelet, which
// registers a node with the labels and taints of its node group; and the cloud
// controller manager, which deletes the node when the instance is gone.
//
// Package component runs the controller, package world puts everything together,
// and stories and end-to-end tests describe clusters of their own.
package eks
