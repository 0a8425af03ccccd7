package aws

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// TestThePolicyIsWhatIsCalled: docs/aws.md asks for every right that is used, and
// for none that is not.
func TestThePolicyIsWhatIsCalled(t *testing.T) {
	spec := managed(2)
	spec.LaunchConfigurations = []awstest.LaunchConfiguration{{Name: "lc", InstanceType: "c5.large", ImageID: "ami-1"}}
	spec.LaunchTemplates = append(slices.Clone(spec.LaunchTemplates), awstest.LaunchTemplate{
		ID: "lt-r", Name: "req", Versions: []awstest.TemplateVersion{
			{
				ImageID:      "ami-1",
				Requirements: &awstest.Requirements{VCPU: awstest.Range{Min: 2}, MemoryMiB: awstest.Range{Min: 1024}},
			}},
	})
	spec.Images = []awstest.Image{{ID: "ami-1"}}
	spec.Groups = append(spec.Groups,
		named("lc", func(g *awstest.Group) { g.LaunchTemplate, g.LaunchConfiguration = nil, "lc" }),
		named("req", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-r"} }),
		named("g", func(g *awstest.Group) { g.Desired, g.ProtectNew = 2, true }))
	spec.StockOuts = []awstest.StockOut{{Group: "g"}}
	spec.Groups = append(spec.Groups, twoTypes("both", 50))
	cfg := byTag
	cfg.Prices, cfg.InterruptionQueue, spec.Queues = true, testQueue, []string{testQueue}
	cfg.ReservationsTag = "cluster"
	w := newWorld(t, spec, cfg)
	w.grow(t, "g", 4)
	w.clock.pass(time.Second)
	if growHold(w.group(t, "g")) == nil {
		t.Error("nothing is sold out, so that the reason is not asked for")
	}
	if r, err := w.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 4, To: 2}); err != nil ||
		r.Cancelled != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := w.remove(t, w.liveOf(t)[0]); err != nil {
		t.Error(err)
	}
	w.hear(t, stateChange("i-1", "pending", w.clock.now()))
	w.interruptions.sweep(t.Context())
	var called []string
	for _, call := range w.Calls() {
		called = append(called, call.Service+":"+strings.TrimSuffix(call.Action, "Batch")) // which needs the same right
	}
	slices.Sort(called)

	var policy struct{ Statement []struct{ Action []string } }
	if err := json.Unmarshal([]byte(jsonBlocks(t)[0]), &policy); err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for _, s := range policy.Statement {
		allowed = append(allowed, s.Action...)
	}
	slices.Sort(allowed)
	if diff := cmp.Diff(allowed, slices.Compact(called)); diff != "" {
		t.Errorf("the policy (-) and what is called (+): %s", diff)
	}
}
