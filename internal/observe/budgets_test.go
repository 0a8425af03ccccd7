package observe

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// testBudget is about the pods of an app, of which 2 of 3 are healthy.
func testBudget(
	namespace, name string, allowed int32, change ...func(*policyv1.PodDisruptionBudget),
) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 2},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: 2, DisruptionsAllowed: allowed, CurrentHealthy: 2, ExpectedPods: 3, DesiredHealthy: 2,
		},
	}
	for _, c := range change {
		c(b)
	}
	return b
}

func selecting(s *metav1.LabelSelector) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = s }
}

func healthy(n int32) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = n }
}

func TestCutBudget(t *testing.T) {
	const numbers = "2 of 3 healthy, 2 wanted"
	web, db := labels.Set{"app": "web"}, labels.Set{"app": "db"}
	for _, c := range []struct {
		name      string
		budget    *policyv1.PodDisruptionBudget
		allowed   int
		says      string // beside the numbers
		web, none bool   // it covers pods of web, and pods without labels
	}{
		{"plain", testBudget("ns", "web", 1), 1, "", true, false},
		{"closed", testBudget("ns", "web", 0), 0, "", true, false},
		{"below nothing", testBudget("ns", "web", -1), 0, "", true, false},
		{"of another app", testBudget("ns", "other", 1), 1, "", false, false},
		{"not looked at", testBudget("ns", "web", 1, func(b *policyv1.PodDisruptionBudget) { b.Generation = 3 }), 0,
			"its controller has not processed", true, false},
		{"all pods", testBudget("ns", "web", 1, selecting(&metav1.LabelSelector{})), 1, "", true, true},
		{"no pods", testBudget("ns", "web", 1, selecting(nil)), 1, "", false, false},
		{"unreadable", testBudget("ns", "web", 1, selecting(&metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles", Values: []string{"x"}}},
		})), 0, "its selector cannot be parsed", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := cutBudget(c.budget).budget
			if b.Namespace != "ns" || b.Name != c.budget.Name || b.Allowed != c.allowed {
				t.Errorf("%s/%s allows %d, want %d", b.Namespace, b.Name, b.Allowed, c.allowed)
			}
			if rest, ok := strings.CutPrefix(b.Detail, numbers); !ok || !strings.Contains(rest, c.says) ||
				(c.says == "") != (rest == "") {
				t.Errorf("it says %q", b.Detail)
			}
			if b.Selector.Matches(web) != c.web || b.Selector.Matches(labels.Set{}) != c.none ||
				b.Selector.Matches(db) != c.none {
				t.Errorf("it covers what %q selects", b.Selector)
			}
		})
	}
}

func TestWhatBudgetsMoveAndSignal(t *testing.T) {
	generation, signals := 0, 0
	b := newBudgets(func() { generation++ }, func() { signals++ })
	put := func(pdb *policyv1.PodDisruptionBudget) func() { return func() { b.put(cutBudget(pdb)) } }
	for _, c := range []struct {
		name             string
		moves, signals   bool
		do               func()
		names, lastSays  string
		lastAllowed, len int
	}{
		{"one comes", true, true, put(testBudget("ns", "web", 0)), "ns/web", "2 of 3 healthy, 2 wanted", 0, 1},
		{"it says the same again", false, false, put(testBudget("ns", "web", 0)), "ns/web", "2 of 3 healthy, 2 wanted", 0, 1},
		{"a pod turns healthy", true, false, put(testBudget("ns", "web", 0, healthy(3))), "ns/web",
			"3 of 3 healthy, 2 wanted", 0, 1},
		{"it opens", true, true, put(testBudget("ns", "web", 1, healthy(3))), "ns/web", "3 of 3 healthy, 2 wanted", 1, 1},
		{"it covers others", true, true, put(testBudget("ns", "web", 1, healthy(3), selecting(&metav1.LabelSelector{}))),
			"ns/web", "3 of 3 healthy, 2 wanted", 1, 1},
		{"another comes", true, true, put(testBudget("a", "zoo", 1)), "a/zoo ns/web", "3 of 3 healthy, 2 wanted", 1, 2},
		{"and another", true, true, put(testBudget("ns", "db", 1)), "a/zoo ns/db ns/web", "3 of 3 healthy, 2 wanted", 1, 3},
		{"one goes", true, true, func() { b.drop(cutBudget(testBudget("ns", "db", 0)).name) }, "a/zoo ns/web",
			"3 of 3 healthy, 2 wanted", 1, 2},
		{"one that is not known goes", false, false, func() { b.drop(cutBudget(testBudget("x", "y", 0)).name) },
			"a/zoo ns/web", "3 of 3 healthy, 2 wanted", 1, 2},
		{"all are read again", true, true, func() {
			b.replace([]*budgetRow{cutBudget(testBudget("ns", "web", 2)), cutBudget(testBudget("ns", "new", 0))})
		}, "ns/new ns/web", "2 of 3 healthy, 2 wanted", 2, 2},
		{"and are the same", false, false, func() {
			b.replace([]*budgetRow{cutBudget(testBudget("ns", "new", 0)), cutBudget(testBudget("ns", "web", 2))})
		}, "ns/new ns/web", "2 of 3 healthy, 2 wanted", 2, 2},
	} {
		before := b.sorted()
		text := namesOf(before)
		g, s := generation, signals
		c.do()
		if moved, signalled := generation != g, signals != s; moved != c.moves || signalled != c.signals {
			t.Errorf("%s: generation moved %v, want %v; signalled %v, want %v", c.name, moved, c.moves, signalled, c.signals)
		}
		now := b.sorted()
		if got := namesOf(now); got != c.names || len(now) != c.len {
			t.Errorf("%s: there are %s, want %s", c.name, got, c.names)
		}
		if last := now[len(now)-1]; last.Detail != c.lastSays || last.Allowed != c.lastAllowed {
			t.Errorf("%s: the last is %+v", c.name, last)
		}
		if namesOf(before) != text {
			t.Errorf("%s: what was given out changed", c.name)
		}
	}
}

func namesOf(budgets []model.Budget) string {
	var names []string
	for _, b := range budgets {
		names = append(names, b.Namespace+"/"+b.Name)
	}
	return strings.Join(names, " ")
}

// A budget that opens is seen, and wakes the loop; numbers that change nothing
// are seen by who looks.
func TestBudgetsAreWatched(t *testing.T) {
	cloud := &sky{read: says(group("g", 1))}
	objects := []runtime.Object{testBudget("ns", "web", 0), testBudget("a", "db", 1)}
	world(t, cloud, objects, func(t *testing.T, client *fake.Clientset, o *Observer) {
		seen := mustSync(t, o)
		signalled(o)
		if got := namesOf(seen.Budgets); got != "a/db ns/web" || seen.Budgets[1].Allowed != 0 {
			t.Fatalf("budgets %+v", seen.Budgets)
		}
		budgets := client.PolicyV1().PodDisruptionBudgets("ns")
		update := func(b *policyv1.PodDisruptionBudget) model.Observation {
			t.Helper()
			if _, err := budgets.Update(t.Context(), b, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return mustObserve(t, o)
		}
		again := update(testBudget("ns", "web", 0, healthy(3)))
		if signalled(o) || again.Generation == seen.Generation || again.Budgets[1].Detail == seen.Budgets[1].Detail {
			t.Errorf("generation %d, then %d; %+v", seen.Generation, again.Generation, again.Budgets[1])
		}
		again = update(testBudget("ns", "web", 1, healthy(3)))
		if !signalled(o) || again.Budgets[1].Allowed != 1 || seen.Budgets[1].Allowed != 0 {
			t.Errorf("budgets %+v", again.Budgets)
		}
		if err := budgets.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := namesOf(mustObserve(t, o).Budgets); !signalled(o) || got != "a/db" {
			t.Errorf("budgets %s", got)
		}
	})
}

// Without the right to read budgets there is no observation: nothing would keep
// pods from being evicted but the API server.
func TestBudgetsMustBeReadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("list", "poddisruptionbudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}, "",
				errors.New("not allowed"))
		})
		o := start(t, client, &sky{read: says()})
		err := o.WaitForSync(t.Context())
		if err == nil || !strings.Contains(err.Error(), "cannot list poddisruptionbudgets") ||
			!strings.Contains(err.Error(), "grant get, list and watch on poddisruptionbudgets") {
			t.Fatalf("error %v", err)
		}
		if _, err := o.Observe(t.Context(), time.Now()); err == nil ||
			!strings.Contains(err.Error(), "poddisruptionbudgets") {
			t.Errorf("observed with error %v", err)
		}
	})
}
