package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// namespace is the budgets of one namespace, and which of them cover a set of
// labels, as far as that has been asked.
type namespace struct {
	budgets []int
	known   map[model.LabelsID][]int
	// demands finds the budgets that want a certain label; rest are those that want
	// none. Both are made when the first pod of the namespace is met. Without them, a
	// namespace with a budget for each of thousands of workloads would have millions of
	// selectors to try.
	demands map[label][]int
	rest    []int
}

type label struct{ key, value string }

// free stands for every namespace without a budget.
var free = &namespace{}

func namespaces(budgets []model.Budget) map[string]*namespace {
	of := map[string]*namespace{}
	for i := range budgets {
		n := of[budgets[i].Namespace]
		if n == nil {
			n = &namespace{known: map[model.LabelsID][]int{}}
			of[budgets[i].Namespace] = n
		}
		n.budgets = append(n.budgets, i)
	}
	return of
}

// covering lists the budgets that cover a set of labels: it tries the selectors that
// could match.
func (n *namespace) covering(budgets []model.Budget, set map[string]string) []int {
	if n.demands == nil {
		n.index(budgets)
	}
	var out []int
	try := func(candidates []int) {
		for _, i := range candidates {
			if budgets[i].Selector.Matches(labels.Set(set)) {
				out = append(out, i)
			}
		}
	}
	try(n.rest)
	for key, value := range set {
		try(n.demands[label{key, value}])
	}
	slices.Sort(out) // a map was ranged over
	return out
}

// index files each budget under the labels that one of its requirements demands: of
// several requirements, the one that the fewest budgets share. A budget without a
// selector covers nothing and is left out.
func (n *namespace) index(budgets []model.Budget) {
	n.demands = map[label][]int{}
	shared := map[label]int{}
	for _, i := range n.budgets {
		for _, demanded := range demandsOf(budgets[i].Selector) {
			for _, l := range demanded {
				shared[l]++
			}
		}
	}
	for _, i := range n.budgets {
		if budgets[i].Selector == nil {
			continue
		}
		var best []label
		least := 0
		for _, demanded := range demandsOf(budgets[i].Selector) {
			sum := 0
			for _, l := range demanded {
				sum += shared[l]
			}
			if best == nil || sum < least {
				best, least = demanded, sum
			}
		}
		if best == nil {
			n.rest = append(n.rest, i)
		}
		for _, l := range best {
			n.demands[l] = append(n.demands[l], i)
		}
	}
}

// demandsOf lists, for each requirement that only certain values of a label meet, those
// labels. A pod with none of them does not match.
func demandsOf(s labels.Selector) [][]label {
	if s == nil {
		return nil
	}
	requirements, _ := s.Requirements()
	var out [][]label
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			var demanded []label
			for value := range r.Values() {
				demanded = append(demanded, label{r.Key(), value})
			}
			out = append(out, demanded)
		}
	}
	return out
}
