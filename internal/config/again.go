package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Reread reads the configuration file of a running process again. It serves one goroutine.
type Reread struct {
	flags *Flags
	// said is what the file was when it was last looked at, and failed why it could not be read.
	said   []byte
	failed string
}

// Change is what a new content of the file means for the running process.
type Change struct {
	// Policy counts from now on; nil: the last one does.
	Policy *model.Policy
	// Warnings are those of the new content. Notices say what is wrong with it, and what has no effect yet; they
	// hold until the next Change.
	Warnings []string
	Notices  []provider.Notice
}

// Reread gives what reads the file again; nil without a file. Call it after Config.
func (f *Flags) Reread() *Reread {
	if f.document == nil {
		return nil
	}
	return &Reread{flags: f, said: f.document.Text}
}

// Look reads the file. It reports whether there is news: another content, or another reason why there is none. A
// content that is wrong in any way changes nothing. running is the policy that counts.
func (r *Reread) Look(running model.Policy) (Change, bool) {
	text, err := readText(r.flags.file)
	if err != nil {
		if err.Error() == r.failed {
			return Change{}, false
		}
		r.failed = err.Error()
		return r.wrong(err), true
	}
	if r.failed == "" && bytes.Equal(text, r.said) {
		return Change{}, false
	}
	r.said, r.failed = text, ""
	next, c, warnings, err := r.read()
	if err != nil {
		return r.wrong(err), true
	}
	change := Change{Warnings: warnings, Notices: r.waiting(next)}
	policy := c.Policy
	policy.Rules.Passing, policy.InventoryMaxAge = running.Rules.Passing, running.InventoryMaxAge
	policy.CallDeadline = running.CallDeadline
	policy.Share(running.Steps)
	if !reflect.DeepEqual(policy, running) {
		change.Policy = &policy
	}
	return change, true
}

// read gives what the file says now, together with the command line.
func (r *Reread) read() (*Flags, Config, []string, error) {
	next := Bind(pflag.NewFlagSet("again", pflag.ContinueOnError), r.flags.entries)
	next.BindMode()
	for name, v := range r.flags.given {
		if err := give(next.set, next.set.Lookup(name), v.Texts); err != nil {
			return nil, Config{}, nil, fmt.Errorf("--%s: %w", name, err)
		}
	}
	c, warnings, err := next.Config()
	return next, c, warnings, err
}

func (r *Reread) wrong(err error) Change {
	return Change{Notices: []provider.Notice{{
		Code: "ConfigurationNotRead", Message: err.Error() + "; the last configuration that could be read holds",
	}}}
}

// waiting tells which fields differ from what the process runs with, and wait for a restart.
func (r *Reread) waiting(next *Flags) []provider.Notice {
	var fields []string
	for _, v := range next.Settings() {
		if flag := r.flags.set.Lookup(v.Flag); flag != nil && !r.flags.live(v.Flag) && plain(flag) != v.Value {
			fields = append(fields, fmt.Sprintf("%s (%s, not %s)", v.Path, shown(plain(flag)), shown(v.Value)))
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return []provider.Notice{{
		Code:    "ConfigurationNeedsRestart",
		Message: "the file has changed, and until a restart these hold as before: " + strings.Join(fields, ", "),
	}}
}

func shown(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// sectionsThatReload are the titles of those whose flags count in a running process as soon as the file changes.
var sectionsThatReload = []string{
	"Scale up", "Consolidation", "Nodes that do not come, or break", "Scale down", "Pods of nodes that go",
}

// needRestart are the flags of these sections that are read beside deciding, when the process begins.
var needRestart = []string{"price-file", "startup-taint", "startup-taint-prefix", "status-taint", "ignore-taint"}

// live reports whether a flag's value counts as soon as the file changes.
func (f *Flags) live(name string) bool {
	return !slices.Contains(needRestart, name) && slices.ContainsFunc(f.sections, func(s section) bool {
		return slices.Contains(sectionsThatReload, s.title) && s.set.Lookup(name) != nil
	})
}
