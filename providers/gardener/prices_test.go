package gardener

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
)

// TestPricesByAnnotation: a group's price is its annotation's. One that is no price is told, and is not taken for zero.
func TestPricesByAnnotation(t *testing.T) {
	w := gardenertest.New(time.Now, ns)
	for i, price := range []string{"0.25", "NaN"} {
		w.Add(gardenertest.NewClass(ns, zone(i), "zone-a"), gardenertest.NewDeployment(ns, zone(i), "web", "zone-a", 1,
			limited("0", "5", provider.PriceAnnotation, price)...))
	}
	w.Settle()
	inv := inventory(t, connect(t, w, anywhere))
	if len(inv.Groups) != 2 {
		t.Fatalf("%d groups", len(inv.Groups))
	}
	for i, g := range inv.Groups {
		if known := g.PricePerHour != nil; known != (g.ID == id(0)) || known && *g.PricePerHour != 0.25 {
			t.Errorf("%d: %s: %v", i, g.ID, g.PricePerHour)
		}
	}
	told := 0
	for _, n := range inv.Notices {
		if strings.Contains(n.Message, `="NaN" is no price: the price is not known`) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%+v", inv.Notices)
	}
}
