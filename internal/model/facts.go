package model

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// FactsID indexes the table of facts in a Contents.
type FactsID uint32

// Facts are what decides whether and how a pod may be moved. The scheduler reads
// none of it, so that it is no part of the pod's class.
type Facts struct {
	// Key orders and identifies facts by content.
	Key string
	// Controller is the kind of what made the pod ("ReplicaSet"), empty if nothing
	// did; Group the API group of that kind ("apps", "" for the core).
	Controller, Group string
	// Maker is the name of what made the pod. It decides nothing: people are told it. It is kept here and not with each
	// pod, since the pods that one controller made share their facts.
	Maker string
	// Safe is the pod's own word on being evicted.
	Safe SafeToEvict
	// Alone is how long after its creation the pod is to be left alone, by its own word: Always for one that names no
	// end, 0 for one that does not ask.
	Alone time.Duration
	// Local names the first volume whose content would be lost with the node, and
	// that the pod does not say may be lost; empty if there is none.
	Local string
	// Daemon is the pod's own word, if a DaemonSet made it, on being evicted
	// before its node goes.
	Daemon Wish
	// DeletionCost is the pod's own word on how dear its eviction is, beside that of other pods; 0 is ordinary.
	DeletionCost int32
	// Grace is how long the pod may take to end.
	Grace time.Duration
}

// SafeToEvict is what a pod's annotation says of its eviction.
type SafeToEvict uint8

// The words on eviction.
const (
	EvictUnsaid SafeToEvict = iota
	EvictYes
	EvictNo
	// EvictOnCompletion: the node waits until the pod has ended.
	EvictOnCompletion
)

// Wish is yes, no, or nothing.
type Wish uint8

// The wishes.
const (
	Unsaid Wish = iota
	Yes
	No
)

// Budget is a PodDisruptionBudget.
type Budget struct {
	Namespace, Name string
	// Selector says which pods of the namespace it is about.
	Selector labels.Selector
	// Allowed is how many of them may be evicted now. It is 0 while its controller
	// has not looked at the newest version of it: we err to not evicting.
	Allowed int
	// Detail has the numbers behind it, for a person: "2 of 3 healthy, 2 wanted".
	Detail string
}
