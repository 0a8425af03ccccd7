package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/config/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/window"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Check says what is wrong with the text of a configuration file in what it says of groups, budgets and windows; file
// is its name. Values of flags are not looked at.
func Check(file string, text []byte) error {
	doc, err := v1alpha1.Read(file, text)
	if err != nil {
		return err
	}
	_, _, err = policies(doc)
	return err
}

// policies gives what the file says of groups, and its budgets: those of the cluster, then those of each policy. An
// error lists all that is wrong.
func policies(doc *v1alpha1.Document) (policy.Set, []budget.Budget, error) {
	r := policyReader{doc: doc}
	set := policy.Set{Pause: r.pause("pause", doc.Pause)}
	names := map[string]string{}
	var budgets []budget.Budget
	for i := range doc.Budgets {
		budgets = append(budgets, r.budget(fmt.Sprintf("budgets[%d]", i), &doc.Budgets[i], nil))
	}
	for i := range doc.Policies {
		p, path := &doc.Policies[i], fmt.Sprintf("policies[%d]", i)
		if before, twice := names[p.Name]; twice || p.Name == "" {
			r.wrong(path+".name", "%q is not a name of its own%s", p.Name, before)
		}
		names[p.Name] = ": " + path + " has it"
		own := r.policy(path, p)
		for j := range p.Budgets {
			budgets = append(budgets, r.budget(fmt.Sprintf("%s.budgets[%d]", path, j), &p.Budgets[j], &own))
		}
		set.Policies = append(set.Policies, own)
	}
	return set, budgets, errors.Join(r.errs...)
}

type policyReader struct {
	doc  *v1alpha1.Document
	errs []error
}

func (r *policyReader) wrong(path, format string, args ...any) {
	r.errs = append(r.errs, r.doc.Wrong(path, format, args...))
}

func (r *policyReader) policy(path string, p *v1alpha1.Policy) policy.Policy {
	out := policy.Policy{Name: p.Name, Pause: r.pause(path+".pause", p.Pause), Price: p.PricePerHour}
	if len(p.Groups) == 0 && p.Selector == nil {
		r.wrong(path, "it matches no group: give groups, or a selector; groups: [\"*\"] are all")
	}
	for i, name := range p.Groups {
		if err := policy.CheckPattern(name); err != nil {
			r.wrong(fmt.Sprintf("%s.groups[%d]", path, i), "%w", err)
		}
		out.Groups = append(out.Groups, policy.Pattern(name))
	}
	if p.Selector != nil {
		out.Selector = r.selector(path+".selector", p.Selector)
	}
	if p.Priority != nil {
		priority := int(*p.Priority)
		out.Priority = &priority
	}
	if p.PricePerHour != nil {
		if err := checkPrice("pricePerHour", *p.PricePerHour); err != nil {
			r.errs = append(r.errs, r.doc.Wrong(path, "%w", err))
		}
	}
	if p.Size != nil {
		out.Size = r.size(path+".size", *p.Size)
	}
	for i, at := range p.Schedule {
		where := fmt.Sprintf("%s.schedule[%d]", path, i)
		if at.Min == nil && at.Max == nil {
			r.wrong(where, "it says neither min nor max")
		}
		out.Schedule = append(out.Schedule, policy.Scheduled{
			Window: r.window(where, at.Window), Size: r.size(where, at.Size),
		})
	}
	r.options(path, p, &out.Options)
	out.Moves = r.moves(path+".moves", p.Moves)
	if h := p.Headroom; h != nil && !amount.MatchString(h.Nodes) {
		r.wrong(path+".headroom.nodes", "%q is neither a number nor a share such as 10%%", h.Nodes)
	}
	return out
}

func (r *policyReader) selector(path string, s *v1alpha1.Selector) labels.Selector {
	spec := &metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, e := range s.MatchExpressions {
		spec.MatchExpressions = append(spec.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator), Values: e.Values,
		})
	}
	out, err := metav1.LabelSelectorAsSelector(spec)
	if err != nil {
		r.wrong(path, "%w", err)
	} else if out.Empty() {
		r.wrong(path, "it is empty, and matches every group; groups: [\"*\"] says so")
	}
	return out
}

func (r *policyReader) size(path string, s v1alpha1.Size) policy.Size {
	least, most := r.nodes(path+".min", s.Min), r.nodes(path+".max", s.Max)
	if least != nil && most != nil && *least > *most {
		r.wrong(path+".min", "%d is above max, %d", *least, *most)
	}
	return policy.Size{Min: least, Max: most}
}

func (r *policyReader) nodes(path string, n *int64) *int {
	if n == nil {
		return nil
	}
	if *n < 0 || *n > mostNodes {
		r.wrong(path, "%d is not between 0 and %d", *n, mostNodes)
	}
	out := int(*n)
	return &out
}

// mostNodes is more than any cluster has.
const mostNodes = 1_000_000

func (r *policyReader) window(path string, w v1alpha1.Window) window.Window {
	out, err := window.Parse(window.Spec(w))
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			field, _ := errors.AsType[*window.FieldError](err)
			r.wrong(path+"."+field.Field, "%w", field.Err)
		}
	}
	return out
}

func (r *policyReader) pause(path string, p *v1alpha1.Pause) *policy.Pause {
	if p == nil {
		return nil
	}
	out := &policy.Pause{Reason: p.Reason, From: r.doc.File}
	if p.Until != "" {
		until, err := time.Parse(time.RFC3339, p.Until)
		if err != nil {
			r.wrong(path+".until", "%q is no time such as 2026-12-24T18:00:00Z", p.Until)
		}
		out.Until = until
	}
	return out
}

// options are those that a group has in its cloud, too.
func (r *policyReader) options(path string, p *v1alpha1.Policy, o *provider.Options) {
	if d := p.ScaleDown; d != nil {
		at := path + ".scaleDown."
		o.ScaleDownUnneededTime = r.time(at+"unneededTime", d.UnneededTime, 0)
		o.ScaleDownUnreadyTime = r.time(at+"unreadyTime", d.UnreadyTime, 0)
		o.ScaleDownUtilizationThreshold = r.share(at+"utilizationThreshold", d.UtilizationThreshold)
		o.ScaleDownGPUUtilizationThreshold = r.share(at+"gpuUtilizationThreshold", d.GPUUtilizationThreshold)
		o.IgnoreDaemonSetsUtilization = d.IgnoreDaemonSetUtilization
	}
	if h := p.NodeHealth; h != nil {
		at := path + ".nodeHealth."
		o.MaxNodeProvisionTime = r.time(at+"maxProvisionTime", h.MaxProvisionTime, time.Second)
		o.MaxNodeStartupTime = r.time(at+"maxStartupTime", h.MaxStartupTime, time.Second)
	}
}

func (r *policyReader) time(path, text string, least time.Duration) *time.Duration {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		r.wrong(path, "%q is no duration; 90s, 10m and 1h30m are", text)
	} else if d < least {
		r.wrong(path, "%s is below %s", d, least)
	}
	return &d
}

func (r *policyReader) share(path string, share *float64) *float64 {
	if share != nil && *share < 0 {
		r.wrong(path, "%v is not a share of a node: 0.5 is half of it", *share)
	}
	return share
}

// Forms of texts in budgets and headroom: a number or a share of nodes, and a number in a time.
var (
	amount = regexp.MustCompile(`^([0-9]{1,6}|([0-9]|[1-9][0-9]|100)%)$`)
	rate   = regexp.MustCompile(`^[0-9]{1,6}/[0-9][0-9hms.]*$`)
)

// budget reads one budget, of a policy or of the cluster. It is called by its name, or by where it stands.
func (r *policyReader) budget(path string, b *v1alpha1.Budget, of *policy.Policy) budget.Budget {
	out := budget.Budget{Name: cmp.Or(b.Name, path), Of: of}
	if b.Nodes == "" && b.Rate == "" && len(b.Allow) == 0 {
		r.wrong(path, "it says neither nodes nor rate, and no windows to allow")
	}
	if b.Nodes != "" {
		if !amount.MatchString(b.Nodes) {
			r.wrong(path+".nodes", "%q is neither a number nor a share such as 10%%", b.Nodes)
		}
		number, share := strings.CutSuffix(b.Nodes, "%")
		n, _ := strconv.Atoi(number) // the form was looked at
		if out.Nodes = (&budget.Amount{Count: n}); share {
			out.Nodes = &budget.Amount{Percent: n, Share: true}
		}
	}
	if b.Rate != "" {
		out.Rate = r.rate(path+".rate", b.Rate)
	}
	for i, reason := range b.Reasons {
		known := make([]string, len(budget.Reasons))
		for j := range budget.Reasons {
			known[j] = string(budget.Reasons[j])
		}
		r.oneOf(fmt.Sprintf("%s.reasons[%d]", path, i), reason, known)
		out.Reasons = append(out.Reasons, budget.Reason(reason))
	}
	for i, w := range b.Windows {
		out.Windows = append(out.Windows, r.window(fmt.Sprintf("%s.windows[%d]", path, i), w))
	}
	for i, w := range b.Allow {
		out.Allow = append(out.Allow, r.window(fmt.Sprintf("%s.allow[%d]", path, i), w))
	}
	return out
}

// longestRate bounds the time of a rate: it is remembered for so long which nodes began to go.
const longestRate = 24 * time.Hour

func (r *policyReader) rate(path, text string) *budget.Rate {
	number, over, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	d, wrong := time.ParseDuration(over)
	if !rate.MatchString(text) || err != nil || wrong != nil {
		r.wrong(path, "%q is not a number in a time, such as 5/1h", text)
	} else if d < time.Minute || d > longestRate {
		r.wrong(path, "%s is not between 1m and %s", d, longestRate)
	}
	return &budget.Rate{Count: n, Over: d}
}

func (r *policyReader) moves(path string, m *v1alpha1.GroupMoves) (out policy.Moves) {
	if m == nil {
		return out
	}
	if m.Consolidation != "" {
		r.oneOf(path+".consolidation", m.Consolidation, []string{"WhenEmpty", "WhenUnneeded", "WhenCheaper"})
		kind, _ := policy.ConsolidationNamed(m.Consolidation)
		out.Consolidation = &kind
	}
	out.MinSavingsPerHour = r.amount(path+".minSavingsPerHour", m.MinSavingsPerHour)
	out.MinSavingsPerDisruption = r.amount(path+".minSavingsPerDisruption", m.MinSavingsPerDisruption)
	if out.MinSavingsShare = r.amount(path+".minSavingsShare", m.MinSavingsShare); m.MinSavingsShare != nil &&
		*m.MinSavingsShare > 1 {
		r.wrong(path+".minSavingsShare", "%v is above 1, which is all that the nodes cost", *m.MinSavingsShare)
	}
	out.Stay = r.time(path+".stay", m.Stay, 0)
	out.ExpireAfter = r.age(path+".replaceAfter", m.ReplaceAfter)
	out.UnreadyAfter = r.age(path+".replaceUnreadyAfter", m.ReplaceUnreadyAfter)
	out.Return = m.ReturnToPreferred
	out.Drifted, out.Unsound = m.ReplaceDrifted, m.ReplaceConditions
	if m.ReplaceConditions != nil && slices.Contains(*m.ReplaceConditions, string(corev1.NodeReady)) {
		r.wrong(path+".replaceConditions", "%s is true of nodes that are well", corev1.NodeReady)
	}
	out.InterruptionWeight = r.amount(path+".interruptionWeight", m.InterruptionWeight)
	out.Interrupted = m.ReplaceInterrupted
	if m.ReplaceInterrupted != nil && slices.Contains(*m.ReplaceInterrupted, string(corev1.NodeReady)) {
		r.wrong(path+".replaceInterrupted", "%s is true of nodes that are well", corev1.NodeReady)
	}
	return out
}

// age is after what time nodes are replaced: 0 for never, and else not so short that all are, again and again.
func (r *policyReader) age(path, text string) *time.Duration {
	after := r.time(path, text, 0)
	if after != nil && *after > 0 && *after < time.Minute {
		r.wrong(path, "%s is below 1m, and not 0", *after)
	}
	return after
}

func (r *policyReader) amount(path string, v *float64) *float64 {
	if v != nil && !(*v >= 0 && *v <= math.MaxFloat64) {
		r.wrong(path, "%v is below 0, or no amount", *v)
	}
	return v
}

func (r *policyReader) oneOf(path, text string, known []string) {
	for _, k := range known {
		if k == text {
			return
		}
	}
	r.wrong(path, "%q is none of %s", text, strings.Join(known, ", "))
}

// odd has a line for each part of the file that is accepted, and is most likely not meant.
func odd(doc *v1alpha1.Document, set *policy.Set, budgets []budget.Budget, now time.Time) []string {
	var out []string
	say := func(path, format string, args ...any) { out = append(out, doc.Wrong(path, format, args...).Error()) }
	pause := func(path string, p *policy.Pause) {
		switch {
		case p == nil:
		case !p.Until.IsZero() && !p.Until.After(now):
			say(path+".until", "it is over since %s, and has no effect", p.Until.Format(time.RFC3339))
		case p.Until.IsZero() && p.Reason == "":
			say(path, "it holds until the file changes: it says neither until when nor why")
		}
	}
	pause("pause", set.Pause)
	for i := range set.Policies {
		path := fmt.Sprintf("policies[%d]", i)
		pause(path+".pause", set.Policies[i].Pause)
		overlaps(&set.Policies[i], now, func(at int, format string, args ...any) {
			say(fmt.Sprintf("%s.schedule[%d]", path, at), format, args...)
		})
	}
	names := map[string]bool{}
	paths := budgetPaths(doc)
	for i, b := range budgets {
		if names[b.Name] {
			say(paths[i], "another budget is called %q, too", b.Name)
		}
		if names[b.Name] = true; b.Rate != nil && b.Rate.Count == 0 {
			say(paths[i]+".rate", "no node may ever begin to go while it counts")
		}
	}
	return out
}

// overlapLooks is how many changes of windows are looked at in each policy, and fewestLooks at how many of two windows
// at least: with more windows, not all pairs are looked at. A file may have many, and is read again while the loop
// waits.
const overlapLooks, fewestLooks = 20_000, 50

// overlaps says which windows of a policy contradict each other, or its size, and which one counts then.
func overlaps(p *policy.Policy, now time.Time, say func(at int, format string, args ...any)) {
	above := func(least, most *int) bool { return least != nil && most != nil && *least > *most }
	pairs := max(1, len(p.Schedule)*(len(p.Schedule)-1)/2)
	looks, left := max(overlapLooks/pairs, fewestLooks), overlapLooks
	for i, later := range p.Schedule {
		if most := p.Size.Max; above(later.Min, most) && later.Max == nil {
			say(i, "min %d is above the max of size, %d, which wins", *later.Min, *most)
		}
		if least := p.Size.Min; above(least, later.Max) && later.Min == nil {
			say(i, "max %d is below the min of size, %d, and wins", *later.Max, *least)
		}
		for j, earlier := range p.Schedule[:i] {
			if left -= looks; left < 0 {
				break
			}
			at, both := window.Together(earlier.Window, later.Window, now, looks)
			if !both {
				continue
			}
			when := fmt.Sprintf("schedule[%d] is open, too, next at %s", j, at.Format(time.RFC3339))
			if differ(earlier.Min, later.Min) || differ(earlier.Max, later.Max) {
				say(i, "%s: the later in the list counts", when)
			}
			if above(later.Min, earlier.Max) && later.Max == nil {
				say(i, "%s, and min %d is above its max, %d, which wins", when, *later.Min, *earlier.Max)
			}
			if above(earlier.Min, later.Max) && later.Min == nil {
				say(i, "%s, and max %d is below its min, %d, and wins", when, *later.Max, *earlier.Min)
			}
		}
	}
}

// differ reports whether both are said, and not the same.
func differ(a, b *int) bool { return a != nil && b != nil && *a != *b }

// budgetPaths are where the budgets stand, in their order.
func budgetPaths(doc *v1alpha1.Document) []string {
	var out []string
	for i := range doc.Budgets {
		out = append(out, fmt.Sprintf("budgets[%d]", i))
	}
	for i := range doc.Policies {
		for j := range doc.Policies[i].Budgets {
			out = append(out, fmt.Sprintf("policies[%d].budgets[%d]", i, j))
		}
	}
	return out
}
