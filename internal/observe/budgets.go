package observe

import (
	"fmt"
	"maps"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// budgetRow is what is kept of a PodDisruptionBudget.
type budgetRow struct {
	name   cache.ObjectName
	budget model.Budget
	// selects is the selector as text: selectors themselves cannot be compared.
	selects string
}

// GetObjectMeta lets client-go find the key of a row.
func (r *budgetRow) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: r.name.Namespace, Name: r.name.Name}
}

// cutBudget makes the row of a budget. A budget whose status is unreliable allows nothing: we err
// to not evicting.
func cutBudget(pdb *policyv1.PodDisruptionBudget) *budgetRow {
	st := &pdb.Status
	b := model.Budget{
		Namespace: pdb.Namespace, Name: pdb.Name,
		Allowed: max(0, int(st.DisruptionsAllowed)),
		Detail:  fmt.Sprintf("%d of %d healthy, %d wanted", st.CurrentHealthy, st.ExpectedPods, st.DesiredHealthy),
	}
	if st.ObservedGeneration < pdb.Generation {
		b.Allowed = 0
		b.Detail += "; its controller has not processed its newest version yet"
	}
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	if err != nil {
		selector, b.Allowed = labels.Everything(), 0
		b.Detail += fmt.Sprintf("; its selector cannot be parsed, so it is taken to select all pods of the namespace: %v",
			err)
	}
	b.Selector = selector
	return &budgetRow{
		name: cache.ObjectName{Namespace: pdb.Namespace, Name: pdb.Name}, budget: b, selects: selector.String(),
	}
}

// same reports whether two rows are equal, and sameRoom whether they allow the same pods the same
// disruptions.
func (r *budgetRow) same(o *budgetRow) bool {
	return r.sameRoom(o) && r.budget.Detail == o.budget.Detail
}

func (r *budgetRow) sameRoom(o *budgetRow) bool {
	return r.budget.Allowed == o.budget.Allowed && r.selects == o.selects
}

// budgets are the PodDisruptionBudgets. Their caller holds the observer's lock
// around every method.
type budgets struct {
	rows map[cache.ObjectName]*budgetRow
	bump func()
	// news is called when other pods, or another number of them, may be disrupted:
	// a drain may wait for that.
	news   func()
	frozen []model.Budget
	stale  bool
}

func newBudgets(bump, news func()) *budgets {
	return &budgets{rows: map[cache.ObjectName]*budgetRow{}, bump: bump, news: news}
}

func (b *budgets) put(r *budgetRow) {
	old := b.rows[r.name]
	if old != nil && old.same(r) {
		return
	}
	b.rows[r.name] = r
	b.touch()
	if old == nil || !old.sameRoom(r) {
		b.news()
	}
}

func (b *budgets) drop(name cache.ObjectName) {
	if b.rows[name] == nil {
		return
	}
	delete(b.rows, name)
	b.touch()
	b.news()
}

func (b *budgets) replace(rows []*budgetRow) {
	keep := make(map[cache.ObjectName]bool, len(rows))
	for _, r := range rows {
		keep[r.name] = true
	}
	for _, name := range slices.Collect(maps.Keys(b.rows)) {
		if !keep[name] {
			b.drop(name)
		}
	}
	for _, r := range rows {
		b.put(r)
	}
}

func (b *budgets) touch() {
	b.stale = true
	b.bump()
}

// sorted is the frozen list, by namespace and name.
func (b *budgets) sorted() []model.Budget {
	if !b.stale {
		return b.frozen
	}
	b.stale = false
	b.frozen = make([]model.Budget, 0, len(b.rows))
	for _, name := range slices.SortedFunc(maps.Keys(b.rows), compareNames) {
		b.frozen = append(b.frozen, b.rows[name].budget)
	}
	return b.frozen
}

func (o *Observer) budgetStore() cache.ReflectorStore {
	return intake[*policyv1.PodDisruptionBudget, *budgetRow]{
		cut:     cutBudget,
		put:     func(r *budgetRow) { o.locked(func() { o.budgets.put(r) }) },
		drop:    func(name cache.ObjectName) { o.locked(func() { o.budgets.drop(name) }) },
		replace: func(rows []*budgetRow) { o.locked(func() { o.budgets.replace(rows) }) },
	}
}
