package model

// TaintToBeDeleted is the taint on a node whose removal has begun; its value
// is when, in seconds since 1970.
const TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// TaintCandidate is the soft taint on a node that nothing needs; its value is
// since when, in seconds since 1970.
const TaintCandidate = "DeletionCandidateOfClusterAutoscaler"

// Annotations that are ours.
const (
	// AnnotationStays on a node says what keeps it.
	AnnotationStays = "plimsoll.dev/stays"
	// AnnotationRemoval on a node whose removal we have begun says how far we went:
	// a rollback ends our cordon, and no other client's.
	AnnotationRemoval = "plimsoll.dev/removal"
	RemovalTainted    = "tainted"
	RemovalCordoned   = "cordoned"
)

// Annotations and prefixes that users set on nodes.
const (
	AnnotationScaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	// AnnotationDoNotDisrupt is Karpenter's, on nodes and on pods: see DoNotDisrupt.
	AnnotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
	// PrefixDelayDeletion begins the annotations that delay a node's end until
	// they are taken away.
	PrefixDelayDeletion = "delay-deletion.cluster-autoscaler.kubernetes.io/"
)
