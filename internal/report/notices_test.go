package report

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestNotices: what the provider has a person know is an event once, when it
// begins, and a gauge for as long as it lasts.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		denied := provider.Notice{Group: "general", Code: "NodegroupDenied", Message: "EKS does not let us describe it"}
		with := func(notices ...provider.Notice) {
			s := snapshot(0)
			s.Notices = notices
			d.report(t, model.Cycle{Decided: true, Snapshot: s})
		}
		with(denied, denied)
		notes := d.pad.take()
		if len(notes) != 1 ||
			notes[0] != "ConfigMap kube-system/status Warning NodegroupDenied: Group general: EKS does not let us describe it" {
			t.Errorf("the first time: %q", notes)
		}
		if _, page := d.page(t, "/metrics"); !strings.Contains(page,
			`plimsoll_provider_notices{code="NodegroupDenied"} 2`) {
			t.Error("the gauge is not there")
		}
		time.Sleep(2 * repeatAfter)
		with(denied)
		if notes := d.pad.take(); len(notes) != 0 {
			t.Errorf("while it lasts: %q", notes)
		}
		with()
		if _, page := d.page(t, "/metrics"); strings.Contains(page, "plimsoll_provider_notices") {
			t.Error("the gauge stays")
		}
		with(denied)
		if notes := d.pad.take(); len(notes) != 1 {
			t.Errorf("when it begins again: %q", notes)
		}
	})
}

// TestManyNotices: a mistake that many groups share comes by and by.
func TestManyNotices(t *testing.T) {
	d := newDesk()
	s := snapshot(0)
	for i := range 2*noticesPerCycle + 1 {
		s.Notices = append(s.Notices,
			provider.Notice{Group: provider.GroupID(fmt.Sprint("g", i)), Code: "BadTag", Message: "m"})
	}
	for i, want := range []int{noticesPerCycle, noticesPerCycle, 1, 0} {
		d.report(t, model.Cycle{Snapshot: s})
		if notes := d.pad.take(); len(notes) != want {
			t.Errorf("cycle %d: %d events, want %d", i, len(notes), want)
		}
	}
}

// What is wrong with an operator's document is reported as what the provider says is: once,
// in cycles without a decision, too.
func TestPlansNoticesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		wrong := model.Plan{Notices: []provider.Notice{{Code: "PriorityConfigMapInvalid", Message: "no map"}}}
		d.report(t, model.Cycle{Decided: true, Snapshot: snapshot(0), Plan: wrong})
		if notes := d.pad.take(); len(notes) != 1 ||
			notes[0] != "ConfigMap kube-system/status Warning PriorityConfigMapInvalid: no map" {
			t.Errorf("the first time: %q", notes)
		}
		for _, decided := range []bool{false, true} {
			d.report(t, model.Cycle{Decided: decided, Snapshot: snapshot(0), Plan: wrong})
			if notes := d.pad.take(); len(notes) != 0 {
				t.Errorf("while it lasts, decided %t: %q", decided, notes)
			}
		}
	})
}
