package clusterapi

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestPricesByAnnotation: a group's price is its annotation's. One that is no price is told, and is not taken for zero.
func TestPricesByAnnotation(t *testing.T) {
	w := newWorld(t, deployment("priced", 1, append(annotated("0", "5"), provider.PriceAnnotation, "0.25")...),
		deployment("below", 1, append(annotated("0", "5"), provider.PriceAnnotation, "-1")...),
		deployment("plain", 1, annotated("0", "5")...))
	inv := inventory(t, connect(t, w, ofC1))
	if g := group(t, inv, md("priced")); g.PricePerHour == nil || *g.PricePerHour != 0.25 {
		t.Errorf("priced: %v", g.PricePerHour)
	}
	for _, name := range []string{"below", "plain"} {
		if g := group(t, inv, md(name)); g.PricePerHour != nil {
			t.Errorf("%s: %v", name, *g.PricePerHour)
		}
	}
	if len(inv.Notices) != 1 || !strings.Contains(inv.Notices[0].Message, `="-1" is no price: the price is not known`) {
		t.Errorf("%+v", inv.Notices)
	}
}
