package model

import (
	corev1 "k8s.io/api/core/v1"
)

// SpecID, LabelsID and ShapeID index the tables of a Contents.
type (
	SpecID   uint32
	LabelsID uint32
	ShapeID  uint32
)

// Spec is all that the scheduler reads of a pod but its labels. Two pods with
// the same Spec differ in nothing that matters but name and labels.
type Spec struct {
	// Key orders and identifies specs by content, the same in every process.
	Key string
	// Pod carries the content: namespace and the scheduling fields of its
	// spec, the requests summed into one container, beside the overhead. It has
	// no name, no labels, and must not be changed.
	Pod      *corev1.Pod
	Requests Resources
	Priority int32
	// Claims names the persistent volume claims, sorted.
	Claims []string
	// Unsupported, if not empty, says which feature of the pod no verdict can
	// be given for.
	Unsupported string
}

// LabelSet is one set of labels. Key orders and identifies it by content.
type LabelSet struct {
	Key    string
	Labels map[string]string
}

// Shape is all that the scheduler reads of a node but its name, its hostname
// label and the pods on it. Nodes of one shape are interchangeable.
type Shape struct {
	// Key orders and identifies shapes by content.
	Key string
	// Node carries the content, without a name and without a hostname label.
	// It must not be changed.
	Node *corev1.Node
	// Kept is the shape of the same nodes without the taint of a removal: this shape if
	// they have none. A rollback leads back to it.
	Kept ShapeID
	// Back is Kept without a cordon.
	Back        ShapeID
	Allocatable Resources
	Capacity    Resources
}

// Digest names the shape in few letters, the same in every process.
func (s *Shape) Digest() string { return digest(s.Key) }

// Contents is the frozen view of everything interned so far. Tables only grow,
// so a view stays right while the catalog behind it goes on.
type Contents struct {
	Specs  []*Spec
	Labels []*LabelSet
	Shapes []*Shape
	Facts  []*Facts
}

// Content is what a pod consists of, by reference.
type Content struct {
	Spec   SpecID
	Labels LabelsID
}
