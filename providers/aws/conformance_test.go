package aws

import (
	"log/slog"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest/door"
)

// conforming is an account for the conformance suite. The minimum of its groups
// is that of --nodes: AWS enforces the minimum of the Auto Scaling group
// itself. All instances are protected from scale-in, as Cancel wants them.
func conforming() awstest.Spec {
	group := func(name string) awstest.Group {
		return awstest.Group{
			Name: name, Max: 20, Desired: 1, ProtectNew: true, LaunchTemplate: &awstest.TemplateRef{ID: "lt-1"},
		}
	}
	heavy := awstest.Group{Name: "heavy", Max: 20, Desired: 4, MixedInstances: &awstest.MixedInstances{
		Template: awstest.TemplateRef{ID: "lt-1"}, Overrides: []awstest.Override{{InstanceType: "m5.large", Weight: "2"}},
	}}
	return awstest.Spec{
		Groups: []awstest.Group{group("group"), group("other"), heavy},
		LaunchTemplates: []awstest.LaunchTemplate{{
			ID: "lt-1", Name: "nodes", Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}},
		}},
	}
}

// TestConforms runs the suite on an AWS that does everything at once, and on one that is slow.
func TestConforms(t *testing.T) {
	for name, timing := range map[string]awstest.Timing{
		"at once": {},
		"slow":    {Decide: 10 * time.Second, Launch: 5 * time.Second, Boot: time.Minute, End: time.Minute},
	} {
		t.Run(name, func(t *testing.T) { conforms(t, timing) })
	}
}

func conforms(t *testing.T, timing awstest.Timing) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		spec := conforming()
		spec.Timing = timing
		cloud, err := awstest.New(spec, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		serve(t, cloud)
		p, err := New(t.Context(), Config{Nodes: []string{"1:12:group", "1:12:other", "0:12:heavy"}},
			slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		return providertest.Subject{
			Provider: p, Group: "group", Other: "other", Unsupported: "heavy", Door: door.Door{Cloud: cloud},
			Lacks: map[string]string{
				"P4/GrowKeepsThePoolsMaximum":        "Auto Scaling groups share no limits",
				"P9/OnlyWhatStillFailsIsEnded":       "an instance of AWS is launched, or is none",
				"P9/OnlyWhatHasNoNodeIsEndedForThat": "AWS knows of no nodes",
			},
		}
	})
}

// TestConformsByDiscovery: the same, with groups that are found by their tags.
// Their minimum is that of the Auto Scaling group.
func TestConformsByDiscovery(t *testing.T) {
	spec := conforming()
	for i := range spec.Groups {
		spec.Groups[i].Tags = map[string]string{"mine": "true"}
		spec.Groups[i].Min = min(1, spec.Groups[i].Desired)
	}
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		cloud, err := awstest.New(spec, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		serve(t, cloud)
		p, err := New(t.Context(), byTag, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Inventory(t.Context()); err != nil {
			t.Fatal(err)
		}
		return providertest.Subject{
			Provider: p, Group: "group", Other: "other", Unsupported: "heavy", Door: door.Door{Cloud: cloud},
			Lacks: map[string]string{
				"P4/GrowKeepsThePoolsMaximum":        "Auto Scaling groups share no limits",
				"P4/ForcePassesTheMinimum":           "AWS itself keeps the minimum of an Auto Scaling group",
				"P9/OnlyWhatStillFailsIsEnded":       "an instance of AWS is launched, or is none",
				"P9/OnlyWhatHasNoNodeIsEndedForThat": "AWS knows of no nodes",
			},
		}
	})
}
