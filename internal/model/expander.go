package model

// Expander is one way to choose among groups that all suit. How each of them rates a
// group is a row in decide/scaleup.
type Expander int

// The expanders, as the help lists them.
const (
	ByLeastWaste Expander = iota
	ByLeastNodes
	ByMostPods
	ByPrice
	ByPriority
	AtRandom
	ByPricePerPod
	// ExpanderCount is how many there are. A new one stands directly before it. Tables of
	// expanders have this length: one whose last row is missing does not compile, and for any
	// other a test is red.
	ExpanderCount int = iota
)

// expanderNames are the words of --expander.
var expanderNames [ExpanderCount]string = [...]string{
	ByLeastWaste:  "least-waste",
	ByLeastNodes:  "least-nodes",
	ByMostPods:    "most-pods",
	ByPrice:       "price",
	ByPriority:    "priority",
	AtRandom:      "random",
	ByPricePerPod: "price-per-pod",
}

// String is the expander's word in --expander and in plans.
func (e Expander) String() string { return expanderNames[e] }

// AsksForLowPrice reports whether a plan is better for it that costs less.
func (e Expander) AsksForLowPrice() bool { return e == ByPrice || e == ByPricePerPod }

// ExpanderNamed gives the expander that has this name; false if none has.
func ExpanderNamed(name string) (Expander, bool) {
	for e, known := range expanderNames {
		if name == known {
			return Expander(e), true
		}
	}
	return 0, false
}

// ExpanderNames are the names of all expanders, as the help lists them.
func ExpanderNames() []string { return expanderNames[:] }
