package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
)

// This file is PodDisruptionBudgets, and the controller that keeps their status
// up to date, a little late.

// Budget is what people say in a PodDisruptionBudget.
type Budget struct {
	Namespace, Name string
	// Select are labels that pods of the namespace have.
	Select map[string]string
	// MinAvailable or MaxUnavailable is a number of pods; the other one is nil.
	MinAvailable, MaxUnavailable *int
}

// budget is one as the API server has it.
type budget struct {
	id       podName
	selector labels.Selector
	said     Budget
	// synced: the controller has synced at this version of it.
	synced  bool
	planned bool // the controller is to look at it
	allowed int
	detail  string
	// healthy are the pods that the controller found so, and disrupted those since
	// evicted whose end it has not seen.
	healthy   map[types.UID]bool
	disrupted map[types.UID]time.Time
}

// disruptedFor is how long an eviction counts whose effect is not observed.
const disruptedFor = 2 * time.Minute

func (b *Budget) check() error {
	if (b.MinAvailable == nil) == (b.MaxUnavailable == nil) || len(b.Select) == 0 {
		return fmt.Errorf("budget %q: it needs labels to select by, and either a minimum available or a maximum unavailable",
			b.Name)
	}
	return nil
}

// SetBudget adds a budget or changes the one of that name.
func (w *world) SetBudget(said Budget) error {
	if err := said.check(); err != nil {
		return fmt.Errorf("a person sets a budget: %w", err)
	}
	id := podName{said.Namespace, said.Name}
	b, known := w.budgets[id]
	if !known {
		b = &budget{id: id, disrupted: map[types.UID]time.Time{}}
		w.budgets[id] = b
		w.addNamespace(said.Namespace)
	}
	b.said, b.selector, b.synced = said, labels.SelectorFromSet(said.Select), false
	w.log.say("a person sets the budget %s: %s", said.Name, b.wish())
	w.judge.people()
	w.judge.budgets()
	w.tellBudget(b)
	w.wakeBudget(b)
	return nil
}

// DropBudget takes a budget away.
func (w *world) DropBudget(namespace, name string) error {
	id := podName{namespace, name}
	if w.budgets[id] == nil {
		return fmt.Errorf("a person takes a budget away: there is no %q in %s", name, namespace)
	}
	delete(w.budgets, id)
	w.judge.tell(check.Event{What: check.BudgetEnd, Name: namespace + "/" + name})
	w.log.say("a person takes the budget %s away", name)
	w.judge.people()
	w.version++
	w.truth.dropBudget(id)
	w.tell(change{goneBudget: id})
	return nil
}

// wish is what the budget says, for a person.
func (b *budget) wish() string {
	if b.said.MinAvailable != nil {
		return fmt.Sprintf("at least %d pods available", *b.said.MinAvailable)
	}
	return fmt.Sprintf("at most %d pods unavailable", *b.said.MaxUnavailable)
}

// covers reports whether a pod is one that the budget is about.
func (w *world) covers(b *budget, s seat) bool {
	return s.of != "" && s.id.namespace == b.id.namespace &&
		b.selector.Matches(labels.Set(w.catalog.Contents().Labels[s.pod.Labels].Labels))
}

// covering are the budgets about a pod, by name.
func (w *world) covering(s seat) []*budget {
	var out []*budget
	for _, b := range w.sortedBudgets(s.id.namespace) {
		if w.covers(b, s) {
			out = append(out, b)
		}
	}
	return out
}

// budgetObjects are all budgets as the scheduler reads them.
func (w *world) budgetObjects() []*policyv1.PodDisruptionBudget {
	var out []*policyv1.PodDisruptionBudget
	for _, b := range w.sortedBudgets("") {
		object := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.id.namespace, Name: b.id.name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: b.said.Select}},
		}
		if b.synced {
			object.Status.DisruptionsAllowed = int32(b.allowed)
		}
		out = append(out, object)
	}
	return out
}

// sortedBudgets are those of a namespace, or with an empty one all.
func (w *world) sortedBudgets(namespace string) []*budget {
	if len(w.budgets) == 0 {
		return nil
	}
	var out []*budget
	for _, id := range slices.SortedFunc(maps.Keys(w.budgets), comparePods) {
		if namespace == "" || id.namespace == namespace {
			out = append(out, w.budgets[id])
		}
	}
	return out
}

// healthyPods are those that count for a budget now: on a node that is ready,
// started, and not at their end.
func (w *world) healthyPods(b *budget) map[types.UID]bool {
	out := map[types.UID]bool{}
	for _, s := range w.truth.seats {
		if s.node == "" || s.pod.Flags&(model.Terminating|model.Finished) != 0 ||
			w.starting[s.pod.UID] || !w.covers(b, s) {
			continue
		}
		if n := w.truth.object(s.node); n != nil && model.NodeReady(n) {
			out[s.pod.UID] = true
		}
	}
	return out
}

// wanted is how many healthy pods a budget wants of how many there should be. Of pods without a controller the budgets'
// controller cannot tell how many there should be: where it must know, it lets none of them go.
func (w *world) wanted(b *budget) (wanted, expected int) {
	bare := false
	for _, wl := range w.workloads {
		if wl.namespace == b.id.namespace &&
			b.selector.Matches(labels.Set(w.catalog.Contents().Labels[wl.like.Labels].Labels)) {
			expected += wl.want
			bare = bare || wl.facts.Controller == noController && wl.want > 0
		}
	}
	switch {
	case b.said.MinAvailable != nil:
		return *b.said.MinAvailable, expected
	case bare:
		return expected, expected
	}
	return max(0, expected-*b.said.MaxUnavailable), expected
}

// wakeBudgets has the controller look at the budgets of a namespace soon, or
// with an empty one at all.
func (w *world) wakeBudgets(namespace string) {
	for _, b := range w.sortedBudgets(namespace) {
		w.wakeBudget(b)
	}
}

func (w *world) wakeBudget(b *budget) {
	if b.planned {
		return
	}
	b.planned = true
	w.after(controllerLag.draw(w.dice.pods), func() {
		b.planned = false
		if w.budgets[b.id] == b && w.suffers(controllersDown) == nil {
			w.sync(b)
		}
	})
}

// sync is the controller's work on one budget.
func (w *world) sync(b *budget) {
	b.healthy = w.healthyPods(b)
	for uid, at := range b.disrupted {
		if !b.healthy[uid] {
			delete(b.disrupted, uid) // its end is seen
			continue
		}
		until := at.Add(disruptedFor)
		if !w.now.Before(until) {
			delete(b.disrupted, uid)
			continue
		}
		w.at(until, func() { w.wakeBudget(b) })
	}
	wanted, expected := w.wanted(b)
	healthy := len(b.healthy) - len(b.disrupted)
	allowed := max(0, healthy-wanted)
	if expected == 0 {
		allowed = 0
	}
	detail := fmt.Sprintf("%d of %d healthy, %d wanted", healthy, expected, wanted)
	if b.synced && b.allowed == allowed && b.detail == detail {
		return
	}
	b.synced, b.allowed, b.detail = true, allowed, detail
	w.tellBudget(b)
}

// tellBudget writes a budget's status.
func (w *world) tellBudget(b *budget) {
	w.version++
	seen := model.Budget{Namespace: b.id.namespace, Name: b.id.name, Selector: b.selector,
		Allowed: b.allowed, Detail: b.detail}
	if !b.synced {
		seen.Allowed, seen.Detail = 0, "its controller has not seen it yet"
	}
	w.truth.putBudget(seen)
	w.tell(change{budget: &seen})
}

// startPod lets a pod that was bound start; it counts for budgets when it has.
func (w *world) startPod(s seat) {
	wl := w.workloads[s.of]
	started := check.Event{What: check.PodStarted, Pod: string(s.pod.UID)}
	if wl == nil || len(w.covering(s)) == 0 {
		w.judge.tell(started)
		return
	}
	w.starting[s.pod.UID] = true
	w.after(wl.pace.Start.draw(w.dice.pods), func() {
		delete(w.starting, s.pod.UID)
		w.judge.tell(started)
		w.wakeBudgets(s.id.namespace)
	})
}
