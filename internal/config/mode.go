package config

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Mode says whether the plans are carried out.
type Mode struct {
	// Observe: nothing is written but the process's own lease and status ConfigMap.
	// Events: and events about what would be done.
	Observe, Events bool
}

// The names of what an observer writes. An autoscaler that acts beside it has other
// ones.
const (
	ObserveLease           = "plimsoll-observe"
	ObserveStatusConfigMap = "plimsoll-observe-status"
	observeSuffix          = "-observe"
)

// Flags that have another default in observe mode.
const (
	leaseFlag  = "leader-elect-resource-name"
	statusFlag = "status-config-map-name"
	eventsFlag = "observe-events"
)

// ModeFlags are the flags of the mode. Only a command that runs the loop has them.
type ModeFlags struct {
	set  *pflag.FlagSet
	name modeName
	mode Mode
}

// BindMode adds the flags of the mode to the set.
func (f *Flags) BindMode() *ModeFlags {
	m := &ModeFlags{set: f.set, name: "act"}
	f.section("Mode", func(s *pflag.FlagSet) {
		s.Var(&m.name, "mode", "act, or observe: say what would be done, and do nothing")
		s.BoolVar(&m.mode.Events, eventsFlag, false, "observe mode: send events about what would be done")
	}, "mode")
	return m
}

// BindRequestTimeout adds the flag of a command that asks the API server and ends.
func (f *Flags) BindRequestTimeout() { BindRequestTimeout(f.set, &f.config.Cluster) }

// BindRequestTimeout does the same where a command has few of the flags.
func BindRequestTimeout(set *pflag.FlagSet, c *Cluster) {
	set.DurationVar(&c.RequestTimeout, "request-timeout", 30*time.Second,
		"longest wait for one answer of the API server, or of the leader; 0: no limit")
}

// Apply gives the mode, and the configuration in it: an observer has a lease and a
// status ConfigMap of its own. Names that are given get a suffix: with the flags of an
// autoscaler that acts, an observer would take its lease from it and write over its
// status. Warnings say so.
func (m *ModeFlags) Apply(c Config) (Config, Mode, []string) {
	m.mode.Observe = m.name == "observe"
	if !m.mode.Observe {
		var warnings []string
		if m.mode.Events {
			warnings = append(warnings, "--"+eventsFlag+" has no effect: only --mode=observe has such events")
		}
		return c, Mode{}, warnings
	}
	var warnings []string
	own := func(flag, given, otherwise string) string {
		if !m.set.Changed(flag) {
			return otherwise
		}
		name := given + observeSuffix
		warnings = append(warnings, fmt.Sprintf("--%s=%s may belong to an autoscaler that acts; this process only observes, "+
			"and uses %s", flag, given, name))
		return name
	}
	c.Leader.Name = own(leaseFlag, c.Leader.Name, ObserveLease)
	c.Report.StatusConfigMap = own(statusFlag, c.Report.StatusConfigMap, ObserveStatusConfigMap)
	return c, m.mode, warnings
}

// modeName is the value of a flag that takes one of the modes.
type modeName string

func (m *modeName) String() string { return string(*m) }
func (m *modeName) Type() string   { return "mode" }

// Set reads a mode.
func (m *modeName) Set(s string) error {
	if s != "act" && s != "observe" {
		return fmt.Errorf("there is no mode %q; there are act and observe", s)
	}
	*m = modeName(s)
	return nil
}
