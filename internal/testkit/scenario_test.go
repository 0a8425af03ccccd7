package testkit

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

func scenario(t *testing.T, text string) *Scenario {
	t.Helper()
	s := NewScenario()
	if err := s.Add(text); err != nil {
		t.Fatal(err)
	}
	return s
}

// What a line about pods says of them, beside what the scheduler reads.
func TestWordsAboutPods(t *testing.T) {
	movable := model.Facts{Controller: "ReplicaSet", Group: "apps", Maker: "web", Grace: 30 * time.Second}
	plain := model.Pod{Name: "web-000001", UID: "web-000001", Owner: owner("default", "web"), Created: Start.Unix()}
	for _, c := range []struct {
		words string
		pod   func(*model.Pod)
		facts func(*model.Facts)
	}{
		{"", nil, nil},
		{"controller=none", func(p *model.Pod) { p.Owner = "" },
			func(f *model.Facts) { f.Controller, f.Group, f.Maker = "", "", "" }},
		{"controller=StatefulSet", nil, func(f *model.Facts) { f.Controller = "StatefulSet" }},
		{"controller=Job", nil, func(f *model.Facts) { f.Controller, f.Group = "Job", "batch" }},
		{"controller=ReplicationController", nil, func(f *model.Facts) { f.Controller, f.Group = "ReplicationController", "" }},
		{"controller=Rollout.example.com", nil, func(f *model.Facts) { f.Controller, f.Group = "Rollout", "example.com" }},
		{"evict=true", nil, func(f *model.Facts) { f.Safe = model.EvictYes }},
		{"evict=false", nil, func(f *model.Facts) { f.Safe = model.EvictNo }},
		{"evict=on-completion", nil, func(f *model.Facts) { f.Safe = model.EvictOnCompletion }},
		{"local=cache", nil, func(f *model.Facts) { f.Local = "cache" }},
		{"dsevict=true", nil, func(f *model.Facts) { f.Daemon = model.Yes }},
		{"dsevict=false", nil, func(f *model.Facts) { f.Daemon = model.No }},
		{"grace=1m", nil, func(f *model.Facts) { f.Grace = time.Minute }},
		{"grace=0s", nil, func(f *model.Facts) { f.Grace = 0 }},
		{"age=2h", func(p *model.Pod) { p.Created -= 7200 }, nil},
		{"ends=30s", func(p *model.Pod) { p.Flags, p.Ends = model.Terminating, Start.Unix()+30 }, nil},
		{"ends=-10s", func(p *model.Pod) { p.Flags, p.Ends = model.Terminating, Start.Unix()-10 }, nil},
		{"finished", func(p *model.Pod) { p.Flags = model.Finished }, nil},
		{"mirror", func(p *model.Pod) { p.Flags, p.Owner = model.Mirror, "node-n" }, func(f *model.Facts) { f.Controller, f.Group, f.Maker = "Node", "", "" }},
		{"daemon", func(p *model.Pod) { p.Flags, p.Owner = model.FromDaemonSet, "daemonset-web" }, func(f *model.Facts) { f.Controller = "DaemonSet" }},
		{"namespace=kube-system", func(p *model.Pod) { p.Owner = owner("kube-system", "web") }, nil},
		{"kubesystem", func(p *model.Pod) { p.Owner = owner("kube-system", "web") }, nil},
	} {
		t.Run(c.words, func(t *testing.T) {
			o := scenario(t, "node n cpu=4 memory=16Gi\npods web cpu=1 node=n "+c.words).Observation()
			got := o.Nodes[0].Pods[0]
			facts := *o.Contents.Facts[got.Facts]
			namespace := o.Contents.Specs[got.Spec].Pod.Namespace
			if want := strings.Contains(c.words, "kube"); (namespace == "kube-system") != want ||
				o.Namespaces[namespace][corev1.LabelMetadataName] != namespace {
				t.Errorf("they are in %s, of %v", namespace, o.Namespaces)
			}
			want, wantFacts := plain, movable
			if c.pod != nil {
				c.pod(&want)
			}
			if c.facts != nil {
				c.facts(&wantFacts)
			}
			got.Content, got.Facts, facts.Key = model.Content{}, 0, ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pod:\n%s", diff)
			}
			if diff := cmp.Diff(wantFacts, facts); diff != "" {
				t.Errorf("facts:\n%s", diff)
			}
		})
	}
}

// Pods of one name have one controller, on whatever lines they stand: one that
// waits is the replacement of one that was evicted.
func TestOwners(t *testing.T) {
	o := scenario(t, `
node n cpu=4 memory=16Gi
pods web count=2 cpu=1 node=n
pods db cpu=1 node=n
pods web cpu=1
pods web cpu=1 namespace=other unseen
`).Observation()
	web, db := o.Nodes[0].Pods[:2], o.Nodes[0].Pods[2]
	if web[0].Owner != web[1].Owner || web[0].Owner == db.Owner || web[0].Facts != web[1].Facts {
		t.Errorf("on the node: %+v", o.Nodes[0].Pods)
	}
	waiting, other := o.Unbound[0], o.Unbound[1]
	if waiting.Owner != web[0].Owner || waiting.Flags != model.Refused || other.Owner == waiting.Owner ||
		other.Flags != 0 {
		t.Errorf("waiting: %+v", o.Unbound)
	}
}

func TestBudgetsOfAScenario(t *testing.T) {
	o := scenario(t, `
budget web allowed=1 healthy=3/4 wanted=2
budget all namespace=a app=web
`).Observation()
	if len(o.Budgets) != 2 || o.Budgets[0].Namespace != "a" || o.Budgets[1].Namespace != "default" {
		t.Fatalf("budgets %+v", o.Budgets)
	}
	if b := o.Budgets[1]; b.Name != "web" || b.Allowed != 1 || b.Detail != "3 of 4 healthy, 2 wanted" {
		t.Errorf("budget %+v", b)
	}
	if b := o.Budgets[0]; b.Name != "all" || b.Allowed != 0 || b.Detail != "" {
		t.Errorf("budget %+v", b)
	}
	for _, b := range o.Budgets {
		if !b.Selector.Matches(labels.Set{"app": "web"}) || b.Selector.Matches(labels.Set{"app": "db"}) {
			t.Errorf("%s covers what %q selects", b.Name, b.Selector)
		}
	}
}

func TestWordsAboutNodes(t *testing.T) {
	s := scenario(t, `
group g cpu=4 memory=16Gi
node n1 group=g disabled annotate=delay-deletion.cluster-autoscaler.kubernetes.io/x=y,plimsoll.dev/stays=NotEnoughPdb
node n2 group=g cordoned annotation=a:b unneeded=7m
node n3 group=g
unneeded n1 since=5m
held n1 why=NotEnoughPdb age=4m
failed n1 why=EvictionRefused age=1m
failed n2
`)
	nodes := s.Observation().Nodes
	want := map[string]string{model.AnnotationScaleDownDisabled: "true", model.PrefixDelayDeletion + "x": "y",
		model.AnnotationStays: "NotEnoughPdb"}
	if diff := cmp.Diff(want, nodes[0].Object.Annotations); diff != "" {
		t.Errorf("annotations:\n%s", diff)
	}
	if n := nodes[1].Object; !n.Spec.Unschedulable || n.Annotations["a"] != "b" || nodes[0].Object.Spec.Unschedulable {
		t.Errorf("node %+v", n)
	}
	snap := s.Snapshot(s.Policy)
	ago := func(d time.Duration) time.Time { return Start.Add(-d) }
	for i, want := range []model.NodeStanding{
		{UnneededSince: ago(5 * time.Minute), Held: model.NotEnoughPdb, HeldSince: ago(4 * time.Minute), Failed: model.Failure{At: ago(time.Minute), Why: "EvictionRefused"}},
		{UnneededSince: ago(7 * time.Minute), Failed: model.Failure{At: Start}},
		{},
	} {
		if diff := cmp.Diff(want, snap.Nodes[i].Standing); diff != "" {
			t.Errorf("%s:\n%s", snap.Nodes[i].Name, diff)
		}
	}
}

// A drain is known, and its node looks as it does at that stage.
func TestDrainOfAScenario(t *testing.T) {
	const head = `
group g cpu=4 memory=16Gi
node n1 group=g
node n2 group=g cordoned
pods web count=3 cpu=1 node=n1
pods dns cpu=1 node=n1 kubesystem controller=none
pods web cpu=1
`
	ago := func(d time.Duration) time.Time { return Start.Add(-d) }
	web := owner("default", "web")
	for _, c := range []struct {
		name, line string
		node       string
		want       model.Drain
		busy       model.Verb
		tainted    bool
		removal    string
	}{
		{"asked", "drain n1 stage=Tainting call=Taint occupied known=web-2,web-1", "n1",
			model.Drain{
				Stage: model.Tainting, Since: Start, Began: Start, Occupied: true, Pods: []types.UID{"web-000001", "web-000002"},
			}, model.Taint, false, ""},
		{"tainted", "drain n1 since=10s occupied known", "n1",
			model.Drain{Stage: model.Tainted, Since: ago(10 * time.Second), Began: ago(10 * time.Second), Occupied: true,
				Pods: []types.UID{"dns-000001", "web-000001", "web-000002", "web-000003"}}, "", true, model.RemovalTainted},
		{"empty", "drain n1 since=10s unready group=old notbefore=5s", "n1",
			model.Drain{Group: "old", Stage: model.Tainted, Since: ago(10 * time.Second), Began: ago(10 * time.Second),
				Unready: true, NotBefore: Start.Add(5 * time.Second)}, "", true, model.RemovalTainted},
		{"evicting", "drain n1 stage=Evicting since=30s began=1m occupied " +
			"evicted=web-3:20s,web-1:20s/5s:refused,kube-system/dns-1:3s:busy,default/gone-7:9s granted", "n1",
			model.Drain{Stage: model.Evicting, Since: ago(30 * time.Second), Began: ago(time.Minute), Occupied: true,
				Evictions: []model.Eviction{
					{Pod: "default/gone-000007", UID: "gone-000007", Owner: owner("default", "gone"), First: ago(9 * time.Second), Last: ago(9 * time.Second), Granted: true, Gone: ago(9 * time.Second)},
					{Pod: "default/web-000001", UID: "web-000001", Owner: web, First: ago(20 * time.Second), Last: ago(5 * time.Second), Why: "refused"},
					{Pod: "default/web-000003", UID: "web-000003", Owner: web, First: ago(20 * time.Second), Last: ago(20 * time.Second), Granted: true},
					{Pod: "kube-system/dns-000001", UID: "dns-000001", First: ago(3 * time.Second), Last: ago(3 * time.Second), Busy: true},
				}}, "", true, model.RemovalCordoned},
		{"evicting without a cordon", "drain n1 stage=Evicting occupied cordon=no", "n1",
			model.Drain{Stage: model.Evicting, Since: Start, Began: Start, Occupied: true}, "", true, model.RemovalTainted},
		{"another client's cordon", "drain n2 stage=Evicting occupied", "n2",
			model.Drain{Stage: model.Evicting, Since: Start, Began: Start, Occupied: true}, "", true, model.RemovalTainted},
		{"a later stage", "drain n1 stage=Tainted began=2m occupied\ndrain n1 stage=Evicting began=1m occupied\ndrain n1 " +
			"stage=Removing occupied", "n1",
			model.Drain{Stage: model.Removing, Since: Start, Began: Start, Occupied: true}, "", true, model.RemovalCordoned},
		{"rolling back", "drain n1 stage=RollingBack occupied code=PodLanded why=web", "n1",
			model.Drain{Stage: model.RollingBack, Since: Start, Began: Start, Occupied: true, Code: model.PodLanded, Why: "web"},
			"", true, model.RemovalTainted},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scenario(t, head+c.line)
			snap := s.Snapshot(s.Policy)
			n := snap.Nodes[0]
			if c.node == "n2" {
				n = snap.Nodes[1]
			}
			want := c.want
			want.Node, want.Instance = c.node, provider.InstanceID(c.node)
			if want.Group == "" {
				want.Group = "g"
			}
			if n.Standing.Drain == nil {
				t.Fatal("there is no drain")
			}
			if diff := cmp.Diff(want, *n.Standing.Drain); diff != "" {
				t.Errorf("drain:\n%s", diff)
			}
			if busy := n.Standing.Busy; (busy == nil) != (c.busy == "") ||
				busy != nil && (busy.Verb != c.busy || busy.Node != c.node) {
				t.Errorf("busy with %+v", busy)
			}
			taints := 0
			for _, x := range n.Object.Spec.Taints {
				if x.Key == model.TaintToBeDeleted {
					taints++
				}
			}
			cordoned := c.node == "n2" || c.removal == model.RemovalCordoned
			if (taints == 1) != c.tainted || taints > 1 || n.Object.Annotations[model.AnnotationRemoval] != c.removal ||
				n.Object.Spec.Unschedulable != cordoned {
				t.Errorf("taints %v, annotations %v, unschedulable %v",
					n.Object.Spec.Taints, n.Object.Annotations, n.Object.Spec.Unschedulable)
			}
		})
	}
}

// A line that means nothing is named, with what is wrong with it.
func TestMistakesInScenarios(t *testing.T) {
	for line, says := range map[string]string{
		"pods web evict=maybe":                                 `evict: "maybe" is none of true, false, on-completion`,
		"pods web dsevict=yes":                                 `dsevict: "yes"`,
		"pods web controller=Rollout":                          `"Rollout" is not known; write Kind.group`,
		"pods web grace=long":                                  "grace",
		"pods web ends=soon":                                   "ends",
		"pods web safe":                                        `pods does not take "safe"`,
		"daemonset agent evict=false":                          `daemonset does not take "evict"`,
		"budget web allowed=some":                              "allowed",
		"budget web healthy=3":                                 "invalid syntax",
		"node n cpu=1 memory=1Gi enabled":                      `node does not take "enabled"`,
		"unneeded n since=5m":                                  `there is no node "n" yet`,
		"held n why=x":                                         `there is no node "n" yet`,
		"failed n why=x":                                       `there is no node "n" yet`,
		"drain n":                                              `there is no node "n" yet`,
		"node n cpu=1 memory=1Gi\ndrain n stage=Almost":        `stage: "Almost" is none of Tainting`,
		"node n cpu=1 memory=1Gi\ndrain n cordon=perhaps":      `cordon: "perhaps"`,
		"node n cpu=1 memory=1Gi\ndrain n evicted=web-1":       "is not like web-3:20s:granted",
		"node n cpu=1 memory=1Gi\ndrain n evicted=web:1s":      "write web-3 for the third pod of web",
		"node n cpu=1 memory=1Gi\ndrain n evicted=a-1:1s:lost": `"lost" is none of granted, busy, refused`,
		"node n cpu=1 memory=1Gi\ndrain n known=web":           "write web-3 for the third pod of web",
	} {
		err := NewScenario().Add(line)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %s", line, err, says)
		}
	}
}
