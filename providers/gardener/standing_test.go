package gardener

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// TestStanding: who is on its way out. Machines are a, b and c; a has priority 1.
func TestStanding(t *testing.T) {
	const early, late = "2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z"
	for name, c := range map[string]struct {
		how         marker
		marks, last string
		markedAt    string // of a
		target      int32
		want        string // leaving
	}{
		"nothing is named":                          {how: timestamped, target: 3},
		"named, with the change":                    {how: timestamped, marks: "b~" + early, last: early, target: 2, want: "b"},
		"raised again, and gone all the same":       {how: timestamped, marks: "b~" + early, last: early, target: 3, want: "b"},
		"named before a later change":               {how: timestamped, marks: "b~" + early, last: late, target: 3, want: "b"},
		"named by hand, and no change yet":          {how: timestamped, marks: "b~" + late, last: early, target: 3},
		"a bare name is dated and obeyed":           {how: timestamped, marks: "b", last: early, target: 3, want: "b"},
		"a bare name, before any change":            {how: timestamped, marks: "b", target: 3, want: "b"},
		"a time, before any change: now is one":     {how: timestamped, marks: "b~2020-01-01T00:00:00Z", target: 3, want: "b"},
		"a time to come, before any change":         {how: timestamped, marks: "b~" + late, target: 3},
		"a time that is none":                       {how: timestamped, marks: "b~noon", last: early, target: 3},
		"a mark is never overwritten":               {how: timestamped, marks: "a~" + early, markedAt: late, last: early, target: 3},
		"nor does a bare name":                      {how: timestamped, marks: "a", markedAt: late, last: early, target: 3},
		"marked long ago, and named for later":      {how: timestamped, marks: "a~" + late, markedAt: early, last: early, target: 3, want: "a"},
		"by hand, and replicas lowered for both":    {how: timestamped, marks: "b", target: 1, want: "ab"},
		"marked already, and no longer named":       {how: timestamped, markedAt: early, last: early, target: 3, want: "a"},
		"marked for a change to come":               {how: timestamped, markedAt: late, last: early, target: 3},
		"names: paid for, with the one of priority": {how: names, marks: "b", target: 1, want: "ab"},
		"names: not paid for":                       {how: names, marks: "b", target: 3},
		"names: a time means nothing":               {how: names, marks: "b~" + early, last: early, target: 3},
		"priority: paid for":                        {how: priority, target: 2, want: "a"},
		"priority: not paid for":                    {how: priority, target: 3},
	} {
		t.Run(name, func(t *testing.T) {
			d := &v1alpha1.MachineDeployment{Spec: v1alpha1.MachineDeploymentSpec{Replicas: c.target}}
			d.Annotations = map[string]string{v1alpha1.LastReplicaChangeAnnotation: c.last}
			var machines []*v1alpha1.Machine
			for _, m := range []string{"a", "b", "c"} {
				machines = append(machines,
					&v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: m, Annotations: map[string]string{}}})
			}
			machines[0].Annotations[v1alpha1.PriorityAnnotation] = v1alpha1.PriorityDelete
			machines[0].Annotations[v1alpha1.MarkedForDeletionAnnotation] = c.markedAt
			s := standingOf(d, machines, nil, parseMarks(c.marks), c.how, time.Now())
			got := strings.Join(slices.Sorted(maps.Keys(s.leaving)), "")
			if diff := cmp.Diff(c.want, got); diff != "" || len(s.live) != 3-len(c.want) {
				t.Errorf("leaving %q, want %q; live %d", got, c.want, len(s.live))
			}
		})
	}
}

// TestPoolsKeepTheirLimits: whatever is asked of the zones of a pool, in whatever order,
// with hands and conflicts in between: no growth of ours passes the pool's maximum, no
// removal leaves less than its minimum, and exactly those go that were named.
func TestPoolsKeepTheirLimits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		low := rapid.IntRange(0, 4).Draw(r, "minimum")
		high := low + rapid.IntRange(0, 5).Draw(r, "more")
		n := rapid.IntRange(1, 4).Draw(r, "zones")
		replicas := make([]int, n)
		for i := range replicas {
			replicas[i] = rapid.IntRange(0, 3).Draw(r, "replicas")
		}
		w := zones(limited(fmt.Sprint(low), fmt.Sprint(high)), replicas...)
		p := connect(t, w, anywhere)
		sum := func() int {
			out := 0
			for i := range n {
				out += int(w.Deployment(zone(i)).Spec.Replicas)
			}
			return out
		}
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			i := rapid.IntRange(0, n-1).Draw(r, "zone")
			before, had := sum(), w.Deployment(zone(i)).Spec.Replicas
			hand := rapid.IntRange(0, 5).Draw(r, "hand")
			if hand < 2 { // another client comes first, and the patch meets a conflict
				w.Arm(kubetest.Fault{Verb: "patch", Times: 1, Then: func() {
					if err := w.EditDeployment(zone(i), func(d *v1alpha1.MachineDeployment) {
						d.Spec.Replicas += int32(2*hand) - 1
					}); err != nil {
						r.Fatal(err)
					}
				}})
			}
			switch rapid.SampledFrom([]string{"grow", "remove", "hand"}).Draw(r, "what") {
			case "grow":
				to := int(had) + rapid.IntRange(1, 4).Draw(r, "by")
				if err := grow(p, t, id(i), int(had), to); err == nil && sum() > high {
					r.Fatalf("a growth of %s from %d to %d left the pool at %d, above %d", zone(i), had, to, sum(), high)
				}
			case "remove":
				all := byAge(w, id(i))
				k := rapid.IntRange(0, len(all)).Draw(r, "how many")
				result, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(i), Instances: all[len(all)-k:]})
				if err == nil && k > 0 && sum() < low {
					r.Fatalf("a removal of %d left the pool at %d of %d, below %d", k, sum(), before, low)
				}
				w.Disarm()
				w.Settle()
				for _, id := range all[len(all)-k:] {
					if gone := !slices.Contains(byAge(w, provider.GroupID(zone(i))), id); err == nil && !gone {
						r.Fatalf("%s was removed (%+v), and is there", id, result)
					}
				}
				if kept := byAge(w, id(i)); err == nil && hand >= 2 && !slices.Equal(kept, all[:len(all)-k]) {
					r.Fatalf("%v are left of %v, of which the last %d were to go", kept, all, k)
				}
			case "hand":
				edit(t, w, i, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = int32(rapid.IntRange(0, 6).Draw(r, "to")) })
			}
			w.Disarm()
			w.Settle()
		}
	})
}

// An address that the cloud has given away again, while the machine before is not gone:
// the node is the new machine's.
func TestOneNodeNameTwoMachines(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(gardenertest.Timing{End: time.Hour})
	remove(t, p, id(0), machines[0])
	if err := w.EditMachine(string(machines[1]), func(m *v1alpha1.Machine) {
		m.Labels[v1alpha1.NodeLabel] = string(machines[0])
	}); err != nil {
		t.Fatal(err)
	}
	named := map[provider.InstanceID]string{}
	inv := inventory(t, p)
	for _, i := range inv.Groups[0].Instances {
		named[i.ID] = i.NodeName
	}
	if named[machines[0]] != "" || named[machines[1]] != string(machines[0]) || len(inv.Notices) != 0 {
		t.Errorf("%v, notices %v", named, inv.Notices)
	}
	if err := w.EditMachine(string(machines[2]), func(m *v1alpha1.Machine) {
		m.Labels[v1alpha1.NodeLabel] = string(machines[0])
	}); err != nil {
		t.Fatal(err)
	}
	if inv := inventory(t, p); !noticed(inv, noticeTwice, string(machines[1])) {
		t.Errorf("notices %v", inv.Notices)
	}
}
