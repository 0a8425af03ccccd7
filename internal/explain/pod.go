package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Pod says why a pod has no node and what would change that, or where it runs and what would move it.
type Pod struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Time       time.Time `json:"time"`
	Pod        string    `json:"pod"` // namespace/name
	State      PodState  `json:"state"`
	// Since is when the pod was made, if that is known.
	Since    time.Time `json:"since,omitzero"`
	Requests string    `json:"requests,omitempty"`
	// Workload is what made it, and Equal how many pods without a node are equal in all that counts, itself
	// included.
	Workload string `json:"workload,omitempty"`
	Equal    int    `json:"equal,omitempty"`
	// Workloads are what made the equal pods, where that is more than one workload: a fix is for all of them.
	Workloads []string `json:"workloads,omitempty"`

	Pending *PendingPod `json:"pending,omitempty"`
	Running *RunningPod `json:"running,omitempty"`
	// Why says of any other pod why no room is looked for: a scheduling gate, a DaemonSet, its end.
	Why string `json:"why,omitempty"`
}

// PodState is where a pod is.
type PodState string

// The states of a pod.
const (
	PodPending  PodState = "Pending"
	PodGated    PodState = "Gated"
	PodRunning  PodState = "Running"
	PodEnding   PodState = "Ending"
	PodFinished PodState = "Finished"
)

// Outlook is what becomes of the pods of a class that have no node.
type Outlook string

// The outlooks.
const (
	// Blocked: no room is found for some of them.
	Blocked Outlook = "BLOCKED"
	// Waits: they are not looked at now, or the scheduler leaves them waiting.
	Waits Outlook = "WAITS"
	// Served: all have room, on nodes that are ready, that are on their way, or that are bought.
	Served Outlook = "SERVED"
)

// PendingPod is a pod without a node, and those equal to it: they are interchangeable.
type PendingPod struct {
	Outlook Outlook `json:"outlook"`
	// Verdict is the nearest to a yes, and what is behind the fix if there is one.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Fix is the nearest change with which all of them get a node; nil if none was found.
	Fix *Fix `json:"fix,omitempty"`
	// Larger is what a new group must have where the pods are too large for the nodes of all groups.
	Larger *Fix `json:"larger,omitempty"`
	// FitNow fit nodes that are ready, FitSoon nodes on their way, and FitBought those that are bought.
	// Left find no room. Delayed wish to wait.
	FitNow    int           `json:"fitNow,omitempty"`
	FitSoon   int           `json:"fitSoon,omitempty"`
	FitBought int           `json:"fitBought,omitempty"`
	Left      int           `json:"left,omitempty"`
	Delayed   int           `json:"delayed,omitempty"`
	Groups    []GroupAnswer `json:"groups,omitempty"`
	Existing  Existing      `json:"existing"`
	// Unsearched: the search for fixes ended before all was tried.
	Unsearched bool `json:"unsearched,omitempty"`
}

// GroupAnswer is how a group stands to the pods.
type GroupAnswer struct {
	Group provider.GroupID `json:"group"`
	// Fits: a new node of the group would take such a pod; something else holds the group. Unknown: what a new node is
	// like is not known, and so neither whether it would.
	Fits    bool `json:"fits"`
	Unknown bool `json:"unknown,omitempty"`
	Verdict `json:",inline"`
	// WorksIf is the nearest fix that begins with this group; nil if none was found.
	WorksIf *Fix `json:"worksIf,omitempty"`
	// Instead is what can be said where no fix was found: that no setting helps and what is waited for, or what has not
	// been tried.
	Instead string `json:"instead,omitempty"`
}

// Existing counts the nodes that are there, by what they say to one more such pod.
type Existing struct {
	Nodes   int              `json:"nodes"`
	Reasons []ExistingReason `json:"reasons,omitempty"`
}

// ExistingReason are the nodes with one answer. Closest is the one of them that lacks the least.
type ExistingReason struct {
	Reason  model.Reason `json:"reason"`
	Nodes   int          `json:"nodes"`
	Closest string       `json:"closest,omitempty"`
	Detail  string       `json:"detail,omitempty"`
}

// asked is what answers are made of.
type asked struct {
	snap   *model.Snapshot
	plan   *model.Plan
	policy model.Policy
	memory *model.Memory
	world  *schedsim.World
	effort Effort
}

func (a *asked) close() {
	if a.world != nil {
		a.world.Close()
	}
}

// PodOf explains a pod, which is named by namespace/name.
func PodOf(c model.Cycle, p model.Policy, name string) (Pod, error) {
	a := asked{snap: c.Snapshot, plan: &c.Plan, policy: p, memory: &c.Memory, effort: asking}
	namespace, short, ok := strings.Cut(name, "/")
	if !ok {
		return Pod{}, fmt.Errorf("explain pod %s: name it NAMESPACE/NAME", name)
	}
	out := Pod{APIVersion: APIVersion, Kind: "Pod", Time: c.Snapshot.Now.UTC(), Pod: name}
	is := func(p *model.Pod) bool {
		return p.Name == short && a.snap.Contents.Specs[p.Spec].Pod.Namespace == namespace
	}
	for i := range a.snap.Pending {
		q := &a.snap.Pending[i]
		for _, pod := range q.Pods {
			if is(pod) {
				a.describe(&out, pod)
				out.State, out.Equal = PodPending, len(q.Pods)
				if all := a.snap.Contents.Workloads(q.Pods); len(all) > 1 {
					out.Workloads = all
				}
				a.world = schedsim.Load(nil, a.snap)
				defer a.world.Close()
				out.Pending = a.pending(q, a.existing(q.Class))
				return out, nil
			}
		}
	}
	if a.aside(&out, is) {
		return out, nil
	}
	for i := range a.snap.Nodes {
		n := a.snap.Nodes[i]
		for j := range n.Bound {
			if pod := &n.Bound[j]; is(pod) {
				a.describe(&out, pod)
				out.State, out.Running = stateOf(pod), a.running(model.NodeID(i), pod)
				return out, nil
			}
		}
	}
	return Pod{}, &NotFoundError{"pod", name, "none of that name waits or runs, and pods that have " +
		"ended are not read", a.near(namespace, short)}
}

func stateOf(p *model.Pod) PodState {
	switch {
	case p.Flags&model.Finished != 0:
		return PodFinished
	case p.Flags&model.Terminating != 0:
		return PodEnding
	}
	return PodRunning
}

// describe fills in what is the same of each pod.
func (a *asked) describe(out *Pod, p *model.Pod) {
	out.Since = time.Unix(p.Created, 0).UTC() // the zero time where that is not known
	out.Requests = a.snap.Contents.Specs[p.Spec].Requests.String()
	out.Workload = a.snap.Contents.Workload(p)
}

// pending answers for pods of a class that have no node.
func (a *asked) pending(q *model.Pending, existing Existing) *PendingPod {
	out := &PendingPod{Outlook: Served, Existing: existing}
	v := a.verdictOf(q.Class)
	if v == nil { // the cluster is in no shape to be acted on
		out.Outlook, out.Left, out.Verdict = Waits, len(q.Pods), verdictOf(a.snap.Unhealthy)
		return out
	}
	out.FitNow, out.FitSoon, out.FitBought, out.Left, out.Delayed = v.Existing, v.Upcoming, v.Planned, v.Left, v.Delayed
	switch {
	case v.Skipped != nil:
		out.Outlook, out.Verdict, out.Left = Waits, verdictOf(v.Skipped), len(q.Pods)
		if v.Skipped.Since.Equal(v.Since) {
			out.Verdict.Since = time.Time{} // that is the pods' age, for want of a better time
		}
	case v.Left > 0:
		out.Outlook = Blocked
	case v.Disagrees != nil:
		out.Outlook, out.Verdict = Waits, verdictOf(v.Disagrees)
	}
	out.Groups = answersOf(v, a.snap.Now)
	if out.Outlook == Blocked && len(out.Groups) == 0 && a.snap.InventoryErr != "" {
		out.Verdict = &Verdict{Reason: model.StaleInventory, Fix: "node groups that can be read",
			Detail: "the node groups could not be read: " + a.snap.InventoryErr}
	}
	switch {
	case searched(v):
		a.search(q.Class, out)
	case v.Skipped == nil:
		out.Groups = append(out.Groups, a.others(v)...)
	}
	return out
}

// others are the answers of the groups that do not serve a class which has room.
func (a *asked) others(v *model.PendingVerdict) []GroupAnswer {
	a.world.Allow(int(a.effort.Steps))
	defer a.world.AllowAll()
	list := model.PendingVerdict{Since: v.Since}
	for i := range a.snap.Groups {
		id := a.snap.Groups[i].ID
		t, ok := a.world.GroupTemplate(i)
		if !ok || slices.ContainsFunc(v.Groups, func(has model.GroupVerdict) bool { return has.Group == id }) {
			continue
		}
		g := model.GroupVerdict{Group: id, Verdict: a.world.ExplainTemplate(v.Class, t)}
		g.Detail += a.taken(v.Class, i, g.Reason)
		if g.Reason == model.Fits || g.Reason == model.TopologySpread { // other domains had the room
			g.Verdict = model.Verdict{Reason: model.NotChosen, Detail: "the pods have room without it"}
		}
		list.Groups = append(list.Groups, g)
	}
	return answersOf(&list, a.snap.Now)
}

// searched reports whether a fix is looked for: where no room is found, or where pods are too unimportant to be looked
// at.
func searched(v *model.PendingVerdict) bool {
	if v.Skipped != nil {
		return v.Skipped.Reason == model.Expendable
	}
	return v.Left > 0
}

// answersOf are the groups' answers to a class, in the order in which the words of the verdicts are near to a yes.
func answersOf(v *model.PendingVerdict, now time.Time) (out []GroupAnswer) {
	for i := range v.Groups {
		g := &v.Groups[i]
		answer := GroupAnswer{Group: g.Group, Unknown: g.Reason == model.NoTemplate, Verdict: *verdictOf(&g.Verdict)}
		answer.Fits = !answer.Unknown && !g.Reason.RefusesPod()
		if g.Since.Equal(v.Since) || g.Since.Equal(now) {
			answer.Since = time.Time{} // one decision does not know since when it is the same
		}
		answer.Instead = instead(&answer.Verdict, now, false)
		out = append(out, answer)
	}
	slices.SortStableFunc(out, func(a, b GroupAnswer) int {
		return cmp.Compare(a.Reason.Distance(), b.Reason.Distance())
	})
	return out
}

// FixOf is the nearest fix for the pods of a class that get no room, and the group that it begins with, which is
// empty where it is about the pods alone, or about nodes that are there. It is nil where there is none. all: that
// effort was enough to try all that there is; else one that is nearer may not have been tried.
func FixOf(
	c model.Cycle, p model.Policy, class model.ClassID, most Effort,
) (group provider.GroupID, fix *Fix, all bool) {
	a := asked{snap: c.Snapshot, plan: &c.Plan, policy: p, memory: &c.Memory, effort: most}
	a.world = schedsim.Load(nil, a.snap)
	defer a.world.Close()
	i := slices.IndexFunc(a.snap.Pending, func(q model.Pending) bool { return q.Class == class })
	if i < 0 {
		return "", nil, false
	}
	out := a.pending(&a.snap.Pending[i], Existing{})
	if out.Fix != nil && len(out.Groups) > 0 && out.Groups[0].WorksIf == out.Fix {
		group = out.Groups[0].Group
	}
	return group, out.Fix, !out.Unsearched
}

// search looks for what would let the pods in, group by group, the nearest first by the words of the verdicts. Then the
// groups stand in the order of what was found. It says what that took.
func (a *asked) search(class model.ClassID, out *PendingPod) Effort {
	r := newRelaxer(a, class)
	defer r.close()
	before := a.world.Work().Steps
	if a.verdictOf(class).Skipped != nil {
		out.Fix = r.counting()
	} else {
		for i := range out.Groups {
			g := &out.Groups[i]
			g.WorksIf = r.fix(groupAt(a.snap, g.Group), model.Verdict{Reason: g.Reason, Detail: g.Detail, Until: g.Until,
				Fix: g.Fix})
			g.Detail += a.taken(class, groupAt(a.snap, g.Group), g.Reason)
			if g.Instead = ""; g.WorksIf == nil {
				g.Instead = instead(&g.Verdict, a.snap.Now, true)
			}
		}
		slices.SortStableFunc(out.Groups, nearer)
		if len(out.Groups) > 0 {
			out.Fix, out.Verdict = out.Groups[0].WorksIf, &out.Groups[0].Verdict
			out.Larger = r.largerNodes(out)
		}
		if len(out.Groups) > 0 && (out.Fix == nil || out.Fix.rank >= rankSize) && !r.exhausted() {
			if out.Existing.Nodes == 0 {
				out.Existing = a.existing(class)
			}
			if f := r.onNodes(out.Existing); f != nil && (out.Fix == nil || easier(f, out.Fix) < 0) {
				out.Fix = f
			}
		}
	}
	out.Unsearched = r.exhausted()
	return Effort{r.tries, r.decider.Steps() + int64(a.world.Work().Steps-before)}
}

// taken says of a group whose new node has too little for a pod what DaemonSets and static pods take there
// first.
func (a *asked) taken(class model.ClassID, group int, reason model.Reason) string {
	t, ok := a.world.GroupTemplate(group)
	if !ok || reason != model.InsufficientResources {
		return ""
	}
	left := a.world.Allocatable(t)
	all := model.ResourcesOf(templateOf(a.snap, group).Status.Allocatable)
	var parts []string
	for _, of := range oneByOne(a.snap.Classes[class].Spec.Requests) {
		want, has, gone := of(a.snap.Classes[class].Spec.Requests), of(all), of(all.Plus(left, -1))
		if positive(want.Plus(of(left), -1)) && positive(gone) {
			_, amount, _ := strings.Cut(gone.String(), " ")
			words := [2]string{" allocatable", " DaemonSets"}
			if len(parts) > 0 {
				words = [2]string{} // they are said once
			}
			parts = append(parts, fmt.Sprintf("%s%s − %s%s", has, words[0], amount, words[1]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(parts, ", "))
}

// positive reports whether there is some of an amount.
func positive(r model.Resources) bool {
	return r.MilliCPU > 0 || r.Memory > 0 || r.Ephemeral > 0 || slices.ContainsFunc(r.Extended, func(x model.Amount) bool {
		return x.Value > 0
	})
}

// oneByOne takes one kind of amount after the other out of resources: those that some requests have.
func oneByOne(r model.Resources) []func(model.Resources) model.Resources {
	out := []func(model.Resources) model.Resources{
		func(r model.Resources) model.Resources { return model.Resources{MilliCPU: r.MilliCPU} },
		func(r model.Resources) model.Resources { return model.Resources{Memory: r.Memory} },
		func(r model.Resources) model.Resources { return model.Resources{Ephemeral: r.Ephemeral} },
	}
	for _, x := range r.Extended {
		out = append(out, func(r model.Resources) model.Resources {
			return model.Resources{Extended: []model.Amount{{Name: x.Name, Value: r.Value(x.Name)}}}
		})
	}
	return out
}

// nearer orders groups' answers: those with a fix that works before all others, the nearest of them first.
func nearer(a, b GroupAnswer) int {
	switch {
	case a.WorksIf != nil && b.WorksIf != nil:
		return closer(a.WorksIf, b.WorksIf)
	case a.WorksIf != nil:
		return -1
	case b.WorksIf != nil:
		return 1
	}
	return 0
}

// verdictOf is what the plan says of a class that waits; nil where nothing was decided.
func (a *asked) verdictOf(class model.ClassID) *model.PendingVerdict {
	i, ok := slices.BinarySearchFunc(a.plan.Pending, class, func(v model.PendingVerdict, c model.ClassID) int {
		return cmp.Compare(v.Class, c)
	})
	if !ok {
		return nil
	}
	return &a.plan.Pending[i]
}

// existing asks the nodes that are there.
func (a *asked) existing(class model.ClassID) Existing {
	at := map[model.Reason]int{}
	least := map[model.Reason]float64{}
	closest := map[model.Reason]model.NodeID{}
	out := Existing{}
	a.world.Allow(int(a.effort.Steps))
	defer a.world.AllowAll()
	for i := range a.snap.Registered() {
		n, id := a.snap.Nodes[i], model.NodeID(i)
		out.Nodes++
		reason := model.Fits
		switch {
		case n.Kind == model.Leaving:
			reason = model.CurrentlyBeingDeleted
		case n.Kind == model.Unready || n.Kind == model.Booting:
			reason = model.NotReady
		case n.Object.Spec.Unschedulable && !n.Standing.Drain.IsDraft():
			reason = model.NodeUnschedulable
		case a.world.Exhausted():
			reason = model.StepBudget
		default:
			reason = a.world.Fits(class, id)
		}
		j, ok := at[reason]
		if !ok {
			j = len(out.Reasons)
			at[reason], closest[reason], least[reason] = j, id, a.lacks(class, id, reason)
			out.Reasons = append(out.Reasons, ExistingReason{Reason: reason})
		} else if lacks := a.lacks(class, id, reason); lacks < least[reason] {
			closest[reason], least[reason] = id, lacks
		}
		out.Reasons[j].Nodes++
	}
	for j := range out.Reasons {
		x := &out.Reasons[j]
		if !x.Reason.RefusesPod() || x.Reason == model.NodeUnschedulable || x.Reason == model.CurrentlyBeingDeleted {
			continue
		}
		id := closest[x.Reason]
		x.Closest = a.snap.Nodes[id].Name
		x.Detail = a.world.Explain(class, id).Detail
		if x.Reason == model.InsufficientResources {
			x.Detail = "lacks " + amounts(a.world.Short(class, id))
		}
	}
	slices.SortFunc(out.Reasons, func(a, b ExistingReason) int {
		return cmp.Or(-cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// amounts are what is lacked, in words.
func amounts(r model.Resources) string {
	text := r.String()
	if r.Pods > 0 {
		text = strings.TrimPrefix(text+", room for one more pod", ", ")
	}
	return text
}

// lacks is how far a node is from taking a pod: the sum of the shares of its requests that are lacking, and
// zero where it is not a matter of amounts.
func (a *asked) lacks(class model.ClassID, id model.NodeID, reason model.Reason) float64 {
	if reason != model.InsufficientResources {
		return 0
	}
	want, short := a.snap.Classes[class].Spec.Requests, a.world.Short(class, id)
	sum := float64(short.Pods)
	share := func(short, want int64) { sum += float64(short) / float64(max(1, want)) }
	share(short.MilliCPU, want.MilliCPU)
	share(short.Memory, want.Memory)
	share(short.Ephemeral, want.Ephemeral)
	for _, x := range short.Extended {
		share(x.Value, want.Value(x.Name))
	}
	return sum
}
