package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Sizes of groups are noted while nothing is decided, too, and the page of that time shows them.
func TestHistoryInACalmCluster(t *testing.T) {
	s := served(t, true, busy)
	decided := s.scene().moment
	for i := range 60 {
		calm := *decided.cycle.Snapshot
		calm.Now = calm.Now.Add(time.Duration(i+1) * 10 * time.Second)
		if err := s.Report(t.Context(), model.Cycle{Snapshot: &calm}); err != nil {
			t.Fatal(err)
		}
	}
	c := s.scene()
	samples := c.history.last(time.Hour)
	if c.moment != decided || len(samples) != 31 || samples[30].at.Sub(samples[0].at) != 10*time.Minute {
		t.Fatalf("%d samples of ten minutes", len(samples))
	}
	if g := samples[30].sizes; len(g) != 1 || g[0].nodes != 2 {
		t.Errorf("the sizes are %v", g)
	}
	p := &Page{scene: c, View: c.View()}
	if s.groupsPage(p, nil); p.Hour == nil || len(p.Hour.Areas) != 1 {
		t.Error("the page of groups has no chart")
	}
	for group, most := range map[string]string{"general": ">2</text>", "gpu": ">1</text>"} {
		body := asked(t.Context(), s, "/group/"+group).Body.String()
		if !strings.Contains(body, `class="chart"`) || !strings.Contains(body, most) || strings.Contains(body, ">12</text>") {
			t.Errorf("the page of %s has no chart of it alone:\n%s", group, body)
		}
	}
}
