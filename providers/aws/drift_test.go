package aws

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// TestDrift: an instance that was launched from another version than its group launches now is told, by the number as
// by the names $Latest and $Default, once what those mean has been read again.
func TestDrift(t *testing.T) {
	const another = "version 1 of its launch template, and new ones have 2"
	newer := func(s *awstest.Spec) {
		t := &s.LaunchTemplates[0]
		t.Versions = append(t.Versions, awstest.TemplateVersion{InstanceType: "m5.xlarge"})
	}
	for name, c := range map[string]struct {
		version string
		change  func(*awstest.Spec)
		want    string
	}{
		"nothing changes":         {"1", func(*awstest.Spec) {}, ""},
		"a version is added":      {"1", newer, ""},
		"the newest is launched":  {"$Latest", newer, another},
		"the default stays":       {"$Default", newer, ""},
		"the group has the newer": {"1", func(s *awstest.Spec) { newer(s); s.Groups[0].LaunchTemplate = template("2") }, another},
		"the group has another": {"1", func(s *awstest.Spec) {
			s.LaunchTemplates = append(s.LaunchTemplates, awstest.LaunchTemplate{ID: "lt-2", Name: "other",
				Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}}})
			s.Groups[0].LaunchTemplate = &awstest.TemplateRef{ID: "lt-2", Version: "1"}
		}, "launch template lt-1, and new ones have lt-2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g", func(g *awstest.Group) {
				g.Desired, g.LaunchTemplate = 1, template(c.version)
			})}}, byTag)
			w.Settle()
			if got := w.read(t).Groups[0].Instances[0].Drifted; got != "" {
				t.Fatalf("a new instance is told to have drifted: %s", got)
			}
			if err := w.Change(c.change); err != nil {
				t.Fatal(err)
			}
			w.clock.pass(movingTTL + time.Second)
			if got := w.read(t).Groups[0].Instances[0].Drifted; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
