package model

// Projection is how label sets are seen while the set of label keys that scheduling
// selectors read stays the same. It is carried from snapshot to snapshot and only grows;
// that of an older snapshot is never changed.
type Projection struct {
	First *Spec // of the tables it was made from
	Specs int   // how many specs the keys were gathered from
	Keys  []string
	// Of maps a label set to its projection; Sets holds the projections.
	Of    []int32
	Sets  []ProjectedLabels
	Index map[string]int32
}

// ProjectedLabels are the labels of a set that some selector reads, and a text that
// tells them from others.
type ProjectedLabels struct {
	Key    string
	Labels map[string]string
}

// ClassKey is what makes pods one class: the spec, the labels that selectors read, and
// whether they are being deleted.
type ClassKey struct {
	Spec        SpecID
	Labels      int32
	Terminating bool
}
