package story

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// emptyRecord is one without a watch; what it tells goes to told.
func emptyRecord(told *[]string) *workerRecord {
	return newWorkerRecord(anywhereCluster, func(c v1alpha1.Condition) { *told = append(*told, conditionText(c)) })
}

func testCluster(version string, ready v1alpha1.Condition) *unstructured.Unstructured {
	u := eksanywhere.Cluster(eksanywhere.Namespace, anywhereCluster)
	u.SetUID("c")
	u.SetResourceVersion(version)
	u.Object["spec"] = anywhereSpec(anywhereNew, true, 1)
	u.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Other", "status": "False"},
		map[string]any{"type": ready.Type, "status": ready.Status, "reason": ready.Reason, "message": ready.Message},
	}}
	return u
}

func testDeployment(group, version string, replicas, actual int32) *clusterv1.MachineDeployment {
	md := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{
		Name: deploymentOf(group), UID: types.UID(group), ResourceVersion: version, Generation: 7,
	}}
	md.Spec.Replicas, md.Status.Replicas, md.Status.ReadyReplicas = ptr.To(replicas), ptr.To(actual), ptr.To(actual)
	md.Spec.Template.Spec.Version = machineVersion(anywhereNew)
	md.Status.ObservedGeneration = 7
	return md
}

func testMachine(uid, group, version string) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID(uid), Labels: map[string]string{clusterv1.MachineDeploymentNameLabel: deploymentOf(group)},
	}}
	m.Spec.Version = machineVersion(version)
	return m
}

func condition(status, reason, message string) v1alpha1.Condition {
	return v1alpha1.Condition{Type: v1alpha1.WorkersReady, Status: status, Reason: reason, Message: message}
}

// A number or a condition that was there between two looks is in the record.
func TestRecordKeepsWhatIsGoneAgain(t *testing.T) {
	var told []string
	r := emptyRecord(&told)
	saw := func(o any) {
		switch o := o.(type) {
		case *unstructured.Unstructured:
			r.take(watch.Event{Type: watch.Modified, Object: o})
		case *clusterv1.MachineDeployment:
			r.take(watch.Event{Type: watch.Modified, Object: o})
		}
	}
	rolling := condition("False", "RollingUpgradeInProgress", "10 upgrading")
	saw(testCluster("1", condition("False", "ScalingUp", "")))
	saw(testCluster("2", condition("True", "", "")))
	saw(testDeployment(anywhereAuto, "3", 1, 1))
	saw(testDeployment(anywhereAuto, "4", 10, 1))
	from := r.here()
	saw(testDeployment(anywhereAuto, "5", 10, 9))
	saw(testDeployment(anywhereAuto, "6", 9, 9))
	saw(testDeployment(anywhereAuto, "7", 10, 9))
	saw(testCluster("8", rolling))
	saw(testCluster("9", rolling))
	rolling.Message = "9 upgrading"
	saw(testCluster("10", rolling))
	saw(testCluster("11", condition("True", "", "")))

	p := r.passage(from)
	if diff := cmp.Diff([]int{10, 9, 10}, p.replicas[deploymentOf(anywhereAuto)]); diff != "" {
		t.Error(diff)
	}
	var was []string
	for _, c := range p.conditions {
		was = append(was, conditionText(c))
	}
	if diff := cmp.Diff([]string{
		"True", "False, RollingUpgradeInProgress: 10 upgrading", "False, RollingUpgradeInProgress: 9 upgrading", "True",
	}, was); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]string{"False, ScalingUp", "True", "False, RollingUpgradeInProgress: 10 upgrading", "True"}, told,
	); diff != "" {
		t.Errorf("told: %s", diff)
	}
	if r.behind(map[types.UID]string{"c": "11", "auto": "7"}) || !r.behind(map[types.UID]string{"c": "12"}) ||
		!r.behind(map[types.UID]string{"new": "1"}) {
		t.Error("it does not know what it has seen")
	}
}

// Where the record may have missed something, it says so instead of judging.
func TestRecordWithAGapIsAnError(t *testing.T) {
	var told []string
	r := emptyRecord(&told)
	r.take(watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old"}})
	if _, err := r.look(); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("got %v", err)
	}
	a := act{record: r.record}
	if err := a.wait(t.Context(), &scene{Stage: &stage.Stage{Watch: &stage.Watch{}}}, step{
		done: func(stage.Tally) bool { return true },
	}); err == nil {
		t.Error("it waits on without a record")
	}
}

// A watch that the story ends is no gap; one that the API server ends is.
func TestRecordNoticesThatAWatchEnds(t *testing.T) {
	for _, byStory := range []bool{true, false} {
		var watches []*watch.FakeWatcher
		admin := interceptor.NewClient(fake.NewClientBuilder().WithScheme(objects.Scheme()).Build(), interceptor.Funcs{
			Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
				watches = append(watches, watch.NewFake())
				return watches[len(watches)-1], nil
			},
		})
		r := emptyRecord(new([]string))
		r.admin = admin
		if err := r.watch(t.Context(), workerLists()...); err != nil {
			t.Fatal(err)
		}
		changed, _ := r.look()
		watches[1].Add(testDeployment(anywhereAuto, "1", 1, 1))
		<-changed
		changed, err := r.look()
		if now := r.now(); err != nil || now.deployments[deploymentOf(anywhereAuto)].replicas != 1 {
			t.Fatalf("got %v, %v", now, err)
		}
		if !byStory {
			watches[0].Stop()
			<-changed
		}
		r.stop()
		if _, err := r.look(); (err == nil) != byStory {
			t.Errorf("ended by the story: %v; the record says %v", byStory, err)
		}
	}
}

func TestSettled(t *testing.T) {
	version := machineVersion(anywhereNew)
	for name, tt := range map[string]struct {
		change func(*workerRecord)
		want   bool
	}{
		"as wanted":       {func(*workerRecord) {}, true},
		"another number":  {func(r *workerRecord) { r.take(watch.Event{Object: testDeployment(anywhereAuto, "2", 3, 2)}) }, false},
		"an old machine":  {func(r *workerRecord) { r.take(watch.Event{Object: testMachine("m1", anywhereAuto, anywhereOld)}) }, false},
		"one that leaves": {func(r *workerRecord) { r.take(watch.Event{Object: testMachine("m3", anywhereAuto, anywhereOld)}) }, false},
		"one that is gone": {func(r *workerRecord) {
			m := testMachine("m3", anywhereAuto, anywhereOld)
			r.take(watch.Event{Object: m})
			r.take(watch.Event{Type: watch.Deleted, Object: m})
		}, true},
		"of another group": {func(r *workerRecord) { r.take(watch.Event{Object: testMachine("m3", anywhereFixed, anywhereOld)}) }, true},
		"an old status": {func(r *workerRecord) {
			md := testDeployment(anywhereAuto, "2", 2, 2)
			md.Generation++
			r.take(watch.Event{Object: md})
		}, false},
		"the old version": {func(r *workerRecord) {
			md := testDeployment(anywhereAuto, "2", 2, 2)
			md.Spec.Template.Spec.Version = machineVersion(anywhereOld)
			r.take(watch.Event{Object: md})
		}, false},
		"deleted": {func(r *workerRecord) {
			r.take(watch.Event{Type: watch.Deleted, Object: testDeployment(anywhereAuto, "2", 2, 2)})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := emptyRecord(new([]string))
			r.take(watch.Event{Object: testDeployment(anywhereAuto, "1", 2, 2)})
			r.take(watch.Event{Object: testMachine("m1", anywhereAuto, anywhereNew)})
			r.take(watch.Event{Object: testMachine("m2", anywhereAuto, anywhereNew)})
			tt.change(r)
			now := r.now()
			if got := now.settled(deploymentOf(anywhereAuto), 2, version); got != tt.want {
				t.Errorf("got %v: %s", got, now)
			}
		})
	}
}

func TestJudges(t *testing.T) {
	was := func(numbers ...int) passage {
		return passage{replicas: map[string][]int{deploymentOf(anywhereAuto): numbers}}
	}
	for name, tt := range map[string]struct {
		err  error
		want string // part of the error; empty: there is none
	}{
		"kept":                {wantReplicas(was(10), anywhereAuto, 10), ""},
		"lost for a moment":   {wantReplicas(was(10, 1, 10), anywhereAuto, 10), "the replicas of auto were 10 → 1 → 10, want 10"},
		"never there":         {wantReplicas(passage{}, anywhereAuto, 10), "want 10"},
		"grown in two steps":  {wantGrowth([]int{1, 4, 10}), ""},
		"shrunk in between":   {wantGrowth([]int{1, 4, 3, 10}), "1 → 4 → 3 → 10"},
		"not grown":           {wantGrowth([]int{1}), "grow from 1 to 10"},
		"not grown all":       {wantGrowth([]int{1, 9}), "grow from 1 to 10"},
		"True throughout":     {wantTrue(condition("True", "", "")), ""},
		"False for a moment":  {wantTrue(condition("True", "", ""), condition("False", "ScalingDown", "1 expected (10 actual)"), condition("True", "", "")), "ScalingDown: 1 expected (10 actual)"},
		"no condition at all": {wantTrue(v1alpha1.Condition{}), "not there"},
	} {
		if (tt.err == nil) != (tt.want == "") || tt.err != nil && !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: got %v", name, tt.err)
		}
	}
}

func wantTrue(conditions ...v1alpha1.Condition) error {
	return wantReady(passage{conditions: conditions}, func(c v1alpha1.Condition) bool { return c.Status == v1alpha1.True })
}

// exampleWorkers is an upgrade in the middle, and a group that is not there yet.
func exampleWorkers() Frame {
	r := emptyRecord(new([]string))
	for _, o := range []watch.Event{
		{Object: testCluster("1", condition("False", "RollingUpgradeInProgress", "Worker nodes of prod-auto not up-to-date yet"))},
		{Object: testDeployment(anywhereAuto, "2", 2, 1)},
		{Object: testMachine("m1", anywhereAuto, anywhereOld)},
		{Object: testMachine("m2", anywhereAuto, anywhereNew)},
		{Object: testMachine("m3", anywhereAuto, anywhereNew)},
	} {
		r.take(o)
	}
	tally := stage.Tally{
		Workloads: map[string]stage.Pods{"web": {All: 2, Bound: 2, Running: 2}},
		Groups:    map[string]stage.Nodes{"prod-auto": {All: 3, Ready: 2, Leaving: 1}},
	}
	return newFrame("an upgrade", 1500*time.Millisecond, tally, []stage.Workload{{Name: "web", Replicas: 2}},
		newWorkersRows(anywhereCluster, r.now(), tally))
}

func TestFrameOfWorkers(t *testing.T) {
	f := exampleWorkers()
	want := []string{
		"── an upgrade ── 1.5 s",
		"  pods",
		"    web    ██████████████████████████████    2 of   2 run",
		"  worker groups   ■ ready  □ starting  ▨ leaving",
		"               count  autoscaled  replicas  ready   v1.37.0   nodes",
		"    fixed          2                     -      -         -",
		"    auto   1 ignored     1 to 10         2      1    2 of 3   ■■▨",
		"  WorkersReady   False, RollingUpgradeInProgress: Worker nodes of prod-auto not up-to-date yet",
	}
	if diff := cmp.Diff(want, f.Lines(100)); diff != "" {
		t.Error(diff)
	}
	line := "pods: web 2 of 2 run | fixed (count 2): not there yet; auto (count 1 ignored, 1 to 10): replicas 2, ready " +
		"1, v1.37.0 on 2 of 3 | WorkersReady False, RollingUpgradeInProgress"
	if diff := cmp.Diff(line, f.Line()); diff != "" {
		t.Error(diff)
	}
	f.Columns = newWorkersRows(anywhereCluster, workerState{}, stage.Tally{})
	if got := f.Line(); !strings.Contains(got, "| no worker groups | WorkersReady not there") {
		t.Errorf("before the Cluster: %q", got)
	}
}

func TestControllerEvent(t *testing.T) {
	event := corev1.Event{ReportingController: "plimsoll-eks-anywhere", Message: "applied"}
	if got := controllerEvent(&event); got != "applied" {
		t.Errorf("got %q", got)
	}
	event.ReportingController = "kwok"
	if got := controllerEvent(&event); got != "" {
		t.Errorf("of another: got %q", got)
	}
}

func TestEKSAnywhereResult(t *testing.T) {
	yes, no := condition("True", "", ""), func(reason string) v1alpha1.Condition { return condition("False", reason, "x") }
	r := eksAnywhereResult{Steps: []eksAnywhereStep{
		{"created", 8 * time.Second, []int{1}, []v1alpha1.Condition{no("ScalingUp"), no("RollingUpgradeInProgress"), no("NodesNotReady"), yes}},
		{"pods", 6 * time.Second, []int{1, 10}, []v1alpha1.Condition{yes}},
		{"upgrade", 31500 * time.Millisecond, []int{10}, []v1alpha1.Condition{yes, no("OutdatedInformation"), no("RollingUpgradeInProgress"), no("OutdatedInformation"), yes}},
		{"unknown", time.Second, []int{10}, []v1alpha1.Condition{yes, no("OutdatedInformation"), yes}},
	}}
	want := `
    what happened  seconds  replicas of auto  WorkersReady
    -------------  -------  ----------------  --------------------------------------
    created            8.0                 1  ScalingUp ... NodesNotReady, then True
    pods               6.0            1 → 10  True throughout
    upgrade           31.5                10  RollingUpgradeInProgress, then True
    unknown            1.0                10  OutdatedInformation, then True
`
	if got := r.String(); !strings.HasPrefix(got, want[1:]) {
		t.Errorf("got\n%s", got)
	}
}
