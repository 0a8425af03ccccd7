package scaleup

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestRankingsOpenTheSameNodes: a class is spread over the groups that its ranking leaves as over all that suit it.
func TestRankingsOpenTheSameNodes(t *testing.T) {
	shorter, again := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c, p := drawCoupled(t)
		beside := testkit.Pod("default", "beside", "100m", "64Mi", map[string]string{
			"app": "beside", "like": rapid.SampledFrom([]string{"x", "y", "z", "z"}).Draw(t, "daemons like")})
		c.DaemonSet("beside", beside)
		if rapid.Bool().Draw(t, "no limits") {
			p.ScaleUp.MaxNodesTotal, p.ScaleUp.MaxCoresTotal = 0, 0
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "of one size") {
			key := rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname}).Draw(t, "key")
			pod := testkit.Pod("default", fmt.Sprint("size", i), "700m", "1Gi", map[string]string{"app": fmt.Sprint("size", i)})
			testkit.SpreadOver(pod, key, 1, map[string]string{"app": fmt.Sprint("size", i/2)})
			c.Pending(pod, 4)
		}
		s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
		w := schedsim.Load(nil, s)
		defer w.Close()
		pl, _ := bulkOf(w, s, p)
		// spread gives the nodes that are opened, by group, and the pods that are left.
		spread := func(q *waiting, heads []head) (opened map[int]int, left int) {
			m := w.Mark()
			defer w.Undo(m)
			got := pl.spread(q, heads, 1_000_000)
			opened = map[int]int{}
			for i, n := range got.Opened {
				if n > 0 {
					opened[heads[i].group] += n
				}
			}
			return opened, got.Left
		}
		for _, q := range pl.waiting(p.Rules) {
			before := len(pl.seekers().known)
			r := pl.ranking(q)
			if pl.packed(q) || r == nil {
				continue
			}
			if len(pl.seekers().known) == before {
				again++
			}
			options := pl.answersOf(q, w.MostPerHost(q.Class))
			var all []head
			for _, i := range pl.rank(options) {
				all = append(all, options[i].head)
			}
			opened, left := spread(q, r.heads)
			if want, rest := spread(q, all); !reflect.DeepEqual(opened, want) || left != rest {
				t.Fatalf("class %d opens %v and leaves %d; with all groups %v and %d", q.Class, opened, left, want, rest)
			}
			if len(r.heads) < len(all) {
				shorter++
			}
			pl.growOne(q)
		}
	})
	if shorter == 0 || again == 0 {
		t.Errorf("%d rankings leave out groups, %d are those of another class", shorter, again)
	}
}

// TestClassesShareRankings: classes that differ in their labels alone are ranked once.
func TestClassesShareRankings(t *testing.T) {
	c, p := testkit.New(), testkit.Policy()
	for i := range 12 {
		c.Group(fmt.Sprintf("g%02d", i), 0, 1000, testkit.Node("", fmt.Sprint(i+1), "16Gi", map[string]string{
			corev1.LabelTopologyZone: fmt.Sprint(i % 3)}))
	}
	for i := range 50 {
		labels := map[string]string{"app": fmt.Sprint(i)}
		pod := testkit.Pod("default", fmt.Sprint("p", i), "500m", "1Gi", labels)
		testkit.SpreadOver(pod, corev1.LabelTopologyZone, 1, labels)
		c.Pending(pod, 6)
	}
	s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
	w := schedsim.Load(nil, s)
	defer w.Close()
	pl, _ := bulkOf(w, s, p)
	list := pl.waiting(p.Rules)
	for _, q := range list {
		if n := len(pl.suitable(q)); n != 3 {
			t.Fatalf("%d groups are left, of one in each of 3 zones", n)
		}
	}
	if n := len(pl.seekers().known); n != 1 {
		t.Errorf("groups are ranked %d times for %d classes", n, len(list))
	}
}
