// Package policy says what is otherwise for some groups than for the cluster: their bounds by the hour,
// their thresholds and times, their priority and price, and whether they are paused.
//
// What flows in: policies, the groups as their cloud has them, and an instant. What flows out: the groups as
// they are to be decided on, what was settled for each, and when time alone changes any of it. It is asked
// in one place, as a cycle begins: what decides, remembers and reports sees the same groups.
//
// Pure. Who may import it: model and what makes policies.
package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/window"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Set are the policies of a cluster. The zero value changes nothing.
type Set struct {
	// Policies, the general ones first: of several that match a group, the last one that says something
	// counts, field by field.
	Policies []Policy
	// Pause holds for all groups; Pauses are those that plimsoll pause has made.
	Pause  *Pause
	Pauses []GroupPause
}

// Policy is what is otherwise for the groups that match it.
type Policy struct {
	Name string
	// Groups are patterns of names, see Pattern. Selector, if there is one, has to match as well.
	Groups   []*regexp.Regexp
	Selector labels.Selector
	// Priority and Price are nil where the policy does not say them.
	Priority *int
	Price    *float64
	// Size bounds the group while no window of Schedule says otherwise.
	Size     Size
	Schedule []Scheduled
	// Options count where the group has none of its own in its cloud.
	Options provider.Options
	Moves   Moves
	Pause   *Pause
}

// Size bounds a group; nil is no bound.
type Size struct{ Min, Max *int }

// Scheduled is a Size while a window is open.
type Scheduled struct {
	Window window.Window
	Size
}

// Pause is when nothing is bought, removed or repaired.
type Pause struct {
	// Since and Until are zero if unknown, and if only a change ends the pause.
	Since, Until time.Time
	Reason       string
	// From says where the pause stands: the file, or plimsoll pause.
	From string
}

// FromCommand is where a pause stands that plimsoll pause has made.
const FromCommand = "plimsoll pause"

// Ends says what ends the pause before its time.
func (p *Pause) Ends() string {
	if p.From == FromCommand {
		return "plimsoll resume"
	}
	return "the pause is taken out of " + p.From
}

// Stands reports whether the pause holds now.
func (p *Pause) Stands(now time.Time) bool {
	return p != nil && (p.Until.IsZero() || p.Until.After(now))
}

// Resolved is what policies have settled for a group, beside its own fields.
type Resolved struct {
	// Priority wins over the document of the expander; nil: that counts.
	Priority *int
	// MinFrom and MaxFrom name the policy that the group's minimum and maximum come from; empty: its cloud. A
	// minimum from a policy is enforced.
	MinFrom, MaxFrom string
	// Until is when a window next opens or closes, zero if none does.
	Until time.Time
	Pause *Pause
	Moves Moves
}

// Groups gives the groups as they are to be decided on, what was settled for each, and when time alone
// changes that; zero: never. Neither the groups nor what they refer to is changed.
func (s *Set) Groups(in []provider.Group, now time.Time) (out []provider.Group, settled []Resolved, next time.Time) {
	if len(s.Policies) == 0 && s.Pause == nil && len(s.Pauses) == 0 {
		return in, nil, time.Time{}
	}
	out, settled = slices.Clone(in), make([]Resolved, len(in))
	for i := range out {
		s.resolve(&out[i], &settled[i], now)
		next = earliest(next, settled[i].Until)
		if p := settled[i].Pause; p != nil {
			next = earliest(next, p.Until)
		}
	}
	return out, settled, next
}

// resolve settles one group.
func (s *Set) resolve(g *provider.Group, r *Resolved, now time.Time) {
	least, most, options := g.Min, g.Max, provider.Options{}
	bound := func(size Size, name string) {
		if size.Min != nil {
			least, r.MinFrom = *size.Min, name
		}
		if size.Max != nil {
			most, r.MaxFrom = *size.Max, name
		}
	}
	r.Pause = s.Pause.longer(nil, now)
	for i := range s.Pauses {
		if p := &s.Pauses[i]; p.pattern.MatchString(string(g.ID)) {
			r.Pause = p.pause.longer(r.Pause, now)
		}
	}
	for i := range s.Policies {
		p := &s.Policies[i]
		if !p.Matches(g) {
			continue
		}
		if p.Priority != nil {
			r.Priority = p.Priority
		}
		if p.Price != nil {
			g.PricePerHour, g.Prices, g.Currency = p.Price, nil, ""
		}
		bound(p.Size, p.Name)
		for _, at := range p.Schedule {
			if at.Window.Open(now) {
				bound(at.Size, p.Name)
			}
			if change, ok := at.Window.Next(now); ok {
				r.Until = earliest(r.Until, change)
			}
		}
		overlay(&options, p.Options)
		r.Moves.overlay(&p.Moves)
		r.Pause = p.Pause.longer(r.Pause, now)
	}
	overlay(&options, g.Options)
	g.Options = options
	if g.AllOrNothing {
		r.MinFrom, r.MaxFrom = "", ""
		return // it has all of its nodes or none, whatever a policy wishes
	}
	// What the cloud has set, it keeps: a policy narrows the bounds. The maximum wins over the minimum.
	g.Min, g.Max = min(max(g.Min, least), g.Max), max(min(g.Max, most), g.Min)
	g.Min = min(g.Min, g.Max)
}

// Matches reports whether the policy is about the group. Labels are those of its template's node: without a
// template no selector matches.
func (p *Policy) Matches(g *provider.Group) bool {
	if p.Selector != nil && (g.Template == nil || !p.Selector.Matches(labels.Set(g.Template.Node.Labels))) {
		return false
	}
	return len(p.Groups) == 0 ||
		slices.ContainsFunc(p.Groups, func(pattern *regexp.Regexp) bool { return pattern.MatchString(string(g.ID)) })
}

// Pattern is a name in which * stands for any letters and ? for one. Names of groups have slashes in some
// clouds, and these are letters, too.
func Pattern(text string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(text)
	quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, `\*`, `.*`), `\?`, `.`)
	return regexp.MustCompile(`^(?s:` + quoted + `)$`)
}

// CheckPattern refuses what other patterns have, and names of groups have not: it would match nothing, and look right.
func CheckPattern(text string) error {
	if text == "" {
		return fmt.Errorf("it is empty; %q are all groups", All)
	}
	if at := strings.IndexAny(text, `[]{}()|^$\`); at >= 0 {
		return fmt.Errorf("%q: %q has no meaning in a pattern; * stands for any letters, ? for one", text, text[at:at+1])
	}
	return nil
}

// longer is the one of two pauses that stands now and ends later.
func (p *Pause) longer(than *Pause, now time.Time) *Pause {
	if !p.Stands(now) || than != nil && !p.Until.IsZero() && (than.Until.IsZero() || than.Until.After(p.Until)) {
		return than
	}
	return p
}

// overlay sets what the upper options say.
func overlay(o *provider.Options, upper provider.Options) {
	put(&o.ScaleDownUtilizationThreshold, upper.ScaleDownUtilizationThreshold)
	put(&o.ScaleDownGPUUtilizationThreshold, upper.ScaleDownGPUUtilizationThreshold)
	put(&o.ScaleDownUnneededTime, upper.ScaleDownUnneededTime)
	put(&o.ScaleDownUnreadyTime, upper.ScaleDownUnreadyTime)
	put(&o.MaxNodeProvisionTime, upper.MaxNodeProvisionTime)
	put(&o.MaxNodeStartupTime, upper.MaxNodeStartupTime)
	put(&o.IgnoreDaemonSetsUtilization, upper.IgnoreDaemonSetsUtilization)
}

func put[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Bound says where a group's bound comes from, for a person: empty, or a remark for behind the number.
func (r Resolved) Bound(from string) string {
	if from == "" {
		return ""
	}
	until := ""
	if !r.Until.IsZero() {
		until = fmt.Sprintf(", until %s at least", r.Until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf(" (policy %s%s)", from, until)
}
