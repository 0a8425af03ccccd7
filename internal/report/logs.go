package report

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// logEnd logs the end of a call. The cycle that decided the call has logged it, so success is
// logged at debug level only.
func (r *Reporter) logEnd(out model.Outcome) {
	what := []any{"verb", string(out.Call.Verb), "group", string(out.Call.Group)}
	if out.Call.Node != "" {
		what = append(what, "node", out.Call.Node)
	}
	if out.Call.Node == "" && out.Call.Instance != "" {
		what = append(what, "instance", string(out.Call.Instance))
	}
	if out.Call.Verb == model.Grow || out.Call.Verb == model.Cancel {
		what = append(what, "from", out.Call.From, "to", out.Call.To)
	}
	if out.Call.Verb == model.Evict {
		what = append(what, "pod", out.Call.Pod)
	}
	what = append(what, "took", out.Ended.Sub(out.Began).Round(time.Millisecond))
	switch {
	case out.Err == nil && out.Call.Verb == model.Untaint && !out.Unchanged:
		r.log.Info("a scale-down was rolled back", append(what, "why", backText(out.Call))...)
	case out.Err == nil:
		r.log.Debug("call done", what...)
	case refused(out):
		r.log.Debug("an eviction was refused, and is tried again", append(what, "err", out.Err.Error())...)
	case len(out.Landed) > 0:
		r.log.Info("a scale-down was stopped, pods landed on the node", append(what, "pods", out.Landed)...)
	default:
		r.log.Warn("call failed", append(what, "kind", string(out.Err.Kind), "unknown_end", out.Err.MayHaveHappened,
			"err", out.Err.Error(), "hint", hint(out.Err.Kind))...)
	}
}

// hint says what a person can do, or what Plimsoll will do.
func hint(k provider.Kind) string {
	switch k {
	case provider.NoCapacity:
		return "the cloud has no such machine there now; other groups are tried"
	case provider.Quota:
		return "raise the account's quota, or leave it to other groups"
	case provider.Denied:
		return "grant the permission that the message names"
	case provider.Credentials:
		return "renew the credentials"
	case provider.BadConfig:
		return "correct the configuration that the message names"
	case provider.Limit:
		return "raise the limit if more is wanted"
	case provider.Unsupported:
		return "this provider cannot do that"
	case provider.NotFound:
		return "another client removed it; the next read of the cloud shows what is left"
	case provider.Conflict:
		return "something changed meanwhile; Plimsoll decides again"
	default:
		return "it is tried again"
	}
}

// logPlan writes one line for a cycle that acts.
func (r *Reporter) logPlan(ctx context.Context, c model.Cycle, diverged int) {
	p := &c.Plan
	if line, loud := acting(c); loud {
		r.log.Info("acting", line...)
	} else if len(line) > 0 {
		r.log.Debug("acting", line...)
	}
	for i := range p.Moves {
		m := &p.Moves[i]
		r.log.Info("a move begins", "move", m.Text(), "goes", list(m.Goes), "reason", m.Reason, "pods", m.Pods,
			"before", m.Before, "after", m.After)
	}
	if diverged > 0 {
		r.log.Info("pods need another scale-up, since other pods took the room that a plan had reserved for them",
			"classes", diverged)
	}
	if !slices.Equal(p.Notices, r.noticed) {
		for _, n := range p.Notices {
			r.log.Warn(n.Message, "code", n.Code)
		}
		if len(p.Notices) == 0 {
			r.log.Info("all notices are resolved")
		}
		r.noticed = p.Notices
	}
	if r.log.Enabled(ctx, slog.LevelDebug) {
		r.log.Debug("decided", "plan", p.Text(c.Snapshot), "took", c.Took.Decide)
	}
}

// acting is the line of a cycle that acts. It is logged at debug level where only soft taints and
// annotations are written, or evictions repeated.
func acting(c model.Cycle) (line []any, loud bool) {
	p := &c.Plan
	if len(p.Calls) == 0 {
		return nil, false
	}
	before := asked(c.Snapshot)
	parts := map[string][]string{}
	for _, call := range p.Calls {
		switch call.Verb {
		case model.Grow:
			parts["grow"] = append(parts["grow"],
				fmt.Sprintf("%s %d->%d (max %d)", call.Group, call.From, call.To, call.MaxTo))
		case model.Cancel:
			parts["cancel"] = append(parts["cancel"], fmt.Sprintf("%s %d->%d", call.Group, call.From, call.To))
		case model.Remove:
			if call.Node == "" {
				parts["remove_instances"] = append(parts["remove_instances"],
					fmt.Sprintf("%s (%s)", call.Instance, call.Reason))
			} else {
				parts["remove"] = append(parts["remove"], call.Node)
			}
		case model.Evict:
			if before[call.PodUID] {
				parts["evict_again"] = append(parts["evict_again"], call.Pod)
			} else {
				parts["evict"] = append(parts["evict"], call.Pod)
			}
		default:
			name := strings.ToLower(string(call.Verb))
			parts[name] = append(parts[name], call.Node)
		}
	}
	for _, name := range []string{"grow", "taint", "cordon", "evict", "remove", "untaint",
		"remove_instances", "cancel"} {
		if len(parts[name]) == 0 {
			continue
		}
		loud = true
		line = append(line, name, list(parts[name]))
		if name == "grow" {
			planned := 0
			for _, v := range p.Pending {
				planned += v.Planned
			}
			line = append(line, "nodes", p.Nodes, "lower_bound", p.LowerBound, "for_pods", planned)
			if p.Price > 0 {
				line = append(line, "price", p.Price, "price_bound", p.PriceBound)
			}
		}
	}
	for _, name := range []string{"evict_again", "mark", "unmark", "annotate"} {
		if len(parts[name]) > 0 {
			line = append(line, name, list(parts[name]))
		}
	}
	return append(line, "decided_in", c.Took.Decide.Round(10*time.Microsecond)), loud
}

// list writes names, a long list by its beginning.
func list(names []string) string {
	const most = 20
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// logPending logs each class with pods that get no room, with every group's answer and the nearest fix, when the
// answers change.
func (r *Reporter) logPending(c model.Cycle) {
	names := c.Snapshot.ClassNames()
	still := make(map[string]bool, len(c.Plan.Pending))
	for i := range c.Plan.Pending {
		v := &c.Plan.Pending[i]
		if !v.Stays(c.Snapshot.Now) {
			continue
		}
		key := c.Snapshot.Classes[v.Class].Key
		still[key] = true
		said := fmt.Sprint(v.Without(), reasonsOnly(v), fixWords(v))
		if r.reported[key] == said || unsettled(v) {
			continue
		}
		r.reported[key] = said
		if v.Disagrees != nil {
			r.log.Warn("the scheduler refuses pods that fit", "class", names[v.Class], "pods", v.Existing, "of", v.Pods,
				"why", reasonAndDetail(v.Disagrees))
		}
		if v.Skipped == nil && v.Left == 0 {
			continue
		}
		line := []any{"class", names[v.Class], "pods", v.Without(), "of", v.Pods, "why", reasonText(v)}
		if fix := fixText(c.Snapshot.Now, v); fix != "" {
			line = append(line, "would_change_with", fix)
		}
		r.log.Info("pods stay pending", line...)
	}
	for key := range r.reported {
		if !still[key] {
			delete(r.reported, key)
		}
	}
}

// keptKey is a verdict that keeps Plimsoll from giving a machine, or a group's requests, back to
// the cloud.
type keptKey struct {
	group    provider.GroupID
	instance provider.InstanceID
	reason   model.Reason
}

// tellKept logs, once, each machine that is given up and cannot be removed. What passes by itself
// within seconds is left out.
func (r *Reporter) tellKept(verdicts []model.RepairVerdict) {
	still := map[keptKey]bool{}
	for i := range verdicts {
		v := &verdicts[i]
		switch v.Reason {
		case model.CreationRetried: // it is in flight
			continue
		case model.GroupBusy, model.Resizing, model.GroupPaused:
			// It hides the verdicts on the group's machines, which still hold.
			for key := range r.kept {
				if key.group == v.Group {
					still[key] = true
				}
			}
			continue
		}
		key := keptKey{v.Group, v.Instance, v.Reason}
		still[key] = true
		if !r.kept[key] {
			r.log.Warn("a machine is given up and cannot be removed", "group", string(v.Group), "instance",
				string(v.Instance), "count", v.Count,
				"reason", string(v.Reason), "detail", v.Detail, "would_change_with", v.Fix)
		}
	}
	r.kept = still
}

// unsettled reports whether a call under way, or the next cycle, will change the answer.
func unsettled(v *model.PendingVerdict) bool {
	return slices.ContainsFunc(v.Groups, func(g model.GroupVerdict) bool {
		return g.Reason == model.GroupBusy || g.Reason == model.StepBudget
	})
}

// reasonsOnly is what must change before a class is reported again. Details are not part of it: an
// age or a remaining time changes by itself.
func reasonsOnly(v *model.PendingVerdict) []string {
	if v.Skipped != nil {
		return []string{string(v.Skipped.Reason)}
	}
	var out []string
	if v.Disagrees != nil {
		out = append(out, string(v.Disagrees.Reason))
	}
	for i := range v.Groups {
		out = append(out, string(v.Groups[i].Group), string(v.Groups[i].Reason))
	}
	return out
}

// reasonText says why pods of a class get no room: each group's answer, the nearest to a yes first.
// Groups with the same answer are one part, and after mostParts parts the rest is counted by
// reason.
func reasonText(v *model.PendingVerdict) string {
	if v.Skipped != nil {
		return reasonAndDetail(v.Skipped)
	}
	if len(v.Groups) == 0 {
		_, why := v.Nearest()
		return reasonAndDetail(why)
	}
	said := sameSaid(v.Groups)
	var parts []string
	for _, p := range said[:min(mostParts, len(said))] {
		parts = append(parts, who(p)+": "+reasonAndDetail(&p[0].Verdict))
	}
	if len(said) > mostParts {
		parts = append(parts, "and "+byReason(slices.Concat(said[mostParts:]...)))
	}
	return strings.Join(parts, "; ")
}

// who names the groups of one answer, or counts them if they are many.
func who(said []model.GroupVerdict) string {
	if len(said) > mostNames {
		return fmt.Sprintf("%d groups", len(said))
	}
	var names []string
	for _, g := range said {
		names = append(names, string(g.Group))
	}
	return strings.Join(names, ", ")
}

// mostNames is how many groups of one answer are named.
const mostNames = 3

// mostParts is how many different answers of groups one line has.
const mostParts = 5

// sameSaid puts groups with equal answers together, the nearest answer first; groups
// of one answer, and equally near answers, stay in the plan's order.
func sameSaid(groups []model.GroupVerdict) [][]model.GroupVerdict {
	var said [][]model.GroupVerdict
	at := map[[2]string]int{}
	for _, g := range groups {
		key := [2]string{string(g.Reason), g.Detail}
		i, ok := at[key]
		if !ok {
			i = len(said)
			at[key] = i
			said = append(said, nil)
		}
		said[i] = append(said[i], g)
	}
	slices.SortStableFunc(said, func(a, b []model.GroupVerdict) int {
		return cmp.Compare(a[0].Reason.Distance(), b[0].Reason.Distance())
	})
	return said
}

// byReason counts groups by their reason, in the order in which they stand.
func byReason(groups []model.GroupVerdict) string {
	counts := map[model.Reason]int{}
	var order []model.Reason
	for _, g := range groups {
		if counts[g.Reason]++; counts[g.Reason] == 1 {
			order = append(order, g.Reason)
		}
	}
	var parts []string
	for _, r := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[r], r))
	}
	return spelling.Count(len(groups), "more group") + ": " + strings.Join(parts, ", ")
}

func reasonAndDetail(v *model.Verdict) string {
	if v.Detail == "" {
		return string(v.Reason)
	}
	return string(v.Reason) + " (" + v.Detail + ")"
}
