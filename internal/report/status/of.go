package status

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

const (
	// maxError is how many characters of an error's message are shown.
	maxError  = 500
	truncated = "<truncated>"
	// maxText is how long the document may be, in bytes. The API server takes
	// 1 MiB of data.
	maxText = 1_000_000
)

// Starting is the document of a process that leads and has had no cycle yet.
func Starting(now time.Time) Document {
	return Document{Time: Stamp(now), AutoscalerStatus: Initializing}
}

// Of describes the cluster after a cycle. A state that the document before had, too, keeps its
// time.
func Of(now time.Time, c model.Cycle, before Document) Document {
	s := c.Snapshot
	d := Document{Time: Stamp(now), AutoscalerStatus: Running}
	candidates := map[provider.GroupID]int{}
	for i := range c.Plan.Unneeded {
		candidates[c.Plan.Unneeded[i].Group]++
	}
	was := make(map[string]*NodeGroup, len(before.NodeGroups))
	for i := range before.NodeGroups {
		was[before.NodeGroups[i].Name] = &before.NodeGroups[i]
	}
	// 1. Groups.
	growing, grow := false, map[provider.GroupID]bool{}
	for i := range c.Plan.Grow {
		grow[c.Plan.Grow[i].Group] = true // some calls end before the next cycle sees them
	}
	kept := notRemoved(c.Plan.Repair)
	d.NodeGroups = make([]NodeGroup, 0, len(s.Groups))
	for i := range s.Groups {
		g := &s.Groups[i]
		old := was[string(g.ID)]
		if old == nil {
			old = &NodeGroup{}
		}
		grows := grow[g.ID] || Growing(g)
		least, most := c.Plan.Bounds(g)
		group := groupOf(now, g, bounds{least, most}, grows, candidates[g.ID], old)
		group.NotRemoved = kept[g.ID]
		d.NodeGroups = append(d.NodeGroups, group)
		growing = growing || grows
	}
	// 2. The cluster.
	old := &before.ClusterWide
	health := Healthy
	if v := s.Unhealthy; v != nil {
		health = Unhealthy
		d.Message = string(v.Reason) + ": " + v.Detail + "; nothing is bought or removed"
	}
	if s.InventoryErr != "" && d.Message == "" {
		d.Message = "the cloud could not be read"
		if !s.AsOf.IsZero() {
			d.Message += " since " + s.AsOf.UTC().Format("15:04:05Z")
		}
		d.Message += ": " + cut(s.InventoryErr, maxError)
	}
	up := NoActivity
	if growing {
		up = InProgress
	}
	d.ClusterWide = ClusterWide{
		Health: ClusterHealth{health, CountsOf(s.Counts.Plus(s.Others)),
			times(now, health, old.Health.Status, old.Health.Times)},
		ScaleUp:   ClusterScaleUp{up, times(now, up, old.ScaleUp.Status, old.ScaleUp.Times)},
		ScaleDown: scaleDown(now, len(c.Plan.Unneeded), old.ScaleDown),
	}
	// 3. Pods that get no room.
	d.Pending = pendingOf(c, before.Pending)
	// 4. Nodes on their way out, and those that stay.
	d.Drains, d.Stays = drainsOf(s), staysOf(now, c, before.Stays)
	// 5. Pods that the scheduler refuses although we find that they fit.
	d.Disagreements = disagreementsOf(c)
	// 6. Moves and budgets.
	d.Moves = c.MoveStates()
	d.Moves = d.Moves[:min(mostMoves, len(d.Moves))]
	d.Budgets = s.Book(c.Policy.Budgets).States()
	// 7. Notices.
	d.Notices = noticesOf(slices.Concat(s.Notices, c.Plan.Notices))
	return d
}

// mostMoves is how many moves the document has.
const mostMoves = 50

// mostNotices is how many notices the document has: a thousand groups may share one mistake.
const mostNotices = 50

func noticesOf(all []provider.Notice) Notices {
	out := Notices{Total: len(all)}
	for _, n := range all[:min(mostNotices, len(all))] {
		n.Message = cut(n.Message, maxError)
		out.List = append(out.List, n)
	}
	return out
}

// bounds are the least and most nodes of a group.
type bounds struct{ min, max int }

func groupOf(now time.Time, g *model.Group, b bounds, grows bool, candidates int, old *NodeGroup) NodeGroup {
	health := Healthy
	if g.Unhealthy != nil {
		health = Unhealthy
	}
	up, info := NoActivity, BackoffInfo{}
	if Resting(g, now) {
		up = Backoff
		r := g.Rests.Of(model.RestFailed)
		info = BackoffInfo{cmp.Or(r.Code, string(r.Kind)), cut(withoutCode(r), maxError)}
	}
	if health == Unhealthy {
		up = Unhealthy
	}
	// A scale-up in flight goes on, whether or not another one could begin.
	if grows {
		up = InProgress
	}
	out := NodeGroup{
		Name: string(g.ID),
		Health: GroupHealth{
			Status: health, NodeCounts: CountsOf(g.Counts), CloudProviderTarget: g.Expected,
			MinSize: b.min, MaxSize: b.max,
			Times: times(now, health, old.Health.Status, old.Health.Times),
		},
		ScaleUp:   GroupScaleUp{up, info, times(now, up, old.ScaleUp.Status, old.ScaleUp.Times)},
		ScaleDown: scaleDown(now, candidates, old.ScaleDown),
		Holds:     holdsOf(g, now),
	}
	if v := g.Unhealthy; v != nil {
		out.Unhealthy = cut(fmt.Sprintf("%s (%s); would change with: %s", v.Reason, v.Detail, v.Fix), maxError)
	}
	if g.Missing > 0 {
		out.Missing = Missing{g.Missing, metav1.NewTime(g.MissingSince.UTC())}
	}
	return out
}

// withoutCode is what a failure says beyond its kind and code, which the document has
// in a field of their own.
func withoutCode(b model.Rest) string {
	for _, code := range []string{fmt.Sprintf("%s (%s)", b.Kind, b.Code), string(b.Kind), b.Code} {
		if code == "" {
			continue
		}
		if b.Message == code {
			return ""
		}
		if rest, ok := strings.CutPrefix(b.Message, code+": "); ok {
			return rest
		}
	}
	return b.Message
}

// mostNotRemoved is how many machines of one group the document lists; the others
// have the same reasons as a rule.
const mostNotRemoved = 20

// notRemoved are the verdicts on machines that are given up and stay, by group. A call under way
// does not count: it ends within seconds.
func notRemoved(verdicts []model.RepairVerdict) map[provider.GroupID][]NotRemoved {
	out := map[provider.GroupID][]NotRemoved{}
	for i := range verdicts {
		v := &verdicts[i]
		if v.Reason == model.GroupBusy || v.Reason == model.Resizing || v.Reason == model.CreationRetried ||
			len(out[v.Group]) == mostNotRemoved {
			continue
		}
		n := NotRemoved{Instance: string(v.Instance), Count: v.Count, Reason: string(v.Reason),
			Detail: cut(v.Detail, maxError), Fix: v.Fix}
		if !v.Since.IsZero() {
			n.Since = &metav1.Time{Time: v.Since.UTC()}
		}
		out[v.Group] = append(out[v.Group], n)
	}
	return out
}

// holdsOf are the group's holds, those of several operations together.
func holdsOf(g *model.Group, now time.Time) []string {
	var out []string
	if g.Err != nil {
		out = append(out, cut("unreadable, and left as it is: "+g.Err.Error(), maxError))
	}
	if v := g.Paused(); v != nil {
		until := ""
		if !v.Until.IsZero() {
			until = ", until " + v.Until.UTC().Format(time.RFC3339)
		}
		out = append(out, cut(fmt.Sprintf("%s: %s%s", v.Reason, v.Detail, until), maxError))
	}
	read := len(out)
	ops := map[string][]string{}
	for _, h := range g.Holds {
		if !h.Until.IsZero() && !h.Until.After(now) {
			continue
		}
		what := h.Reason
		if h.Message != "" {
			what += ": " + h.Message
		}
		if ops[what] == nil {
			out = append(out, what)
		}
		ops[what] = append(ops[what], string(h.Op))
	}
	for i, what := range out[read:] {
		out[read+i] = cut(fmt.Sprintf("no %s: %s", strings.Join(ops[what], ", "), what), maxError)
	}
	return out
}

// Growing reports whether a scale-up of the group is in flight: a call, or units that are not ready
// yet.
func Growing(g *model.Group) bool {
	if g.Busy != nil && g.Busy.Verb == model.Grow && g.Busy.Group == g.ID {
		return true
	}
	return slices.ContainsFunc(g.Asks, func(a model.Ask) bool { return Progress(a).Waiting() > 0 })
}

// Resting reports whether the group does not grow because growth failed there.
func Resting(g *model.Group, now time.Time) bool { return g.Rests.Of(model.RestFailed).Stands(now) }

// Tally counts the units of an ask by state; each counts once.
type Tally struct{ Asked, Exist, Registered, Ready, GivenUp int }

// Waiting is how many units are still in flight.
func (t Tally) Waiting() int { return t.Asked + t.Exist + t.Registered }

// Progress counts the units of an ask by state.
func Progress(a model.Ask) Tally {
	var t Tally
	for i := range a.Units {
		switch a.Units[i].State {
		case model.UnitAsked:
			t.Asked++
		case model.UnitMade:
			t.Exist++
		case model.UnitRegistered:
			t.Registered++
		case model.UnitReady:
			t.Ready++
		case model.UnitGivenUp, model.UnitKept:
			t.GivenUp++
		}
	}
	return t
}

// CountsOf puts the registry's states into the document's. A node that never
// started is unready there; one that still has time has not started.
func CountsOf(c model.Counts) NodeCounts {
	return NodeCounts{
		Registered: Registered{
			Total: c.Total, Ready: c.Ready, NotStarted: c.Young, Suspended: c.Suspended, BeingDeleted: c.BeingDeleted,
			Unready: Unready{Total: c.Unready + c.NeverStarted, ResourceUnready: c.ResourceUnready},
		},
		LongUnregistered: c.LongUnregistered, Unregistered: c.Unregistered,
	}
}

func scaleDown(now time.Time, candidates int, old ScaleDown) ScaleDown {
	state := NoCandidates
	if candidates > 0 {
		state = CandidatesPresent
	}
	return ScaleDown{state, candidates, times(now, state, old.Status, old.Times)}
}

// times keep the transition of a state that holds. One that lies ahead is of a clock that was wrong, and is not kept.
func times(now time.Time, is, was State, before Times) Times {
	t := Times{metav1.NewTime(now.UTC()), metav1.NewTime(now.UTC())}
	if is == was && !before.LastTransitionTime.IsZero() && !before.LastTransitionTime.After(now) {
		t.LastTransitionTime = before.LastTransitionTime
	}
	return t
}

// cut shortens a message to n characters.
func cut(message string, most int) string {
	if utf8.RuneCountInString(message) <= most {
		return message
	}
	return string([]rune(message)[:most]) + truncated
}

// WithoutTimes is the document without its times, and without the nodes that stay: among many, some
// reason always changes, which alone is no cause to write the document.
func (d Document) WithoutTimes() Document {
	d.Time = ""
	never := metav1.Time{}
	d.ClusterWide.Health.LastProbeTime, d.ClusterWide.ScaleUp.LastProbeTime,
		d.ClusterWide.ScaleDown.LastProbeTime = never, never, never
	d.Stays = Stays{}
	d.Pending.List = slices.Clone(d.Pending.List)
	for i := range d.Pending.List {
		d.Pending.List[i].Detail = "" // it may have an age
	}
	d.NodeGroups = slices.Clone(d.NodeGroups)
	for i := range d.NodeGroups {
		g := &d.NodeGroups[i]
		g.Health.LastProbeTime, g.ScaleUp.LastProbeTime, g.ScaleDown.LastProbeTime = never, never, never
	}
	return d
}

// Text is the document as YAML. If it is too long for one ConfigMap, the lists of nodes go first,
// and their counts stay. Of too many groups, those with problems or activity are kept, and the
// message says how many are left out.
func (d Document) Text() (string, error) {
	text, err := yaml.Marshal(d)
	if err == nil && len(text) > maxText {
		d.Drains.Nodes, d.Stays.Nodes, d.Moves = nil, nil, nil
		text, err = yaml.Marshal(d)
	}
	if err != nil || len(text) <= maxText {
		return string(text), err
	}
	all := ByConcern(d.NodeGroups)
	message := d.Message
	for keep := len(all) * maxText / len(text); keep >= 0; keep -= 1 + keep/20 {
		d.NodeGroups = slices.SortedFunc(slices.Values(all[:keep]), func(a, b NodeGroup) int {
			return cmp.Compare(a.Name, b.Name)
		})
		d.Message = message
		if d.Message != "" {
			d.Message += "; "
		}
		d.Message += strconv.Itoa(len(all)-keep) + " groups do not fit in here"
		if text, err = yaml.Marshal(d); err != nil || len(text) <= maxText {
			break
		}
	}
	return string(text), err
}

// ByConcern are the groups, those with problems or activity first; equals keep their order.
func ByConcern(groups []NodeGroup) []NodeGroup {
	all := slices.Clone(groups)
	slices.SortStableFunc(all, func(a, b NodeGroup) int { return cmp.Compare(calm(a), calm(b)) })
	return all
}

// calm ranks groups: the lower, the more problems or activity.
func calm(g NodeGroup) int {
	switch {
	case g.Health.Status == Unhealthy || len(g.Holds) > 0 || len(g.NotRemoved) > 0:
		return 0
	case g.ScaleUp.Status == Backoff:
		return 1
	case g.ScaleUp.Status == InProgress:
		return 2
	case g.ScaleDown.Candidates > 0:
		return 3
	}
	return 4
}
