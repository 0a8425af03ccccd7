package policy

import (
	"slices"
	"time"
)

// Consolidation says how far the fleet is made smaller.
type Consolidation uint8

// The kinds of consolidation.
const (
	// WhenUnneeded: nodes go that are used little and whose pods have room elsewhere.
	WhenUnneeded Consolidation = iota
	// WhenEmpty: only nodes without pods of their own go.
	WhenEmpty
	// WhenCheaper: those of WhenUnneeded go, and nodes whose pods have room on cheaper ones, which are bought first.
	WhenCheaper
	// ConsolidationCount is how many kinds there are.
	ConsolidationCount
)

var consolidations = [ConsolidationCount]string{"WhenUnneeded", "WhenEmpty", "WhenCheaper"}

func (c Consolidation) String() string { return consolidations[c] }

// ConsolidationNamed finds a kind by its name.
func ConsolidationNamed(name string) (Consolidation, bool) {
	i := slices.Index(consolidations[:], name)
	return Consolidation(max(i, 0)), i >= 0
}

// Moves is what is otherwise for the nodes of some groups that go for others; nil: as for the cluster.
type Moves struct {
	Consolidation *Consolidation
	// A move with nodes of these groups saves at least so much, see model.MovePolicy.
	MinSavingsPerHour, MinSavingsShare, MinSavingsPerDisruption *float64
	Stay, ExpireAfter, UnreadyAfter                             *time.Duration
	Return, Drifted                                             *bool
	Unsound, Interrupted                                        *[]string
	// InterruptionWeight is of what is bought in these groups.
	InterruptionWeight *float64
}

// overlay sets what the upper ones say.
func (m *Moves) overlay(upper *Moves) {
	put(&m.Consolidation, upper.Consolidation)
	put(&m.MinSavingsPerHour, upper.MinSavingsPerHour)
	put(&m.MinSavingsShare, upper.MinSavingsShare)
	put(&m.MinSavingsPerDisruption, upper.MinSavingsPerDisruption)
	put(&m.Stay, upper.Stay)
	put(&m.Return, upper.Return)
	put(&m.ExpireAfter, upper.ExpireAfter)
	put(&m.UnreadyAfter, upper.UnreadyAfter)
	put(&m.Drifted, upper.Drifted)
	put(&m.Unsound, upper.Unsound)
	put(&m.Interrupted, upper.Interrupted)
	put(&m.InterruptionWeight, upper.InterruptionWeight)
}
