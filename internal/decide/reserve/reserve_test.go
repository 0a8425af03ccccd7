package reserve_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/reserve"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// worlds has, for each cluster, what is reserved in it, step by step, and what the plan says of
// removals. It is midnight. Nodes of group g have 4 CPUs, those of group far are no place for any pod.
var worlds = []struct {
	name, cluster string
	wanted        string // a node that pods which wait are to come to
	want          string
}{
	{name: "the pods of a removal that has moved pods come first; those of a draft are for the search to place",
		cluster: `
node begun group=far
drain begun stage=Evicting since=1m occupied
pods web count=2 cpu=1 memory=1Gi node=begun
node draft group=far
drain draft since=1m occupied
pods api count=1 cpu=1 memory=1Gi node=draft
node ended group=far ended
pods job count=2 cpu=1 memory=1Gi node=ended
node a group=g
pods full count=2 cpu=1 memory=1Gi node=a
node b group=g
`,
		want: `
begun: on a; begun moves web-000001 web-000002
drafts: on a; draft moves api-000001
leaving: on a b
`},
	{name: "a removal without a place says so, and pods of a node that another client removes take what is left",
		cluster: `
node begun group=far
drain begun stage=Evicting since=1m occupied
pods web count=4 cpu=1 memory=1Gi node=begun
node ended group=far ended
pods job count=5 cpu=1 memory=1Gi node=ended
node a group=g
pods full count=1 cpu=1 memory=1Gi node=a
`,
		want: `
begun: on; begun moves web-000001 web-000002 web-000003 web-000004, NoPlaceToMovePods
drafts: on
leaving: on a
`},
	{name: "a draft that pods which wait are to come to is left out",
		cluster: `
node draft group=g
drain draft since=1m occupied
pods web count=1 cpu=1 memory=1Gi node=draft
`, wanted: "draft",
		want: `
begun: on
drafts: on
leaving: on
`},
	{name: "budgets are counted for what we evict, and not for what others evict",
		cluster: `
budget web app=web allowed=4
budget job app=job allowed=4
node begun group=far
drain begun stage=Evicting since=1m occupied
pods web count=1 cpu=1 memory=1Gi node=begun
node draft group=far
drain draft since=1m occupied
pods web count=2 cpu=1 memory=1Gi node=draft
node ended group=far ended
pods job count=2 cpu=1 memory=1Gi node=ended
node a group=g
`,
		want: `
begun: on a; begun moves web-000001; budgets 4 3
drafts: on a; draft moves web-000002 web-000003; budgets 4 1
leaving: on a; budgets 4 1
`},
	{name: "a pod that came for an evicted one has no node: it is named, whichever removal it came for",
		cluster: `
last eviction of=web age=1m
node begun group=far
drain begun stage=Evicting since=2m occupied
pods web count=1 cpu=1 memory=1Gi node=begun age=1h
pods web count=1 cpu=1 memory=1Gi age=40s
pods web count=1 cpu=1 memory=1Gi age=50s gated
pods web count=1 cpu=1 memory=1Gi age=2m
node a group=g
`,
		want: `
begun: on a; begun moves web-000001, web-000003 came for one 50s ago
drafts: on a
leaving: on a
web lacks: pod default/web-000003, which came for an evicted one, has had no node since 23:59:10
due in 1m10s
`},
	{name: "what came for the pods of this removal counts before what its controller lacks since later",
		cluster: `
last eviction of=web age=20s
node begun group=far
drain begun stage=Evicting since=2m occupied evicted=api-9:1m:granted
pods web count=1 cpu=1 memory=1Gi node=begun age=1h
pods web count=1 cpu=1 memory=1Gi age=15s
pods api count=1 cpu=1 memory=1Gi age=55s
node a group=g
`,
		want: `
begun: on a; begun moves web-000001, api-000001 came for one 55s ago
drafts: on a
leaving: on a
web lacks: pod default/web-000002, which came for an evicted one, has had no node since 23:59:45
due in 1m45s
`},
	{name: "no pod has come, though its controller has had its time",
		cluster: `
last eviction of=web age=10s
node begun group=far
drain begun stage=Evicting since=2m occupied
pods web count=1 cpu=1 memory=1Gi node=begun age=1h
node a group=g
`,
		want: `
begun: on a; begun moves web-000001, none has come since 10s ago
drafts: on a
leaving: on a
web lacks: no pod has come for one that was evicted at 23:59:50
due in 1m50s
`},
	{name: "its controller still has time: nothing is lacking, and the plan is looked at again then",
		cluster: `
last eviction of=web age=4s
last eviction of=api age=7s
node a group=g
pods web count=1 cpu=1 memory=1Gi node=a age=1h
`,
		want: `
begun: on
drafts: on
leaving: on
due in 3s
`},
	{name: "some controllers make the next pod when the last one has ended",
		cluster: `
last eviction of=web age=1m
node a group=g
pods web count=1 cpu=1 memory=1Gi node=a age=1h ends=20s
`,
		want: `
begun: on
drafts: on
leaving: on
`},
	{name: "the pod that came has a node: nothing is lacking",
		cluster: `
last eviction of=web age=1m
node a group=g
pods web count=1 cpu=1 memory=1Gi node=a age=30s
`,
		want: `
begun: on
drafts: on
leaving: on
`},
	{name: "a pod has just left and the one that is to come is missing, until it is there or ten seconds are over",
		cluster: `
node left group=far
drain left stage=Evicting since=2m occupied evicted=web-9:30s/9s:granted
node over group=far
drain over stage=Evicting since=2m occupied evicted=job-9:30s/10s:granted
node made group=far
drain made stage=Evicting since=2m occupied evicted=api-9:30s/9s:granted
node asked group=far
drain asked stage=Evicting since=2m occupied evicted=db-9:30s/9s:refused
node a group=g
pods api count=1 cpu=1 memory=1Gi node=a age=20s
`,
		want: `
begun: on; left misses one
drafts: on
leaving: on
`},
}

// TestWhatIsReserved: each kind of pod has room in its turn, and removals know what is still
// to come for the pods that they have moved.
func TestWhatIsReserved(t *testing.T) {
	for _, w := range worlds {
		t.Run(strings.ReplaceAll(w.name, " ", "_"), func(t *testing.T) {
			c := testkit.NewScenario()
			const groups = "group g cpu=4 memory=16Gi\ngroup far cpu=4 memory=16Gi taint=far=x:NoSchedule\n"
			if err := c.Add(groups + w.cluster); err != nil {
				t.Fatal(err)
			}
			s := c.Snapshot(c.Policy)
			world := schedsim.Load(nil, s)
			defer world.Close()
			if got := reserved(s, reserve.New(s, c.Policy, world), w.wanted); got != strings.TrimPrefix(w.want, "\n") {
				t.Errorf("got:\n%swant:%s", got, w.want)
			}
		})
	}
}

// reserved takes the steps of a cycle, and says what each has reserved.
func reserved(s *model.Snapshot, r *reserve.Room, wanted string) string {
	var b strings.Builder
	told := map[model.NodeID]bool{}
	step := func(name string) {
		b.WriteString(name + ": on")
		for _, id := range slices.Sorted(maps.Keys(r.Receivers)) {
			b.WriteString(" " + s.Nodes[id].Name)
		}
		for i := range r.Removals {
			if o := &r.Removals[i]; !told[o.Node] {
				if text := removalText(s, o); text != "" {
					b.WriteString("; " + s.Nodes[o.Node].Name + text)
					told[o.Node] = true
				}
			}
		}
		if len(r.Budgets) > 0 {
			b.WriteString("; budgets " + strings.Trim(fmt.Sprint(r.Budgets), "[]"))
		}
		b.WriteString("\n")
	}
	r.PlaceBegun()
	step("begun")
	on := map[model.NodeID]bool{}
	for i := range s.Nodes {
		on[model.NodeID(i)] = s.Nodes[i].Name == wanted
	}
	r.GatherDrafts(on)
	step("drafts")
	r.PlaceLeaving()
	step("leaving")
	for _, app := range []string{"api", "job", "web"} {
		if why := r.Lacks(types.UID("owner-default/" + app)); why != "" {
			b.WriteString(app + " lacks: " + why + "\n")
		}
	}
	if !r.Wake.IsZero() {
		fmt.Fprintf(&b, "due in %s\n", r.Wake.Sub(s.Now))
	}
	return b.String()
}

// removalText is what is known of a removal.
func removalText(s *model.Snapshot, o *reserve.Removal) string {
	var parts []string
	if len(o.Moving) > 0 {
		moves := "moves"
		for _, p := range o.Moving {
			moves += " " + p.Name
		}
		parts = append(parts, moves)
	}
	v := &o.View
	if v.Missing {
		parts = append(parts, "misses one")
	}
	if v.Replacement != "" {
		name := strings.TrimPrefix(v.Replacement, "default/")
		parts = append(parts, fmt.Sprintf("%s came for one %s ago", name, s.Now.Sub(v.ReplacementSince)))
	}
	if !v.Unmade.IsZero() {
		parts = append(parts, fmt.Sprintf("none has come since %s ago", s.Now.Sub(v.Unmade)))
	}
	if v.Homeless != nil {
		parts = append(parts, string(v.Homeless.Reason))
	}
	if v.Unsure {
		parts = append(parts, "unsure")
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, ", ")
}
