package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
)

// row is one fact changed in the plain scene, or in the row's own, and what the
// rules say of it.
type row struct {
	name   string
	change func(*scene)
	kind   rules.Kind
	rule   string
	reason model.Reason
	detail string // all of it
	until  time.Time
}

func at(base, change func(*scene)) func(*scene) {
	return func(s *scene) { base(s); change(s) }
}

func few(s *scene) {
	s.policy.ScaleDown.Drain.MinReplicas = 3
	s.others = []model.Flags{0}
}

func dns(s *scene) { s.namespace, s.pod.Name = "kube-system", "dns-1" }

func flag(f model.Flags) func(*scene) { return func(s *scene) { s.pod.Flags |= f } }

func safe(word model.SafeToEvict) func(*scene) { return func(s *scene) { s.facts.Safe = word } }

func alone(d time.Duration) func(*scene) { return func(s *scene) { s.facts.Alone = d } }

func controller(kind, group string) func(*scene) {
	return func(s *scene) { s.facts.Controller, s.facts.Group = kind, group }
}

func ends(after time.Duration) func(*scene) {
	return func(s *scene) { s.pod.Flags |= model.Terminating; s.pod.Ends = now.Add(after).Unix() }
}

func nothing(*scene) {}

var table = []row{
	{name: "plain", change: nothing, kind: rules.Moves},
	{name: "refused once, gated once", change: flag(model.Refused | model.Gated), kind: rules.Moves},

	{name: "static pod", change: flag(model.Mirror), kind: rules.Stays, rule: "Mirror"},
	{name: "finished", change: flag(model.Finished), kind: rules.Stays, rule: "Finished"},
	{name: "of a DaemonSet", change: flag(model.FromDaemonSet), kind: rules.Stays, rule: "DaemonSet"},

	{name: "left alone", change: alone(model.Always), kind: rules.Blocks,
		rule: "DoNotDisrupt", reason: model.NotSafeToEvict,
		detail: "web/shop-1: it is annotated karpenter.sh/do-not-disrupt=true"},
	{name: "left alone, of a DaemonSet", change: at(alone(model.Always), flag(model.FromDaemonSet)), kind: rules.Blocks,
		rule: "DoNotDisrupt", reason: model.NotSafeToEvict,
		detail: "web/shop-1: it is annotated karpenter.sh/do-not-disrupt=true"},
	{name: "left alone, and safe to evict", change: at(alone(model.Always), safe(model.EvictYes)), kind: rules.Blocks,
		rule: "DoNotDisrupt", reason: model.NotSafeToEvict,
		detail: "web/shop-1: it is annotated karpenter.sh/do-not-disrupt=true"},
	{name: "left alone, a static pod", change: at(alone(model.Always), flag(model.Mirror)), kind: rules.Stays,
		rule: "Mirror"},
	{name: "left alone, and terminating", change: at(alone(model.Always), ends(time.Minute)), kind: rules.Ends,
		rule: "Terminating", until: now.Add(90 * time.Second)},
	{name: "left alone for two hours, a minute is left", change: at(alone(2*time.Hour), func(s *scene) {
		s.pod.Created = now.Add(time.Minute - 2*time.Hour).Unix()
	}), kind: rules.Blocks, rule: "DoNotDisrupt", reason: model.NotSafeToEvict, until: now.Add(time.Minute),
		detail: "web/shop-1: it is annotated karpenter.sh/do-not-disrupt=2h0m0s"},
	{name: "left alone for two hours, which are over", change: at(alone(2*time.Hour), func(s *scene) {
		s.pod.Created = now.Add(-2 * time.Hour).Unix()
	}), kind: rules.Moves},

	{name: "priority below the cutoff", change: func(s *scene) { s.priority = -11 }, kind: rules.Stays, rule: "Expendable"},
	{name: "priority at the cutoff", change: func(s *scene) { s.priority = -10 }, kind: rules.Moves},

	{name: "terminating, has time", change: ends(time.Minute), kind: rules.Ends, rule: "Terminating", until: now.Add(90 * time.Second)},
	{name: "terminating, its time just over", change: ends(-29 * time.Second), kind: rules.Ends, rule: "Terminating", until: now.Add(time.Second)},
	{name: "terminating, half a minute late", change: ends(-30 * time.Second), kind: rules.Stays, rule: "Terminating"},
	{name: "terminating for long", change: ends(-time.Hour), kind: rules.Stays, rule: "Terminating"},
	{name: "terminating, until an unknown time", change: flag(model.Terminating), kind: rules.Ends, rule: "Terminating"},

	{name: "few replicas", change: few, kind: rules.Blocks, rule: "MinReplicas", reason: model.MinReplicasReached, detail: "web/shop-1: pods of its ReplicaSet 2 < 3"},
	{name: "few replicas, and one finished", change: at(few, func(s *scene) {
		s.others = append(s.others, model.Finished)
	}), kind: rules.Blocks, rule: "MinReplicas",
		reason: model.MinReplicasReached, detail: "web/shop-1: pods of its ReplicaSet 2 < 3"},
	{name: "few replicas, and one terminating", change: at(few, func(s *scene) {
		s.others = append(s.others, model.Terminating)
	}), kind: rules.Blocks, rule: "MinReplicas",
		reason: model.MinReplicasReached, detail: "web/shop-1: pods of its ReplicaSet 2 < 3"},
	{name: "few replicas, and safe to evict", change: at(few, safe(model.EvictYes)), kind: rules.Blocks,
		rule:   "MinReplicas",
		reason: model.MinReplicasReached, detail: "web/shop-1: pods of its ReplicaSet 2 < 3"},
	{name: "just enough replicas", change: at(few, func(s *scene) { s.others = append(s.others, 0) }), kind: rules.Moves},
	{name: "just enough replicas, one without a node", change: at(few, func(s *scene) { s.waiting = []model.Flags{0} }), kind: rules.Moves},
	{name: "few replicas, no minimum", change: at(few, func(s *scene) { s.policy.ScaleDown.Drain.MinReplicas = 0 }), kind: rules.Moves},
	{name: "few replicas, any controller will do", change: at(few, func(s *scene) { s.policy.ScaleDown.Drain.SkipCustom = false }), kind: rules.Moves},
	{name: "few replicas, no controller", change: at(few, func(s *scene) {
		s.facts.Controller, s.facts.Group, s.pod.Owner = "", "", ""
	}), kind: rules.Blocks, rule: "Replicated",
		reason: model.NotReplicated, detail: "web/shop-1: no controller would replace it"},
	{name: "few replicas, controller unnamed", change: at(few, func(s *scene) { s.pod.Owner = "" }), kind: rules.Moves},

	{name: "safe to evict", change: safe(model.EvictYes), kind: rules.Moves, rule: "SafeToEvict"},
	{name: "on completion", change: safe(model.EvictOnCompletion), kind: rules.Blocks, rule: "OnCompletion",
		reason: model.BlockedByOnCompletionPod,
		detail: "web/shop-1: it is annotated cluster-autoscaler.kubernetes.io/safe-to-evict=on-completion"},

	{name: "no controller", change: controller("", ""), kind: rules.Blocks, rule: "Replicated", reason: model.NotReplicated, detail: "web/shop-1: no controller would replace it"},
	{name: "no controller, any will do", change: at(controller("", ""), func(s *scene) {
		s.policy.ScaleDown.Drain.SkipCustom = false
	}), kind: rules.Blocks, rule: "Replicated",
		reason: model.NotReplicated, detail: "web/shop-1: no controller would replace it"},
	{name: "no table of facts", change: func(s *scene) { s.noFacts = true; s.pod.Facts = 7 }, kind: rules.Blocks,
		rule: "Replicated", reason: model.NotReplicated,
		detail: "web/shop-1: no controller would replace it"},
	{name: "a ReplicationController", change: controller("ReplicationController", ""), kind: rules.Moves},
	{name: "a Job", change: controller("Job", "batch"), kind: rules.Moves},
	{name: "a ReplicaSet of old", change: controller("ReplicaSet", "extensions"), kind: rules.Moves},
	{name: "a StatefulSet", change: controller("StatefulSet", "apps"), kind: rules.Moves},
	{name: "a custom StatefulSet", change: controller("StatefulSet", "apps.kruise.io"), kind: rules.Blocks,
		rule: "Replicated", reason: model.NotReplicated,
		detail: "web/shop-1: its controller is a StatefulSet.apps.kruise.io, which is not known to replace its pods"},
	{name: "a custom Job", change: controller("Job", "batch.volcano.sh"), kind: rules.Blocks, rule: "Replicated",
		reason: model.NotReplicated,
		detail: "web/shop-1: its controller is a Job.batch.volcano.sh, which is not known to replace its pods"},
	{name: "a custom ReplicaSet", change: controller("ReplicaSet", "acme.org"), kind: rules.Blocks, rule: "Replicated",
		reason: model.NotReplicated,
		detail: "web/shop-1: its controller is a ReplicaSet.acme.org, which is not known to replace its pods"},
	{name: "a custom ReplicationController", change: controller("ReplicationController", "acme.org"), kind: rules.Blocks,
		rule: "Replicated", reason: model.NotReplicated,
		detail: "web/shop-1: its controller is a ReplicationController.acme.org, which is not known to replace its pods"},
	{name: "a node's own", change: controller("Node", ""), kind: rules.Blocks, rule: "Replicated",
		reason: model.NotReplicated,
		detail: "web/shop-1: its controller is a Node, which is not known to replace its pods"},
	{name: "a custom one, any will do", change: at(controller("Job", "batch.volcano.sh"), func(s *scene) { s.policy.ScaleDown.Drain.SkipCustom = false }), kind: rules.Moves},

	{name: "kube-system", change: dns, kind: rules.Blocks, rule: "System", reason: model.UnmovableSystemPod,
		until:  now.Add(59 * time.Minute),
		detail: "kube-system/dns-1: no budget covers it, and it is younger than 1h0m0s"},
	{name: "kube-system, old enough", change: at(dns, func(s *scene) { s.pod.Created = now.Add(-time.Hour).Unix() }), kind: rules.Moves},
	{
		name:   "kube-system, almost old enough",
		change: at(dns, func(s *scene) { s.pod.Created = now.Add(-time.Hour).Unix() + 1 }),
		kind:   rules.Blocks,
		rule:   "System",
		reason: model.UnmovableSystemPod,
		until:  now.Add(time.Second),
		detail: "kube-system/dns-1: no budget covers it, and it is younger than 1h0m0s",
	},
	{name: "kube-system with a budget", change: at(dns, func(s *scene) { s.budgets = []model.Budget{budget("kube-system", "b", "app=shop", 0)} }), kind: rules.Moves},
	{
		name:   "kube-system with another's budget",
		change: at(dns, func(s *scene) { s.budgets = []model.Budget{budget("kube-system", "b", "app=mail", 1)} }),
		kind:   rules.Blocks,
		rule:   "System",
		reason: model.UnmovableSystemPod,
		until:  now.Add(59 * time.Minute),
		detail: "kube-system/dns-1: no budget covers it, and it is younger than 1h0m0s",
	},
	{name: "kube-system, which is not skipped", change: at(dns, func(s *scene) { s.policy.ScaleDown.Drain.SkipSystem = false }), kind: rules.Moves},
	{name: "kube-system, safe to evict", change: at(dns, safe(model.EvictYes)), kind: rules.Moves, rule: "SafeToEvict"},
	// Being old, or having a budget, ends one rule and not all of them.
	{
		name:   "kube-system, old enough, not safe to evict",
		change: at(dns, func(s *scene) { s.pod.Created = 0; s.facts.Safe = model.EvictNo }),
		kind:   rules.Blocks,
		rule:   "NotSafeToEvict",
		reason: model.NotSafeToEvict,
		detail: "kube-system/dns-1: it is annotated cluster-autoscaler.kubernetes.io/safe-to-evict=false",
	},
	{
		name:   "kube-system, old enough, with storage",
		change: at(dns, func(s *scene) { s.pod.Created = 0; s.facts.Local = "cache" }),
		kind:   rules.Blocks,
		rule:   "LocalStorage",
		reason: model.LocalStorageRequested,
		detail: "kube-system/dns-1: its volume cache is on the node",
	},
	{name: "kube-system with a budget and storage", change: at(dns, func(s *scene) {
		s.budgets, s.facts.Local = []model.Budget{budget("kube-system", "b", "", 1)}, "cache"
	}), kind: rules.Blocks, rule: "LocalStorage", reason: model.LocalStorageRequested,
		detail: "kube-system/dns-1: its volume cache is on the node"},

	{name: "not safe to evict", change: safe(model.EvictNo), kind: rules.Blocks, rule: "NotSafeToEvict",
		reason: model.NotSafeToEvict,
		detail: "web/shop-1: it is annotated cluster-autoscaler.kubernetes.io/safe-to-evict=false"},

	{name: "storage on the node", change: func(s *scene) {
		s.facts.Local = "cache"
	}, kind: rules.Blocks, rule: "LocalStorage", reason: model.LocalStorageRequested,
		detail: "web/shop-1: its volume cache is on the node"},
	{
		name:   "tolerates all taints",
		change: func(s *scene) { s.tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} },
		kind:   rules.Blocks,
		rule:   "Tolerant",
		reason: model.ToleratesRemoval,
		detail: "web/shop-1: it tolerates the taint ToBeDeletedByClusterAutoscaler, and would come back",
	},
	{name: "storage on the node, which is not skipped", change: func(s *scene) { s.facts.Local = "cache"; s.policy.ScaleDown.Drain.SkipLocal = false }, kind: rules.Moves},
	{name: "storage on the node, safe to evict", change: func(s *scene) { s.facts.Local = "cache"; s.facts.Safe = model.EvictYes }, kind: rules.Moves, rule: "SafeToEvict"},

	{name: "a budget that allows nothing is Take's", change: func(s *scene) { s.budgets = []model.Budget{budget("web", "b", "", 0)} }, kind: rules.Moves},
}

func TestRules(t *testing.T) {
	for _, r := range table {
		t.Run(r.name, func(t *testing.T) {
			s := plain()
			r.change(s)
			a := s.answer()
			if a.Kind != r.kind || a.Rule != r.rule || a.Reason != r.reason || a.Detail != r.detail || !a.Until.Equal(r.until) {
				t.Errorf("%v by rule %q, %q, %q until %v\nwant %v by rule %q, %q, %q until %v",
					a.Kind, a.Rule, a.Reason, a.Detail, a.Until, r.kind, r.rule, r.reason, r.detail, r.until)
			}
			if (a.Fix != "") != (a.Kind == rules.Blocks) {
				t.Errorf("%v with the fix %q", a.Kind, a.Fix)
			}
		})
	}
}

// TestSystemPodSince: the clock of a system pod runs from its creation.
func TestSystemPodSince(t *testing.T) {
	s := plain()
	dns(s)
	if a := s.answer(); !a.Since.Equal(now.Add(-time.Minute)) {
		t.Errorf("since %v", a.Since)
	}
}

// TestOrder takes away, one by one, what each rule is about, from a pod that has
// all of it: the next rule decides.
func TestOrder(t *testing.T) {
	s := plain()
	s.namespace = "kube-system"
	s.pod.Flags = model.Mirror | model.Finished | model.FromDaemonSet
	s.priority = -100
	s.policy.ScaleDown.Drain.MinReplicas = 2
	s.tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	s.facts = model.Facts{Controller: "CloneSet", Group: "apps.kruise.io", Safe: model.EvictYes, Alone: model.Always,
		Local: "cache"}
	clear := func(f model.Flags) func() { return func() { s.pod.Flags &^= f } }
	steps := []struct {
		rule string
		next func()
	}{
		{"Mirror", clear(model.Mirror)},
		{"Finished", clear(model.Finished)},
		{"DoNotDisrupt", func() { s.pod.Flags |= model.Terminating }}, // a pod that ends is no longer left alone
		{"DaemonSet", clear(model.FromDaemonSet)},
		{"Expendable", func() { s.priority = 0 }},
		{"Terminating", func() { s.pod.Flags &^= model.Terminating; s.facts.Alone = 0 }},
		{"MinReplicas", func() { s.others = []model.Flags{0} }},
		{"SafeToEvict", func() { s.facts.Safe = model.EvictOnCompletion }},
		{"OnCompletion", func() { s.facts.Safe = model.EvictNo }},
		{"Replicated", func() { s.facts.Controller, s.facts.Group = "StatefulSet", "apps" }},
		{"System", func() { s.pod.Created = 0 }},
		{"NotSafeToEvict", func() { s.facts.Safe = model.EvictUnsaid }},
		{"LocalStorage", func() { s.facts.Local = "" }},
		{"Tolerant", func() { s.tolerations = nil }},
		{"", func() {}},
	}
	for i, name := range rules.Documented {
		if steps[i].rule != name {
			t.Fatalf("step %d takes away what the rule %q is about, want %q: each rule needs its step here, in the order "+
				"of `Documented` (list_test.go), and the pod above all that the rule is about", i+1, steps[i].rule, name)
		}
	}
	for _, step := range steps {
		if a := s.answer(); a.Rule != step.rule {
			t.Fatalf("rule %q decides, want %q", a.Rule, step.rule)
		}
		step.next()
	}
}

// TestEveryRuleDecides: each rule decides about the pod of some row, and each that a file declares
// is in the list.
func TestEveryRuleDecides(t *testing.T) {
	for _, name := range rules.Documented {
		if !slices.ContainsFunc(table, func(r row) bool { return r.rule == name }) {
			t.Errorf("no row of `table` is decided by the rule %s: add one", name)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("rules.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^(?:var|\t) ?(\w+) += rule\{`)
	found := 0
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(src), -1) {
			found++
			if !strings.Contains(string(list), "\n\t"+m[1]+",\n") {
				t.Errorf("%s: the rule %s decides nothing: give it its place in `list` (rules.go)", f, m[1])
			}
		}
	}
	if found != len(rules.Documented) {
		t.Errorf("the files declare %d rules, as var name = rule{, and `Documented` (list_test.go) has %d", found,
			len(rules.Documented))
	}
}

// TestEveryReasonIsGiven: each reason why a pod keeps its node is that of some
// row, here or in Take's table.
func TestEveryReasonIsGiven(t *testing.T) {
	given := map[string]bool{}
	for _, r := range table {
		given[string(r.reason)] = true
	}
	for _, r := range takes {
		given[string(r.reason)] = true
	}
	for _, r := range reasonsOfPods(t) {
		if !given[r] {
			t.Errorf("no row gives the reason %s, why a pod keeps its node: add a row to `table` (rules_test.go), "+
				"or to `takes` (budgets_test.go) if a budget gives it", r)
		}
		delete(given, r)
	}
	if delete(given, ""); len(given) > 0 {
		t.Errorf("rows give the reasons %v, which stand elsewhere in model/reason.go: they belong to the block "+
			"\"Reasons why a pod keeps its node\"", slices.Sorted(maps.Keys(given)))
	}
}

// reasonsOfPods reads them from the source: one added there needs a row here.
func reasonsOfPods(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../model/reason.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(block.Doc.Text(), "Reasons why a pod keeps its node.") {
			continue
		}
		for _, spec := range block.Specs {
			value, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, value)
		}
	}
	if len(out) == 0 {
		t.Fatal("model/reason.go has no reasons why a pod keeps its node: is the block named otherwise?")
	}
	slices.Sort(out)
	return out
}

// TestReplicas: pods count wherever they are, and those that are at their end do
// not.
func TestReplicas(t *testing.T) {
	s := plain()
	s.others = []model.Flags{0, model.Finished, model.Terminating, model.Refused}
	s.waiting = []model.Flags{0, model.Refused}
	c := s.cluster()
	if n := c.Replicas("rs"); n != 5 {
		t.Errorf("%d replicas, want 5", n)
	}
	if n := c.Replicas("none"); n != 0 {
		t.Errorf("%d replicas of a controller that nothing has", n)
	}
	s.pod.Owner = ""
	if n := s.cluster().Replicas(""); n != 0 {
		t.Errorf("%d replicas of no controller", n)
	}
}

// TestTolerant: which tolerations let a pod onto a node that goes, so that it would
// come back.
func TestTolerant(t *testing.T) {
	for name, c := range map[string]struct {
		toleration corev1.Toleration
		keeps      bool
	}{
		"all taints":              {corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		"all that keep pods away": {corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, true},
		"all that drive pods out": {corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, false},
		"ours":                    {corev1.Toleration{Key: model.TaintToBeDeleted, Operator: corev1.TolerationOpExists}, true},
		"ours of some value":      {corev1.Toleration{Key: model.TaintToBeDeleted, Value: "1"}, false},
		"another":                 {corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}, false},
		"nodes that are cordoned": {corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain()
			s.tolerations = []corev1.Toleration{c.toleration}
			a := s.answer()
			if keeps := a.Kind == rules.Blocks && a.Reason == model.ToleratesRemoval && a.Fix != ""; keeps != c.keeps {
				t.Errorf("%+v", a)
			}
			s.facts.Safe = model.EvictYes
			if a := s.answer(); a.Kind != rules.Moves {
				t.Errorf("that may be evicted: %+v", a)
			}
		})
	}
}

// TestConditionOfANode: on a node that is removed because it is not ready no kubelet ends a
// pod, and nothing lands; on one whose removal began while it was ready, pods may end by
// themselves.
func TestConditionOfANode(t *testing.T) {
	for name, c := range map[string]struct {
		ready bool
		node  model.Node
		want  rules.Condition
		ends  rules.Kind
	}{
		"ready":                             {true, model.Node{Kind: model.Ready}, rules.Ready, rules.Ends},
		"booting":                           {false, model.Node{Kind: model.Booting}, rules.NotReady, rules.Ends},
		"not ready":                         {false, model.Node{Kind: model.Unready}, rules.Dead, rules.Stays},
		"leaving, since it is not":          {false, leaving(true), rules.Dead, rules.Stays},
		"leaving, ready before":             {false, leaving(false), rules.NotReady, rules.Ends},
		"leaving, since it was not, is now": {true, leaving(true), rules.Ready, rules.Ends},
	} {
		t.Run(name, func(t *testing.T) {
			status := corev1.ConditionFalse
			if c.ready {
				status = corev1.ConditionTrue
			}
			c.node.Object = &corev1.Node{
				Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}},
			}
			s := plain()
			ends(time.Minute)(s)
			on := rules.ConditionOf(&c.node)
			if a := s.cluster().Apply(on, &s.pod); on != c.want || a.Kind != c.ends ||
				(a.Kind == rules.Stays) != a.Until.IsZero() {
				t.Errorf("condition %d: %v until %s", on, a.Kind, a.Until)
			}
		})
	}
}

func leaving(unready bool) model.Node {
	return model.Node{Kind: model.Leaving, Standing: model.NodeStanding{Drain: &model.Drain{Unready: unready}}}
}
