package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// stale: the cloud has not been read for too long (rule L10).
var stale = check{"stale", func(q question) *model.Verdict {
	if !q.policy.Stale(q.snap.Now, q.snap.AsOf) {
		return nil
	}
	age := q.snap.Now.Sub(q.snap.AsOf).Round(time.Second)
	return &model.Verdict{Reason: model.StaleInventory, Since: q.snap.AsOf, Fix: "the cloud answers again",
		Detail: fmt.Sprintf("the cloud was last read %s ago%s", age, because(q.snap.InventoryErr))}
}}

// unreadable: what was known of the group's size stands, and may have changed.
var unreadable = check{"unreadable", func(q question) *model.Verdict {
	err := q.group.Err
	switch {
	case err == nil:
		return nil
	case err.Kind == provider.NotFound:
		return &model.Verdict{Reason: model.GroupNotListed, Detail: err.Message,
			Fix: "the provider lists it again; or nothing, if it is no node group any more"}
	}
	return &model.Verdict{Reason: model.GroupUnreadable, Detail: err.Error(), Fix: "the group can be read again"}
}}

// poolUnreadable: a group that was read before stays as it was, and its pool can be
// counted. Of one that never was, nothing is known, least of all that it is empty:
// whatever needs the pool's maximum or minimum waits.
var poolUnreadable = check{"pool unreadable", func(q question) *model.Verdict {
	if q.group.PoolUnread == "" {
		return nil
	}
	return &model.Verdict{Reason: model.GroupUnreadable, Fix: "that group can be read",
		Detail: fmt.Sprintf("the size of its pool %s is unknown: %s has not been read yet",
			q.group.Pool, q.group.PoolUnread)}
}}

// noTemplate: it is unknown what a new node would be.
var noTemplate = check{"no template", func(q question) *model.Verdict {
	if q.group.HasTemplate {
		return nil
	}
	detail := "the provider has no template for it"
	if q.group.TemplateErr != nil {
		detail = q.group.TemplateErr.Error()
	}
	return &model.Verdict{Reason: model.NoTemplate, Detail: detail, Fix: "a template, or a node in the group"}
}}

// allOrNothing: such groups only shrink.
var allOrNothing = check{"all or nothing", func(q question) *model.Verdict {
	if !q.group.AllOrNothing {
		return nil
	}
	return &model.Verdict{Reason: model.Unsupported,
		Detail: fmt.Sprintf("it has all of %s or none, and all-or-nothing groups are not supported yet",
			spelling.Count(q.group.Max, "node"))}
}}

// busy: a call on the group, or on its pool, is open (rule L1).
var busy = check{"busy", func(q question) *model.Verdict {
	c := q.group.Busy
	if c == nil {
		return nil
	}
	what := string(c.Verb)
	if c.From != c.To {
		what = fmt.Sprintf("%s %d → %d", c.Verb, c.From, c.To)
	}
	return &model.Verdict{Reason: model.GroupBusy,
		Detail: what + " is under way", Until: c.Deadline, Fix: "that call's end"}
}}

// unsure: it is unknown how far a failed write went (rule L2).
var unsure = check{"unsure", func(q question) *model.Verdict {
	if !q.group.Unsure {
		return nil
	}
	return writeFailed(", and the cloud has not been read since", "the next read of the cloud")
}}

// older: the picture began before our last write to the group had ended. What it says of a machine
// without a node may be of another one by now.
var older = check{"older than our write", func(q question) *model.Verdict {
	if q.group.Written.IsZero() || q.snap.AsOf.After(q.group.Written) {
		return nil
	}
	return &model.Verdict{Reason: model.GroupBusy, Since: q.group.Written, Fix: "the next read of the cloud",
		Detail: "the cloud has not been read since our last write to the group"}
}}

// neverStarted: a node of the group did not become ready. It is named. One that would have gone by now, were it not for
// a minimum, tells less of the next: a group at its minimum would wait for people to end it. One node at a time is
// tried.
var neverStarted = check{"never started", func(q question) *model.Verdict {
	v := q.group.Unhealthy
	if v == nil || v.Reason != model.NodeNeverStarted {
		return nil
	}
	until := q.dudsTellUntil()
	switch {
	case until.IsZero():
		return v
	case until.After(q.snap.Now): // said below
	case slices.ContainsFunc(q.group.Asks, func(a model.Ask) bool {
		return slices.ContainsFunc(a.Units, func(u model.Unit) bool { return u.Open() })
	}):
		return v
	case !until.After(q.snap.Now):
		return nil
	}
	timed := *v
	timed.Until, timed.Fix = until, "time, after which one node is tried; they become ready, or go"
	return &timed
}}

// dudsTellUntil is until when the nodes of a group that never started tell of the next: until they would go, if a
// minimum is all that keeps them. Zero: as long as they are there.
func (q question) dudsTellUntil() (until time.Time) {
	down := &q.policy.ScaleDown
	wait := down.UnreadyTime
	if t := q.group.Options.ScaleDownUnreadyTime; t != nil {
		wait = *t
	}
	for i := range q.snap.Nodes {
		n := q.snap.Nodes[i]
		if n.Group != q.index || n.State != model.StateNeverStarted {
			continue
		}
		kept := []model.Reason{model.GroupAtMin, model.PoolAtMin, model.PoolFloor}
		if !down.Enabled || n.Standing.UnneededSince.IsZero() || !slices.Contains(kept, n.Standing.Held) {
			return time.Time{}
		}
		until = model.Latest(until, n.Standing.UnneededSince.Add(wait))
	}
	return until
}

// backoff: the group rests after growth that failed.
var backoff = check{"backoff", func(q question) *model.Verdict {
	r := q.group.Rests.Of(model.RestFailed)
	if !r.Stands(q.snap.Now) {
		return nil
	}
	return &model.Verdict{Reason: model.GroupBackoff, Since: r.Since,
		Until: r.Until, Fix: "time; a scale-up that succeeds ends it for good",
		Detail: fmt.Sprintf("for %s, until %s: %s", r.Length, r.Until.UTC().Format("15:04:05Z"), r.Message)}
}}

// unhealthy: too many of the group's nodes are missing or not ready (S2). Those that never started are told as such.
var unhealthy = check{"unhealthy", func(q question) *model.Verdict {
	if v := q.group.Unhealthy; v != nil && v.Reason == model.NodeNeverStarted {
		return neverStarted.ask(q)
	}
	return q.group.Unhealthy
}}

// paused: a write failed for no fault of the group.
var paused = check{"paused", func(q question) *model.Verdict {
	r := q.group.Rests.Of(model.RestPaused)
	if !r.Stands(q.snap.Now) {
		return nil
	}
	v := writeFailed(because(r.Message), "time")
	v.Until = r.Until
	return v
}}

// The provider holds the group. A repair removes machines and cancels requests, and
// either hold stops it.
var (
	heldFromGrowing  = held("held from growing", provider.OpGrow)
	heldFromRepair   = held("held from repair", provider.OpRemove, provider.OpCancel)
	heldFromRemoving = held("held from removing", provider.OpRemove)
)

func held(name string, ops ...provider.Op) check {
	return check{name, func(q question) *model.Verdict {
		h := Hold(q.group, q.snap.Now, ops...)
		if h == nil {
			return nil
		}
		return &model.Verdict{Reason: model.GroupHeld, Detail: h.Reason + because(h.Message), Since: h.Since, Until: h.Until}
	}}
}

// heldByOperator: a person has paused the group, or all of them.
var heldByOperator = check{"held by operator", func(q question) *model.Verdict { return q.group.Paused() }}

// Hold is the first of the provider's holds on a group that keeps one of the
// operations from being started now, nil if none does.
func Hold(g *model.Group, now time.Time, ops ...provider.Op) *provider.Hold {
	for i := range g.Holds {
		if h := &g.Holds[i]; slices.Contains(ops, h.Op) && h.Stands(now) {
			return h
		}
	}
	return nil
}

// fromZero: the policy forbids to grow a cluster without a ready node.
var fromZero = check{"from zero", func(q question) *model.Verdict {
	if q.policy.ScaleUp.ScaleFromZero || q.snap.ReadyNodes() > 0 {
		return nil
	}
	return &model.Verdict{Reason: model.ScaleFromZeroOff,
		Detail: "the cluster has no ready node", Fix: "--scale-up-from-zero"}
}}

// resized: the same plan writes to the group, or to its pool, already.
var resized = check{"resized", func(q question) *model.Verdict {
	if v, ok := q.resized[q.index]; ok {
		return &v
	}
	return nil
}}

// refused: removals rest after the cloud has refused some in a row.
var refused = check{"refused", func(q question) *model.Verdict {
	r := q.group.Rests.Of(model.RestRefused)
	if !r.Stands(q.snap.Now) {
		return nil
	}
	v := Cooldown(r.Length, "refused removal in its group", r.Message)
	v.Since, v.Until, v.Fix = r.Since, r.Until, "time, and a fix for what the cloud says"
	return v
}}

// tooMany and tooFew: the group has not reached its target. A node that is not ready
// may be one that the cloud is replacing.
var tooMany = check{"too many", func(q question) *model.Verdict {
	g := q.group
	over := g.ReadyNodes + g.BootingNodes + g.UnreadyNodes - g.Expected
	if over <= 0 {
		return nil
	}
	return &model.Verdict{Reason: model.TargetNotReached, Fix: "they go",
		Detail: fmt.Sprintf("its group wants %s, and has %d more", spelling.Count(g.Expected, "node"), over)}
}}

var tooFew = check{"too few", func(q question) *model.Verdict {
	g := q.group
	if g.Missing <= 0 && g.ComingNodes <= 0 {
		return nil
	}
	return &model.Verdict{Reason: model.TargetNotReached, Fix: "they arrive, or are given up",
		Detail: fmt.Sprintf("its group wants %s, and lacks %d", spelling.Count(g.Expected, "node"),
			max(g.Missing, g.ComingNodes))}
}}
