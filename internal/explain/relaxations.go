package explain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// relaxation is how the constraint behind a group's verdict can be relaxed. It gives no steps where nothing is
// known that makes sense to change: not an architecture, nor the zone of a volume.
type relaxation func(r *relaxer, group int, v model.Verdict) []step

// relaxations are the reasons for which something is tried.
var relaxations = map[model.Reason]relaxation{
	model.GroupAtMax:       raise,
	model.PoolAtMax:        raise,
	model.MaxNodesTotal:    raise,
	model.CoresTotal:       raise,
	model.MemoryTotal:      raise,
	model.ScaleFromZeroOff: raise,
	model.PoolShare: func(r *relaxer, group int, _ model.Verdict) []step {
		return append(r.sizing(group), r.limit(group, model.PoolAtMax))
	},
	model.GroupBackoff:       (*relaxer).wait,
	model.GroupPaused:        (*relaxer).wait,
	model.GroupBusy:          (*relaxer).wait,
	model.GroupHeld:          (*relaxer).wait,
	model.MaxNodesPerScaleUp: (*relaxer).wait,
	model.LandedElsewhere:    (*relaxer).wait,
	model.OutOfReach:         (*relaxer).wait,
	model.SchedulerDisagrees: (*relaxer).wait,
	model.GroupUnhealthy:     (*relaxer).recover,
	model.NodeNeverStarted:   (*relaxer).recover,
	model.TemplateMismatch: func(r *relaxer, group int, v model.Verdict) []step {
		return append(r.wait(group, v), r.asPromised(group, v))
	},
	model.HeldByOperator: func(r *relaxer, group int, _ model.Verdict) []step { return []step{r.resume(group)} },

	model.InsufficientResources: func(r *relaxer, group int, _ model.Verdict) []step { return r.smaller(group) },
	model.TaintNotTolerated:     ofNode((*relaxer).tolerating),
	model.NodeAffinity:          ofNode((*relaxer).unselective),
	model.PortConflict:          ofPods((*relaxer).portless),
	model.PodAffinity:           ofPods((*relaxer).unaffine),
	model.VolumeZone:            ofPods((*relaxer).without),
	model.VolumeNotBindable:     ofPods((*relaxer).without),
	model.VolumeLimit:           ofPods((*relaxer).without),
	model.VolumeInUse:           ofPods((*relaxer).without),
	model.TopologySpread:        unspread,
	model.SpreadCapacity:        unspread,
}

// raises are the reasons for which a limit is raised.
var raises = map[model.Reason]bool{
	model.GroupAtMax: true, model.PoolAtMax: true, model.MaxNodesTotal: true, model.CoresTotal: true,
	model.MemoryTotal: true, model.ScaleFromZeroOff: true,
}

// helpless are the reasons that no setting of the group, of Plimsoll or of the pods' place changes: something has to
// come about, or to be mended elsewhere. The words of the verdict say what.
var helpless = map[model.Reason]bool{
	model.NodeFeatures: true, model.SchedulerDisagrees: true, model.LandedElsewhere: true, model.OutOfReach: true,
	model.WaitsForLanding: true, model.Resizing: true, model.GroupUnreadable: true, model.GroupNotListed: true,
	model.NoTemplate: true, model.StaleInventory: true, model.SpreadPostponed: true, model.OtherFilter: true,
	model.FilterPanicked: true, model.Unsupported: true,
}

// Helpless reports whether no setting of any group helps: each answer says so, and what is waited for.
func Helpless(groups []GroupAnswer) bool {
	return !slices.ContainsFunc(groups, func(g GroupAnswer) bool { return !helpless[g.Reason] || g.Instead == "" })
}

func raise(r *relaxer, group int, v model.Verdict) []step { return []step{r.limit(group, v.Reason)} }

func unspread(r *relaxer, group int, _ model.Verdict) []step {
	return append(r.unspread(), r.unselective(templateOf(r.snap, group))...)
}

func ofNode(of func(*relaxer, *corev1.Node) []step) relaxation {
	return func(r *relaxer, group int, _ model.Verdict) []step { return of(r, templateOf(r.snap, group)) }
}

func ofPods(of func(*relaxer) []step) relaxation {
	return func(r *relaxer, _ int, _ model.Verdict) []step { return of(r) }
}

// steps are the ways in which the constraint behind a group's verdict can be relaxed.
func (r *relaxer) steps(group int, v model.Verdict) []step {
	if of := relaxations[v.Reason]; of != nil {
		return of(r, group, v)
	}
	return nil
}

// instead is what remains to be said of a verdict for which no fix was found by trying: that no setting helps, and what
// is waited for; or the verdict's words, where they have not been tried.
func instead(v *Verdict, now time.Time, tried bool) string {
	switch {
	case helpless[v.Reason] && v.Until.After(now):
		return "no setting helps; wait until " + v.Until.UTC().Format("15:04:05Z")
	case helpless[v.Reason] && v.Fix != "":
		return "no setting helps (" + v.Fix + ")"
	case tried && relaxations[v.Reason] != nil:
		return ""
	}
	words := model.Verdict{Fix: v.Fix, Until: v.Until}
	if trial := words.Trial(now); trial != model.NoTrial {
		return trial.Mark(v.Fix, "")
	}
	return ""
}

// onTime is what only time, or what comes about in it, changes of a group.
func (r *relaxer) onTime(group, rank int, in shown, pass func(*model.Group, *model.Policy)) step {
	return step{about: "time of " + string(r.snap.Groups[group].ID), rank: rank,
		cluster: func(s *model.Snapshot, p *model.Policy, _ int64) { pass(&s.Groups[group], p) },
		show:    func(int64) shown { return in }}
}

// wait lets the time pass after which a group may grow again, for all pods or for these.
func (r *relaxer) wait(group int, v model.Verdict) []step {
	rank, text, short := rankSoon, "wait for the next cycle", "next cycle"
	to := ""
	switch left := v.Until.Sub(r.snap.Now); {
	case v.Reason == model.MaxNodesPerScaleUp:
	case v.Until.IsZero():
		return nil // it is unknown how long
	default:
		if left > time.Minute {
			rank = rankTime
		}
		to = v.Until.UTC().Format(time.RFC3339)
		short = "wait " + left.Round(time.Second).String()
		text = "wait until " + v.Until.UTC().Format("15:04:05Z")
	}
	out := r.onTime(group, rank, shown{text, short, []Change{{Of: OfTime, To: to}}},
		func(g *model.Group, p *model.Policy) {
			p.ScaleUp.MaxNodesPerScaleUp = 0
			g.Busy, g.Unsure = nil, false
			g.Rests = slices.DeleteFunc(slices.Clone(g.Rests), func(rest model.Rest) bool { return !rest.Until.After(v.Until) })
			g.Holds = slices.DeleteFunc(slices.Clone(g.Holds), func(h provider.Hold) bool { return !h.Stands(v.Until) })
		})
	return []step{r.unbraked(group, out)}
}

// recover lets the nodes of a group become ready, or go, as the verdict says.
func (r *relaxer) recover(group int, v model.Verdict) []step {
	text := "wait until " + v.Fix
	change := Change{Of: OfTime, Name: string(r.snap.Groups[group].ID)}
	return []step{r.onTime(group, rankTime, shown{text, text, []Change{change}},
		func(g *model.Group, _ *model.Policy) { g.Unhealthy = nil })}
}

// asPromised lets new nodes of a group be what its template says: the template is made right, or the nodes are.
func (r *relaxer) asPromised(group int, v model.Verdict) step {
	id := string(r.snap.Groups[group].ID)
	what := shown{"new nodes of " + id + " that are as its template says: " + v.Detail,
		"new nodes are as the template says", []Change{{Of: OfGroup, Name: id, Field: "template", From: v.Detail}}}
	return r.unbraked(group, step{about: "template of " + id, rank: rankPods, show: func(int64) shown { return what }})
}

// unbraked is a step after which it does not count any more that nodes of a group were of no use to the pods.
func (r *relaxer) unbraked(group int, st step) step {
	id, class := r.snap.Groups[group].ID, r.snap.Classes[r.class].Digest()
	before := st.cluster
	st.cluster = func(s *model.Snapshot, p *model.Policy, value int64) {
		if before != nil {
			before(s, p, value)
		}
		s.Brakes = slices.DeleteFunc(slices.Clone(s.Brakes), func(k model.Brake) bool {
			return k.Class == class && (k.Group == id || k.Node == "")
		})
		s.Arrivals = slices.DeleteFunc(slices.Clone(s.Arrivals), func(a model.Arrival) bool {
			return a.Group == id && slices.Contains(a.For, class)
		})
	}
	return st
}
