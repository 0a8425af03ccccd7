package workers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
)

// step is what a test says of a step.
type step struct {
	Verb workers.Verb
	Name string
	Body map[string]any
}

func replicasBody(n int) map[string]any {
	return map[string]any{"spec": map[string]any{"replicas": int64(n)}}
}

func rangeBody(minSize, maxSize string) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{minKey: minSize, maxKey: maxSize, rangeKey: minSize + ".." + maxSize},
	}}
}

var noAnnotations = map[string]any{
	"metadata": map[string]any{"annotations": map[string]any{minKey: nil, maxKey: nil, rangeKey: nil}},
}

// TestPlan: what is written to machine deployments that EKS Anywhere made, from
// every state to every spec.
func TestPlan(t *testing.T) {
	tests := []struct {
		name   string
		groups []v1alpha1.WorkerNodeGroup
		found  []workers.MachineDeployment
		want   []step
		notes  []string
	}{
		{"fixed, taken over", groups(fixed("a", 2)), mds(md("c1-a", 2)), []step{{workers.Apply, "c1-a", replicasBody(2)}}, nil},
		{"fixed, as it should be", groups(fixed("a", 2)), mds(md("c1-a", 2, owned(ownsReplicas))), nil, nil},
		{"fixed, changed by another client", groups(fixed("a", 2)), mds(md("c1-a", 5, owned(ownsReplicas))), []step{{workers.Apply, "c1-a", replicasBody(2)}}, nil},
		{"fixed without a count", groups(v1alpha1.WorkerNodeGroup{Name: "a"}), mds(md("c1-a", 3)), []step{{workers.Apply, "c1-a", replicasBody(1)}}, nil},

		{"autoscaled, taken over within its range", groups(scaled("a", 1, 5)), mds(md("c1-a", 3)),
			[]step{{workers.Apply, "c1-a", rangeBody("1", "5")}}, nil},
		{"autoscaled, taken over above its range", groups(scaled("a", 1, 5)), mds(md("c1-a", 8, annotated("1", "5"))),
			[]step{{workers.HandOver, "c1-a", replicasBody(5)}, {workers.Apply, "c1-a", rangeBody("1", "5")}}, nil},
		{"autoscaled, as it should be wherever it stands", groups(scaled("a", 1, 5)), mds(md("c1-a", 4, owned(ownsRange), applied("1", "5"))), nil, nil},
		{"its count says nothing",
			groups(func() v1alpha1.WorkerNodeGroup { g := scaled("a", 1, 5); g.Count = count(2); return g }()),
			mds(md("c1-a", 4, owned(ownsRange), applied("1", "5"))), nil, nil},
		{"maximum lowered below what there is", groups(scaled("a", 1, 5)),
			mds(md("c1-a", 8, owned(ownsRange), applied("1", "9"))),
			[]step{{workers.HandOver, "c1-a", replicasBody(5)}, {workers.Apply, "c1-a", rangeBody("1", "5")}}, nil},
		{"minimum raised above what there is", groups(scaled("a", 3, 9)),
			mds(md("c1-a", 1, owned(ownsRange), applied("1", "9"))),
			[]step{{workers.HandOver, "c1-a", replicasBody(3)}, {workers.Apply, "c1-a", rangeBody("3", "9")}}, nil},
		{"range changed around what there is", groups(scaled("a", 2, 6)),
			mds(md("c1-a", 4, owned(ownsRange), applied("1", "9"))),
			[]step{{workers.Apply, "c1-a", rangeBody("2", "6")}}, nil},
		{"moved out of an unchanged range: not once more", groups(scaled("a", 1, 5)), mds(md("c1-a", 8, owned(ownsRange), applied("1", "5"))), nil, nil},
		{"an annotation changed by hand", groups(scaled("a", 1, 5)),
			mds(md("c1-a", 4, owned(ownsRange), applied("1", "5"), annotated("1", "50"))),
			[]step{{workers.Apply, "c1-a", rangeBody("1", "5")}}, nil},
		{"both annotations taken over by another applier: no node goes", groups(split(scaled("a", 3, 7), "x", "y")),
			mds(md("c1-a-x", 7, owned(ownsRangeNoted), applied("2", "4"), annotated("3", "7")),
				md("c1-a-y", 1, owned(ownsRangeNoted), applied("1", "3"), annotated("3", "7"))),
			[]step{{workers.Apply, "c1-a-x", rangeBody("2", "4")}, {workers.Apply, "c1-a-y", rangeBody("1", "3")}}, nil},
		{"the range changed, and another applier has it already", groups(scaled("a", 1, 5)),
			mds(md("c1-a", 8, owned(ownsRangeNoted), applied("1", "9"), annotated("1", "5"))),
			[]step{{workers.HandOver, "c1-a", replicasBody(5)}, {workers.Apply, "c1-a", rangeBody("1", "5")}}, nil},
		{"replicas not set", groups(scaled("a", 2, 5)),
			mds(md("c1-a", 0, withoutWish, owned(ownsRange), applied("2", "5"))),
			[]step{{workers.HandOver, "c1-a", replicasBody(2)}}, nil},

		{"autoscaling added", groups(scaled("a", 1, 5)), mds(md("c1-a", 3, owned(ownsReplicas))),
			[]step{{workers.HandOver, "c1-a", replicasBody(3)}, {workers.Apply, "c1-a", rangeBody("1", "5")}}, nil},
		{"autoscaling added above its range", groups(scaled("a", 1, 5)), mds(md("c1-a", 8, owned(ownsReplicas))),
			[]step{{workers.HandOver, "c1-a", replicasBody(5)}, {workers.Apply, "c1-a", rangeBody("1", "5")}}, nil},
		{"autoscaling removed", groups(fixed("a", 2)), mds(md("c1-a", 5, owned(ownsRange), applied("1", "5"))),
			[]step{{workers.Unannotate, "c1-a", noAnnotations}, {workers.Apply, "c1-a", replicasBody(2)}}, nil},
		{"autoscaling removed, annotations are another client's", groups(fixed("a", 2)),
			mds(md("c1-a", 2, owned(ownsReplicas), annotated("1", "5"))),
			[]step{{workers.Unannotate, "c1-a", noAnnotations}}, nil},

		{"split, each part has its share", groups(split(scaled("a", 3, 7), "x", "y")), mds(md("c1-a-x", 2), md("c1-a-y", 1)),
			[]step{{workers.Apply, "c1-a-x", rangeBody("2", "4")}, {workers.Apply, "c1-a-y", rangeBody("1", "3")}}, nil},
		{"split without autoscaling: the first part gets what does not divide", groups(split(fixed("a", 5), "x", "y", "z")),
			mds(md("c1-a-x", 5), md("c1-a-y", 5), md("c1-a-z", 5)),
			[]step{
				{workers.Apply, "c1-a-x", replicasBody(3)},
				{workers.Apply, "c1-a-y", replicasBody(1)},
				{workers.Apply, "c1-a-z", replicasBody(1)},
			}, nil},
		{"split without autoscaling", groups(split(fixed("a", 5), "x", "y")), mds(md("c1-a-x", 5), md("c1-a-y", 5)),
			[]step{{workers.Apply, "c1-a-x", replicasBody(3)}, {workers.Apply, "c1-a-y", replicasBody(2)}}, nil},

		// Failure domains change: EKS Anywhere makes the new machine deployments, and takes
		// the old ones away. Until it has, their machines are all that the group has.
		{"other failure domains", groups(split(scaled("a", 2, 10), "z")), parts(4, 4), nil, []string{workers.NotCreated, workers.NotDeleted, workers.NotDeleted}},
		{"no failure domains any more", groups(scaled("a", 2, 10)), parts(4, 4), nil, []string{workers.NotCreated, workers.NotDeleted, workers.NotDeleted}},
		{"no failure domains any more, without autoscaling", groups(fixed("a", 8)),
			mds(md("c1-a-x", 4, owned(ownsReplicas)), md("c1-a-y", 4, owned(ownsReplicas))),
			nil, []string{workers.NotCreated, workers.NotDeleted, workers.NotDeleted}},
		{"no failure domains any more, and the whole is there", groups(scaled("a", 2, 10)),
			append(parts(4, 4), md("c1-a", 0, withoutWish)),
			[]step{{workers.HandOver, "c1-a", replicasBody(2)}, {workers.Apply, "c1-a", rangeBody("2", "10")}},
			[]string{workers.NotDeleted, workers.NotDeleted}},
		{"one failure domain less", groups(split(scaled("a", 2, 10), "x")), parts(4, 4), []step{{workers.Apply, "c1-a-x", rangeBody("2", "10")}}, []string{workers.NotDeleted}},
		{"failure domains added: the first part appears", groups(split(scaled("a", 2, 10), "x", "y")),
			mds(md("c1-a", 8, owned(ownsRange), applied("2", "10")), md("c1-a-x", 0, withoutWish)),
			[]step{{workers.HandOver, "c1-a-x", replicasBody(1)}, {workers.Apply, "c1-a-x", rangeBody("1", "5")}},
			[]string{workers.NotCreated, workers.NotDeleted}},
		{"failure domains added: none has appeared", groups(split(scaled("a", 2, 10), "x", "y")),
			mds(md("c1-a", 8, owned(ownsRange), applied("2", "10"))), nil,
			[]string{workers.NotCreated, workers.NotCreated, workers.NotDeleted}},
		{"failure domains added: all parts are there", groups(split(scaled("a", 2, 10), "x", "y")),
			append(parts(1, 1), md("c1-a", 8, owned(ownsRange), applied("2", "10"))),
			nil, []string{workers.NotDeleted}},
		{"one failure domain more: the others keep what they have until it is there", groups(split(scaled("a", 2, 10), "x", "y", "z")), parts(5, 5), nil, []string{workers.NotCreated}},
		{"one failure domain more, without autoscaling", groups(split(fixed("a", 8), "x", "y")), mds(md("c1-a-x", 8, owned(ownsReplicas))), nil, []string{workers.NotCreated}},
		{"a part that was never applied to is not for a person to delete either", groups(scaled("a", 2, 10)), mds(md("c1-a-x", 4)), nil, []string{workers.NotCreated, workers.NotDeleted}},

		// Names that begin alike: what may be another group's part is left alone.
		{"a removed group whose name begins like another's", groups(fixed("a", 1)), mds(md("c1-a", 1, owned(ownsReplicas)), md("c1-a-x", 4, owned(ownsRange))), nil, []string{workers.NotDeleted}},
		{"a removed group whose name is the beginning of another's", groups(fixed("a-x", 1)),
			mds(md("c1-a-x", 1, owned(ownsReplicas)), md("c1-a", 4, owned(ownsRange))),
			nil, []string{workers.NotDeleted}},
		{"a removed group whose name only begins with the same letters", groups(fixed("a", 1)),
			mds(md("c1-a", 1, owned(ownsReplicas)), md("c1-ab", 4, owned(ownsRange))),
			nil, []string{workers.NotDeleted}},

		// Real machines of a group that was removed, or renamed, are EKS Anywhere's to delete.
		{"a group that was removed", groups(fixed("a", 1)),
			mds(md("c1-a", 1, owned(ownsReplicas)), md("c1-b", 4, owned(ownsRange), applied("1", "5"))),
			nil, []string{workers.NotDeleted}},
		{"a group that was renamed, and its successor is there", groups(scaled("a", 1, 5)),
			mds(md("c1-a", 4, owned(ownsRange), applied("1", "5")), md("c1-b", 4, owned(ownsRange), applied("1", "5"))),
			nil, []string{workers.NotDeleted}},
		{"simulated machines of two removed groups go one at a time", groups(fixed("a", 1)), mds(md("c1-a", 1,
			owned(ownsReplicas)), md("c1-b", 4, owned(ownsRange), simulated), md("c1-d", 4, owned(ownsRange), simulated)),
			[]step{{workers.Delete, "c1-b", nil}}, []string{workers.NotDeleted}},
		{"simulated machines of a removed group wait for another's end", groups(fixed("a", 1)), mds(md(
			"c1-a", 1, owned(ownsReplicas),
		), md("c1-b", 4, owned(ownsRange), simulated, deleting), md("c1-d", 4, owned(ownsRange), simulated)),
			nil, []string{workers.NotDeleted}},
		{"simulated machines of a renamed group wait for its successor", groups(fixed("a", 3)),
			mds(md("c1-a", 3, owned(ownsReplicas), ready(2)), md("c1-b", 4, owned(ownsRange), simulated)),
			nil, []string{workers.NotDeleted}},
		{"simulated machines that this controller never applied to", groups(fixed("a", 1)), mds(md("c1-a", 1, owned(ownsReplicas)), md("c1-b", 4, simulated)), nil, []string{workers.NotDeleted}},
		{"a group that was removed and is on its way out", groups(fixed("a", 1)), mds(md("c1-a", 1, owned(ownsReplicas)), md("c1-b", 4, owned(ownsRange), deleting)), nil, nil},
		{"a machine deployment of another owner", groups(fixed("a", 1)), mds(md("c1-a", 1, owned(ownsReplicas)), md("c1-b", 4)), nil, []string{workers.NotDeleted}},
		{"one that is being deleted is left to it", groups(fixed("a", 1)), mds(md("c1-a", 4, deleting)), nil, nil},
		{"one that cannot be made here", groups(scaled("a", 1, 5)), nil, nil, []string{workers.NotCreated}},
		{"another cluster's name", groups(kwok(fixed("a", 1), "t")), mds(md("c1-a", 4, ofCluster2)), nil, []string{workers.NameTaken}},
		{"an empty range", groups(scaled("a", 0, 0)), mds(md("c1-a", 0, owned(ownsRange), applied("0", "0"))), nil, []string{workers.EmptyRange}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := workers.MakePlan(cluster(), bind(tt.groups, tt.found), workers.Names{
				Cluster: "c1", Namespace: "eksa-system", Version: "v1beta2",
			})
			var got []step
			for _, s := range p.Steps {
				got = append(got, step{s.Verb, s.Name, s.Body})
				if s.UID != "uid-"+s.Name || s.ResourceVersion != "7" || s.Why == "" {
					t.Errorf("%s %s expects uid %q and resource version %q, because %q",
						s.Verb, s.Name, s.UID, s.ResourceVersion, s.Why)
				}
			}
			var notes []string
			for _, n := range p.Notes {
				notes = append(notes, n.Reason)
			}
			if diff := cmp.Diff(tt.want, got) + cmp.Diff(tt.notes, notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// parts are the machine deployments of a group that is split over the failure domains
// x and y and may have 2 to 10 nodes.
func parts(x, y int) []workers.MachineDeployment {
	return mds(md("c1-a-x", x, owned(ownsRange), applied("1", "5")), md("c1-a-y", y, owned(ownsRange), applied("1", "5")))
}

// TestPlanLeftoversOfRenderedGroups: simulated machines of a name that a group may have
// had go once all that the group should have is there and available.
func TestPlanLeftoversOfRenderedGroups(t *testing.T) {
	names := workers.Names{Cluster: "c1", Namespace: "eksa-system", Version: "v1beta2"}
	left := md("c1-a-x", 4, owned(ownsRange), simulated)
	for _, tt := range []struct {
		name  string
		group v1alpha1.WorkerNodeGroup
		whole []workers.MachineDeployment
		want  bool // deleted
	}{
		{"not there", scaled("a", 2, 10), nil, false},
		{"too few are available", scaled("a", 2, 10), mds(md("c1-a", 3, ready(1))), false},
		{"the minimum is available", scaled("a", 2, 10), mds(md("c1-a", 3, ready(2))), true},
		{"the count is not available", fixed("a", 3), mds(md("c1-a", 3, ready(2))), false},
		{"the count is available", fixed("a", 3), mds(md("c1-a", 3)), true},
		{"its status is that of an older spec", fixed("a", 3), mds(md("c1-a", 3, unobserved)), false},
		{"it goes as well", fixed("a", 3), mds(md("c1-a", 3, deleting)), false},
		{"another cluster has its name", fixed("a", 3), mds(md("c1-a", 3, ofCluster2)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := workers.MakePlan(cluster(), bind(groups(kwok(tt.group, "small")), append(tt.whole, left)), names)
			deletes := slices.ContainsFunc(p.Steps, func(s workers.Step) bool {
				return s.Verb == workers.Delete && s.Name == left.Name
			})
			told := slices.ContainsFunc(p.Notes, func(n workers.Note) bool {
				return n.Reason == workers.NotDeleted && n.Subject == left.Name
			})
			if deletes != tt.want || told == tt.want {
				t.Errorf("deleted: %v, told that it is not: %v", deletes, told)
			}
		})
	}
}

// TestPlanTellsWhyItLeavesAPart: it is EKS Anywhere that has to act, not a person.
func TestPlanTellsWhyItLeavesAPart(t *testing.T) {
	p := workers.MakePlan(cluster(), bind(groups(split(scaled("a", 2, 10), "z")), parts(4, 4)), workers.Names{
		Cluster: "c1", Namespace: "eksa-system", Version: "v1beta2",
	})
	var got []string
	for _, n := range p.Notes {
		got = append(got, n.Message)
	}
	const keeps = " belongs to no worker node group: EKS Anywhere's own controller deletes it once it has made the " +
		"others; if it is none of EKS Anywhere's, delete it, or take its label cluster.x-k8s.io/cluster-name away"
	want := []string{
		`machine deployment c1-a-z is not there, and one for machines of kind "" must be made by EKS Anywhere's own controller`,
		"machine deployment c1-a-x" + keeps,
		"machine deployment c1-a-y" + keeps,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRender: the whole machine deployment of simulated machines, in both
// versions; complete without a webhook, but for the replicas of an autoscaled
// group.
func TestRender(t *testing.T) {
	rolling := map[string]any{
		"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(2), "maxUnavailable": int64(1)},
	}
	selector := map[string]any{"cluster.x-k8s.io/cluster-name": "c1", "cluster.x-k8s.io/deployment-name": "c1-a"}
	want := func(ref map[string]any) map[string]any {
		return map[string]any{
			"metadata": map[string]any{
				"labels":      map[string]any{"cluster.x-k8s.io/cluster-name": "c1"},
				"annotations": map[string]any{minKey: "1", maxKey: "5", rangeKey: "1..5"},
			},
			"spec": map[string]any{
				"clusterName": "c1",
				"selector":    map[string]any{"matchLabels": selector},
				"template": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{
						"cluster.x-k8s.io/cluster-name": "c1", "cluster.x-k8s.io/deployment-name": "c1-a",
						"node-role.kubernetes.io/worker": ""}},
					"spec": map[string]any{
						"clusterName": "c1", "version": "v1.34.0", "bootstrap": map[string]any{"dataSecretName": "none"},
						"infrastructureRef": ref,
					},
				},
			},
		}
	}
	beta2 := want(map[string]any{
		"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "KwokMachineTemplate", "name": "small",
	})
	beta2["spec"].(map[string]any)["rollout"] = map[string]any{"strategy": rolling}
	beta1 := want(map[string]any{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
		"kind":       "KwokMachineTemplate",
		"name":       "small",
		"namespace":  "eksa-system",
	})
	beta1["spec"].(map[string]any)["strategy"] = rolling

	g := kwok(scaled("a", 1, 5), "small")
	g.Labels = map[string]string{"node-role.kubernetes.io/worker": ""}
	g.KubernetesVersion = "1.34"
	g.UpgradeRolloutStrategy = &v1alpha1.UpgradeRolloutStrategy{
		Type: "RollingUpdate", RollingUpdate: &v1alpha1.RollingUpdate{MaxSurge: 2, MaxUnavailable: 1},
	}
	c := cluster(func(c *v1alpha1.Cluster) { c.Spec.KubernetesVersion = "1.33" })
	for version, body := range map[string]map[string]any{"v1beta2": beta2, "v1beta1": beta1} {
		p := workers.MakePlan(c, bind(groups(g), nil), workers.Names{
			Cluster: "c1", Namespace: "eksa-system", Version: version,
		})
		if len(p.Steps) != 1 || p.Steps[0].Verb != workers.Apply || p.Steps[0].UID != "" {
			t.Fatalf("%s: got %+v", version, p.Steps)
		}
		if diff := cmp.Diff(body, p.Steps[0].Body); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
}

// TestRenderWithoutBounds: a strategy that names only its type has Cluster API's own
// bounds, and not 0 and 0, with which no machine could ever be replaced.
func TestRenderWithoutBounds(t *testing.T) {
	g := kwok(fixed("a", 1), "small")
	g.UpgradeRolloutStrategy = &v1alpha1.UpgradeRolloutStrategy{Type: "RollingUpdate"}
	p := workers.MakePlan(cluster(), bind(groups(g), nil), workers.Names{
		Cluster: "c1", Namespace: "eksa-system", Version: "v1beta2",
	})
	want := map[string]any{"strategy": map[string]any{
		"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1), "maxUnavailable": int64(0)},
	}}
	if diff := cmp.Diff(want, p.Steps[0].Body["spec"].(map[string]any)["rollout"]); diff != "" {
		t.Error(diff)
	}
}

// TestIgnored: a count that means nothing is told of when a person has written it.
func TestIgnored(t *testing.T) {
	with := func(g v1alpha1.WorkerNodeGroup, n int) v1alpha1.WorkerNodeGroup { g.Count = &n; return g }
	const message = "count 3 of worker node group a is ignored: the autoscaler sizes it between 1 and 5"
	tests := []struct {
		name   string
		before map[string]int
		group  v1alpha1.WorkerNodeGroup
		want   string
	}{
		{"at first sight", nil, with(scaled("a", 1, 5), 3), message},
		{"the minimum is what EKS Anywhere writes", nil, with(scaled("a", 3, 5), 3), ""},
		{"no count", nil, scaled("a", 1, 5), ""},
		{"changed", map[string]int{"a": 2}, with(scaled("a", 1, 5), 3), message},
		{"unchanged", map[string]int{"a": 3}, with(scaled("a", 1, 5), 3), ""},
		{"autoscaling switched on, and the count stays", workers.Counts(bind(groups(fixed("a", 3)), nil)), with(scaled("a", 1, 5), 3), message},
		{"the count stays autoscaled", workers.Counts(bind(groups(with(scaled("a", 1, 5), 3)), nil)), with(scaled("a", 1, 5), 3), ""},
		{"not autoscaled", map[string]int{"a": 2}, fixed("a", 3), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, n := range workers.Ignored(tt.before, bind(groups(tt.group), nil)) {
				got += n.Message
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTheWrongNamespaceIsSuspected: where there is no machine deployment of any
// cluster, it is not EKS Anywhere that is late.
func TestTheWrongNamespaceIsSuspected(t *testing.T) {
	const hint = "namespace eksa-system has no machine deployment at all: is --machine-deployment-namespace right?"
	for _, tt := range []struct {
		found []workers.MachineDeployment
		want  bool
	}{{nil, true}, {mds(md("c2-x", 1, ofCluster2)), false}} {
		w := bind(groups(scaled("a", 1, 5)), tt.found)
		p := workers.MakePlan(cluster(), w, workers.Names{Cluster: "c1", Namespace: "eksa-system", Version: "v1beta2"})
		if got := strings.Contains(p.Notes[0].Message, hint); got != tt.want {
			t.Errorf("%d machine deployments: the event says %q", len(tt.found), p.Notes[0].Message)
		}
		if got := strings.Contains(workers.Ready(cluster(), w).Message, "--machine-deployment-namespace"); got != tt.want {
			t.Errorf("%d machine deployments: the condition says %q", len(tt.found), workers.Ready(cluster(), w).Message)
		}
	}
}

// TestLongNamesOfSimulatedGroups: a machine deployment whose name is longer than a
// label's value may be has valid labels all the same, other ones than its neighbour.
func TestLongNamesOfSimulatedGroups(t *testing.T) {
	long := strings.Repeat("long-", 14)
	seen := map[string]bool{}
	for _, name := range []string{long + "a", long + "b"} {
		p := workers.MakePlan(cluster(), workers.Bind("c1", groups(kwok(fixed(name, 1), "small")), v1alpha1.Nutanix{}, nil),
			workers.Names{Cluster: "c1", Namespace: "eksa-system", Version: "v1beta2"})
		value, _, _ := unstructured.NestedString(p.Steps[0].Body,
			"spec", "template", "metadata", "labels", "cluster.x-k8s.io/deployment-name")
		if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 || seen[value] {
			t.Errorf("%s: %q %v", name, value, wrong)
		}
		seen[value] = true
	}
}
