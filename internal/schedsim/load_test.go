package schedsim

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestBareLoadsAreThoseOfTheWorld: what is filled without a node of the world takes what such a node would take.
func TestBareLoadsAreThoseOfTheWorld(t *testing.T) {
	loads, several := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s := snapshot.New(nil, drawn.Build(testkit.InOrder).Observation(), model.Standing{}, drawn.Policy.Rules)
		w := Load(nil, s)
		defer w.Close()
		w.counters = nil
		var want []model.Batch
		for i := range w.classes {
			if c := model.ClassID(i); w.Bulk(c) && w.classes[i].plain {
				want = append(want, model.Batch{Class: c, Count: rapid.IntRange(1, 5).Draw(t, "pods")})
			}
		}
		for g := range s.Groups {
			tmpl, ok := w.GroupTemplate(g)
			if !ok {
				continue
			}
			k := packer{w: w, want: want, t: tmpl, fuller: true}
			k.pack(0)
			fewer := map[int]int{}
			for i := range want {
				fewer[i] = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "fewer")
			}
			bare := k.load(fewer).clone()
			if !k.bare {
				t.Fatal("the plugins have a say in plain classes")
			}
			k.bare = false
			in := k.load(fewer).clone()
			if !reflect.DeepEqual(bare, in) {
				t.Fatalf("%+v, on a node of the world %+v", bare, in)
			}
			if loads++; len(in.pods) > 1 {
				several++
			}
		}
	})
	t.Logf("%d loads were compared, %d of them of several classes", loads, several)
}
