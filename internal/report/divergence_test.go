package report

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Each step is a cycle over the same pods; the last column is what is counted.
func TestDivergence(t *testing.T) {
	type step struct {
		pods, existing, upcoming, planned int
		bound                             int // pods of the class that have a node
		coming                            int // nodes of the group on their way
		failed                            bool
		givenUp                           model.ChangeKind
		want                              int
	}
	for name, steps := range map[string][]step{
		"a plan that holds": {{pods: 4, planned: 4}, {pods: 4, upcoming: 4, coming: 2},
			{pods: 2, existing: 2}, {}},
		"nodes ready, pods need another growth": {{pods: 4, planned: 4}, {pods: 4, upcoming: 4, coming: 2},
			{pods: 2, planned: 2, want: 1}},
		"it diverges twice": {{pods: 4, planned: 4}, {pods: 2, planned: 2, want: 1},
			{pods: 1, planned: 1, want: 1}},
		"more pods come": {{pods: 4, planned: 4}, {pods: 8, existing: 4, planned: 4}},
		"another growth while nodes are coming": {{pods: 4, planned: 4},
			{pods: 4, upcoming: 2, planned: 2, coming: 2}},
		"the growth failed": {{pods: 4, planned: 4}, {pods: 4, planned: 4, failed: true}},
		"its nodes did not come": {{pods: 4, planned: 4},
			{pods: 4, planned: 4, givenUp: model.AskGivenUp}},
		"its nodes could not be made": {{pods: 4, planned: 4},
			{pods: 4, planned: 4, givenUp: model.CreationFailed}},
		"its nodes did not start": {{pods: 4, planned: 4},
			{pods: 4, planned: 4, givenUp: model.NodeGivenUp}},
		"room for most of them":    {{pods: 4, planned: 4}, {pods: 4, existing: 3, planned: 1, want: 1}},
		"pods that had no promise": {{pods: 4}, {pods: 4, planned: 4}},
		"later pods of the class take the rooms": {{pods: 7, planned: 7}, {pods: 593, bound: 7, planned: 593},
			{pods: 5, bound: 595, existing: 5}},
		"they take some, others the rest": {{pods: 7, planned: 7}, {pods: 593, bound: 6, planned: 593, want: 1}},
		"pods that ended made place": {{pods: 4, planned: 4, bound: 3}, {pods: 4, bound: 1, existing: 4},
			{pods: 2, bound: 3, planned: 2, want: 1}},
		"some were promised, all others are new": {{pods: 2, planned: 2}, {pods: 6, existing: 2, planned: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			p := promises{}
			for i, st := range steps {
				s := snapshot(st.pods)
				s.Groups[0].ComingNodes = st.coming
				s.Nodes = []*model.Node{{Batches: []model.Batch{{Class: 0, Count: st.bound}}}}
				if st.failed {
					p.failed([]model.Outcome{{Call: model.Call{Verb: model.Grow, Group: "a"},
						Err: &provider.Error{Kind: provider.NoCapacity}}}, nil)
				}
				if st.givenUp != "" {
					p.failed(nil, []model.Change{{Kind: st.givenUp, Group: "a"}})
				}
				plan := model.Plan{Pending: []model.PendingVerdict{{Class: 0, Pods: st.pods, Existing: st.existing,
					Upcoming: st.upcoming,
					Planned:  st.planned, Left: st.pods - st.existing - st.upcoming - st.planned}}}
				if st.planned > 0 {
					plan.Grow = []model.Growth{{Group: "a", Pods: []model.Batch{{Class: 0, Count: st.planned}}}}
				}
				if got := p.keep(s, plan); got != st.want {
					t.Errorf("cycle %d: %d, want %d", i+1, got, st.want)
				}
				if len(p) > 0 && st.pods == 0 {
					t.Errorf("cycle %d: promises are kept for no pods", i+1)
				}
			}
		})
	}
}
