package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// pad notes events, each as "object reason: message".
type pad struct{ notes []string }

func (p *pad) Event(object runtime.Object, kind, reason, message string) {
	ref := object.(*corev1.ObjectReference)
	p.notes = append(p.notes, fmt.Sprintf("%s %s/%s %s %s: %s", ref.Kind, ref.Namespace, ref.Name,
		kind, reason, message))
}
func (p *pad) Eventf(runtime.Object, string, string, string, ...any) { panic("not used") }
func (p *pad) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {
	panic("not used")
}

func (p *pad) take() []string {
	n := p.notes
	p.notes = nil
	return n
}

type desk struct {
	*Reporter
	pad *pad
	log *bytes.Buffer
}

func newDesk(change ...func(*Settings)) *desk {
	s := Settings{Namespace: "kube-system", StatusConfigMap: "status",
		Health: HealthLimits{10 * time.Minute, 15 * time.Minute, 20 * time.Minute}}
	for _, c := range change {
		c(&s)
	}
	d := &desk{pad: &pad{}, log: &bytes.Buffer{}}
	d.Reporter = New(d.pad, s, slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})))
	return d
}

func (d *desk) takeLog() []string {
	text := strings.TrimSpace(d.log.String())
	d.log.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (d *desk) page(t *testing.T, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func (d *desk) report(t *testing.T, c model.Cycle) {
	t.Helper()
	if len(c.Snapshot.Contents.Shapes) == 0 { // a node always has one
		c.Snapshot.Contents.Shapes = []*model.Shape{{Node: &corev1.Node{}}}
	}
	if err := d.Report(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// snapshot has one class, ns/web, with n pods pending, group a, and a node.
func snapshot(n int) *model.Snapshot {
	s := &model.Snapshot{Now: time.Unix(1000, 0), AsOf: time.Unix(990, 0)}
	s.Classes = []model.Class{{Key: "web",
		Spec: &model.Spec{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}}}}
	q := model.Pending{Class: 0, Refused: true}
	for i := range n {
		q.Pods = append(q.Pods, &model.Pod{Name: fmt.Sprintf("web-%03d", i), UID: types.UID(fmt.Sprint("uid", i))})
	}
	if n > 0 {
		s.Pending = []model.Pending{q}
	}
	s.Groups = []model.Group{{Group: provider.Group{ID: "a", Min: 1, Max: 10, Target: 1,
		Instances: []provider.Instance{{ID: "i"}, {ID: "new"}}}, ReadyNodes: 1}}
	s.Groups[0].GroupStanding = model.GroupStanding{Expected: 1,
		Counts: model.Counts{Total: 1, Ready: 1, Unregistered: 1}}
	s.Counts = s.Groups[0].Counts
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "node-uid"}, Status: corev1.NodeStatus{
		Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"),
			corev1.ResourceMemory: resource.MustParse("1Gi")},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	s.Nodes = []*model.Node{{Name: "n", Object: node, Group: 0, Instance: "i"}}
	s.Contents.Shapes = []*model.Shape{{Node: node, Capacity: model.ResourcesOf(node.Status.Capacity)}}
	return s
}

// growing is a cycle that grows group a from 1 to 3 for planned pods.
func growing(pods, planned int, groups ...model.GroupVerdict) model.Cycle {
	return model.Cycle{Decided: true, Snapshot: snapshot(pods), Plan: model.Plan{
		Calls:   []model.Call{{Verb: model.Grow, Group: "a", From: 1, To: 3, MaxTo: 10}},
		Grow:    []model.Growth{{Group: "a", From: 1, To: 3, Pods: []model.Batch{{Class: 0, Count: planned}}}},
		Pending: []model.PendingVerdict{{Class: 0, Pods: pods, Planned: planned, Left: pods - planned, Groups: groups}},
		Nodes:   2, LowerBound: 1, Price: 0.5, PriceBound: 0.25, Work: model.Work{Filters: 7},
	}}
}

func leaving(pods int, verdicts ...model.GroupVerdict) model.Cycle {
	return model.Cycle{Decided: true, Snapshot: snapshot(pods), Plan: model.Plan{
		Pending: []model.PendingVerdict{{Class: 0, Pods: pods, Left: pods, Groups: verdicts}}}}
}

func says(group string, r model.Reason, detail string) model.GroupVerdict {
	return model.GroupVerdict{Group: provider.GroupID(group), Verdict: model.Verdict{Reason: r, Detail: detail}}
}

func TestActingCycle(t *testing.T) {
	d := newDesk()
	d.report(t, growing(3, 2, says("a", model.GroupAtMax, "3 of 3")))
	log := d.takeLog()
	if len(log) != 2 || !strings.Contains(log[0],
		`msg=acting grow="a 1->3 (max 10)" nodes=2 lower_bound=1 for_pods=2 price=0.5 price_bound=0.25`) ||
		!strings.Contains(log[1], `class=ns/web pods=1 of=3 why="a: GroupAtMax (3 of 3)"`) {
		t.Errorf("log:\n%s", strings.Join(log, "\n"))
	}
	want := []string{
		"ConfigMap kube-system/status Normal ScaledUpGroup: Scale-up: group a goes from 1 to 3 nodes (max: 10)",
		"Pod ns/web-000 Normal TriggeredScaleUp: pod triggered scale-up: [{a 1->3 (max: 10)}]",
		"Pod ns/web-001 Normal TriggeredScaleUp: pod triggered scale-up: [{a 1->3 (max: 10)}]",
		"Pod ns/web-002 Normal NotTriggerScaleUp: pod didn't trigger scale-up: a: GroupAtMax (3 of 3)",
	}
	if got := d.pad.take(); !slices.Equal(got, want) {
		t.Errorf("events:\n%s", strings.Join(got, "\n"))
	}
}

// Pods are told of each answer, however soon it follows another one, and of none twice.
func TestPodsAreToldEachAnswer(t *testing.T) {
	d := newDesk()
	for _, reason := range []model.Reason{model.GroupPaused, model.GroupBackoff, model.GroupBackoff,
		model.GroupPaused} {
		d.report(t, leaving(1, says("a", reason, "")))
		d.report(t, leaving(1, says("b", reason, ""), says("c", reason, ""))) // the same, by other groups
	}
	want := []string{
		"Pod ns/web-000 Normal NotTriggerScaleUp: pod didn't trigger scale-up: a: GroupPaused",
		"Pod ns/web-000 Normal NotTriggerScaleUp: pod didn't trigger scale-up: a: GroupBackoff",
	}
	if got := d.pad.take(); !slices.Equal(got, want) {
		t.Errorf("events:\n%s", strings.Join(got, "\n"))
	}
}

// While nothing changes, nothing is said; each change is said once.
func TestQuietWhileNothingChanges(t *testing.T) {
	d := newDesk()
	quiet := func(name string, c model.Cycle, want bool) {
		t.Helper()
		d.report(t, c)
		if log := d.takeLog(); (len(log) == 0) != want {
			t.Errorf("%s: %v", name, log)
		}
	}
	quiet("first", leaving(2, says("a", model.InsufficientResources, "cpu 4 > 3.67")), false)
	quiet("the same", leaving(2, says("a", model.InsufficientResources, "cpu 4 > 3.67")), true)
	quiet("an age passes", leaving(2, says("a", model.InsufficientResources, "cpu 4 > 3.66")), true)
	quiet("a call is under way", leaving(2, says("a", model.GroupBusy, "")), true)
	quiet("and ended", leaving(2, says("a", model.InsufficientResources, "")), true)
	quiet("another reason", leaving(2, says("a", model.GroupAtMax, "")), false)
	quiet("another number", leaving(3, says("a", model.GroupAtMax, "")), false)
	quiet("nothing decided", model.Cycle{Snapshot: snapshot(3)}, true)
	quiet("all have room", model.Cycle{Decided: true, Snapshot: snapshot(0)}, true)
	quiet("pods wait again", leaving(3, says("a", model.GroupAtMax, "")), false)
	young := leaving(1)
	young.Plan.Pending[0].Left, young.Plan.Pending[0].Skipped = 0, &model.Verdict{Reason: model.NotRefused}
	young.Plan.Pending[0].Since = young.Snapshot.Now
	quiet("not refused yet", young, true)
	young.Plan.Pending[0].Since = young.Snapshot.Now.Add(-model.IgnoredAfter)
	quiet("no scheduler looks at it", young, false)
	young.Plan.Pending[0].Skipped = &model.Verdict{Reason: model.Expendable}
	quiet("expendable", young, false)
}

func TestEventsRepeatAfterFiveMinutesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := newDesk(), newDesk(func(s *Settings) { s.DuplicatedEvents = true })
		count := func(d *desk) int { d.report(t, growing(2, 2)); return len(d.pad.take()) }
		if a, b := count(d), count(all); a != 3 || b != 3 {
			t.Errorf("first: %d and %d events", a, b)
		}
		time.Sleep(4 * time.Minute)
		if a, b := count(d), count(all); a != 0 || b != 3 {
			t.Errorf("after 4 minutes: %d and %d events", a, b)
		}
		time.Sleep(90 * time.Second)
		if a := count(d); a != 3 {
			t.Errorf("after 5.5 minutes: %d events", a)
		}
	})
}

func TestFewPodsOfAClassGetAnEvent(t *testing.T) {
	d := newDesk()
	d.report(t, leaving(10000, says("a", model.GroupAtMax, "")))
	if n := len(d.pad.take()); n != podsPerClass {
		t.Errorf("%d events", n)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	var groups []model.GroupVerdict
	for i := range 5 {
		groups = append(groups, says(fmt.Sprintf("grüppe-%03d", i), model.NodeAffinity,
			fmt.Sprint(i, strings.Repeat("ü", 200))))
	}
	d := newDesk()
	groups[3].Reason, groups[3].Fix = model.GroupAtMax, "max ≥ 4"
	groups[3].Detail += strings.Repeat("ü", 200)
	d.report(t, leaving(1, groups...))
	_, message, _ := strings.Cut(d.pad.take()[0], "NotTriggerScaleUp: ")
	const end = " ... (plimsoll explain pod ns/web-000 has the rest); nearest fix: max ≥ 4 (grüppe-003, not tried)"
	if len(message) > maxMessage || len(message) < maxMessage-10 || !strings.HasSuffix(message, end) ||
		strings.ContainsRune(message, '�') {
		t.Errorf("%d bytes: %q", len(message), message[len(message)-120:])
	}
	if !strings.Contains(message, "grüppe-003: GroupAtMax (3ü") {
		t.Error(message)
	}
}

func TestMessagesAreCutBetweenCharacters(t *testing.T) {
	for pad := range 4 {
		got := bounded(strings.Repeat("x", pad) + strings.Repeat("ü", maxMessage))
		if len(got) > maxMessage || !utf8.ValidString(got) {
			t.Errorf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
		}
	}
}

func outcome(v model.Verb, err *provider.Error) model.Outcome {
	o := model.Outcome{Call: model.Call{Verb: v, Group: "a", From: 1, To: 3, Why: "empty for 10m"}, Err: err,
		Began: time.Unix(1, 0), Ended: time.Unix(2, 0)}
	if v != model.Grow {
		o.Call.Node = "n"
	}
	return o
}

// ended is a call that has ended, and what is said of it: how its events begin, what its log
// contains, each empty for none, and a line of the metrics.
type ended struct {
	name       string
	out        model.Outcome
	event, log string
	metric     string
}

func (c ended) check(t *testing.T) {
	d := newDesk()
	d.report(t, model.Cycle{Snapshot: snapshot(0), Ended: []model.Outcome{c.out}})
	if got := strings.Join(d.pad.take(), "\n"); !strings.HasPrefix(got, c.event) || (c.event == "") != (got == "") {
		t.Errorf("events: %s", got)
	}
	if got := strings.Join(d.takeLog(), "\n"); !strings.Contains(got, c.log) || (c.log == "") != (got == "") {
		t.Errorf("log: %s", got)
	}
	if _, got := d.page(t, "/metrics"); !strings.Contains(got, c.metric+"\n") {
		t.Errorf("metrics lack %s", c.metric)
	}
}

func TestEndsOfCalls(t *testing.T) {
	landed := outcome(model.Remove, &provider.Error{Kind: provider.Conflict})
	landed.Landed = []string{"ns/p"}
	for _, c := range []ended{
		{"growth", outcome(model.Grow, nil), "", "",
			`cluster_autoscaler_scaled_up_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name=""} 2`},
		{"failed growth", outcome(model.Grow,
			&provider.Error{Op: "Grow", Group: "a", Kind: provider.NoCapacity, Message: "no machines"}),
			"ConfigMap kube-system/status Warning FailedToScaleUpGroup: Scale-up of group a from 1 to 3 nodes failed",
			"no machines",
			`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="cloudProviderError"} 1`},
		{"removal", outcome(model.Remove, nil),
			"Node /n Normal ScaleDown: node removed by the cluster autoscaler: empty for 10m", "",
			`cluster_autoscaler_scaled_down_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="empty"} 1`},
		{"failed removal", outcome(model.Remove, &provider.Error{Op: "Remove", Kind: provider.Throttled}),
			"Node /n Warning ScaleDownFailed: Remove failed", "it is tried again",
			`cluster_autoscaler_errors_total{type="transientError"} 1`},
		{"a pod landed", landed, "Node /n Warning ScaleDownFailed: the node stays: pods landed on it: ns/p", "ns/p",
			`plimsoll_call_duration_seconds_count{end="landed",verb="Remove"} 1`},
		{"failed taint", outcome(model.Taint, &provider.Error{Op: "Taint", Kind: provider.Denied}),
			"Node /n Warning ScaleDownFailed", "grant the permission",
			`cluster_autoscaler_errors_total{type="apiCallError"} 1`},
	} {
		t.Run(c.name, c.check)
	}
}

// A call that was never begun is no failure: no request was sent.
func TestCallsThatWereNotBegun(t *testing.T) {
	late := fails(provider.Transient)
	late.Code = model.CodeNotBegun
	instance := outcome(model.Remove, late)
	instance.Call.Node, instance.Call.Instance = "", "i-1"
	for name, out := range map[string]model.Outcome{
		"growth": outcome(model.Grow, late), "repair": outcome(model.Cancel, late), "instance": instance,
		"removal": outcome(model.Remove, late), "taint": outcome(model.Taint, late), "eviction": evict(late),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			_, before := d.page(t, "/metrics")
			d.report(t, model.Cycle{Snapshot: snapshot(0), Ended: []model.Outcome{out}})
			if got := d.pad.take(); len(got) != 0 {
				t.Errorf("events: %q", got)
			}
			if log := d.takeLog(); len(log) != 1 || !strings.Contains(log[0], "verb="+string(out.Call.Verb)) {
				t.Errorf("log: %q", log)
			}
			_, after := d.page(t, "/metrics")
			for _, family := range []string{"cluster_autoscaler_errors_total{", "cluster_autoscaler_failed_",
				"cluster_autoscaler_evicted_", "plimsoll_evictions_refused_total "} {
				if a, b := linesOf(before, family), linesOf(after, family); len(a) == 0 || !slices.Equal(a, b) {
					t.Errorf("got %q, want %q", b, a)
				}
			}
			want := fmt.Sprintf(`plimsoll_call_duration_seconds_count{end="not_begun",verb="%s"} 1`, out.Call.Verb)
			if got := linesOf(after, "plimsoll_call_duration_seconds_count"); !slices.Equal(got, []string{want}) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// linesOf are the lines of a page that begin so.
func linesOf(page, prefix string) (out []string) {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, prefix) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// A picture of the cloud that never was is as old as the lead: it can be alerted on.
func TestTheCloudWasNeverRead(t *testing.T) {
	d := newDesk()
	asOf := func(c model.Cycle) []string {
		t.Helper()
		d.report(t, c)
		_, page := d.page(t, "/metrics")
		return linesOf(page, "plimsoll_inventory_as_of_seconds ")
	}
	d.Health().Leads(time.Unix(1000, 0))
	never := model.Cycle{Decided: true,
		Snapshot: &model.Snapshot{Now: time.Unix(1010, 0), InventoryErr: "no credentials"}}
	if got := asOf(never); !slices.Equal(got, []string{"plimsoll_inventory_as_of_seconds 1000"}) {
		t.Errorf("never read: %q", got)
	}
	never.Snapshot.Now = time.Unix(2000, 0)
	if got := asOf(never); !slices.Equal(got, []string{"plimsoll_inventory_as_of_seconds 1000"}) {
		t.Errorf("later: %q", got)
	}
	if got := asOf(model.Cycle{Decided: true, Snapshot: snapshot(0)}); !slices.Equal(got,
		[]string{"plimsoll_inventory_as_of_seconds 990"}) {
		t.Errorf("read: %q", got)
	}
}

// Each read of the cloud that fails is counted under the kind of its error.
func TestReadsThatFailed(t *testing.T) {
	for want, err := range map[string]error{
		"cloudProviderError": fmt.Errorf("read: %w",
			&provider.Error{Op: provider.OpInventory, Kind: provider.Credentials}),
		"configurationError": &provider.Error{Op: provider.OpInventory, Kind: provider.BadConfig},
		"transientError":     errors.New("connection reset"),
	} {
		d := newDesk()
		d.ReadFailed(err)
		d.ReadFailed(err)
		_, page := d.page(t, "/metrics")
		for _, line := range linesOf(page, "cluster_autoscaler_errors_total{") {
			if kind, n, _ := strings.Cut(line, "} "); (n == "2") != strings.Contains(kind, want) ||
				n != "2" && n != "0" {
				t.Errorf("%v: got %s, want 2 of %s", err, line, want)
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	d := newDesk(func(s *Settings) { s.PerGroupMetrics = true })
	c := growing(3, 2, says("a", model.GroupAtMax, ""))
	c.Policy = model.Policy{
		ScaleUp:   model.ScaleUpPolicy{MaxNodesTotal: 50, MaxCoresTotal: 100, MaxMemoryTotal: 1 << 40},
		ScaleDown: model.ScaleDownPolicy{MinCoresTotal: 8, MinMemoryTotal: 2 << 30},
	}
	c.Plan.Kept = []model.NodeVerdict{{Node: "n", Verdict: model.Verdict{Reason: model.Cooldown}}}
	d.report(t, c)
	_, got := d.page(t, "/metrics")
	for _, want := range []string{
		`cluster_autoscaler_nodes_count{state="ready"} 1`,
		`cluster_autoscaler_nodes_count{state="unregistered"} 1`,
		`cluster_autoscaler_node_groups_count{node_group_type="autoscaled"} 1`,
		`cluster_autoscaler_unschedulable_pods_count{type="unschedulable"} 3`,
		`cluster_autoscaler_unschedulable_pods_count{type="scheduler_unprocessed"} 0`,
		`cluster_autoscaler_max_nodes_count 50`,
		`cluster_autoscaler_cluster_cpu_current_cores 8`,
		`cluster_autoscaler_cpu_limits_cores{direction="minimum"} 8`,
		`cluster_autoscaler_cpu_limits_cores{direction="maximum"} 100`,
		`cluster_autoscaler_memory_limits_bytes{direction="minimum"} 2.147483648e+09`,
		`cluster_autoscaler_memory_limits_bytes{direction="maximum"} 1.099511627776e+12`,
		`cluster_autoscaler_cluster_memory_current_bytes 1.073741824e+09`,
		`cluster_autoscaler_unneeded_nodes_count 0`,
		`cluster_autoscaler_unremovable_nodes_count{reason="Cooldown"} 1`,
		`cluster_autoscaler_scale_down_in_cooldown 1`,
		`cluster_autoscaler_node_group_max_count{node_group="a"} 10`,
		`cluster_autoscaler_last_activity{activity="scaleUp"} 1000`,
		`cluster_autoscaler_function_duration_seconds_count{function="main"} 1`,
		`plimsoll_plan_nodes 2`,
		`plimsoll_plan_lower_bound_nodes 1`,
		`plimsoll_plan_divergence_total 0`,
		`plimsoll_decide_steps_total{kind="filter"} 7`,
		`plimsoll_pending_pods{fate="planned"} 2`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("lacking %s", want)
		}
	}
	// A reason and a group that are gone are gone here too.
	gone := model.Cycle{Decided: true, Snapshot: snapshot(0)}
	gone.Snapshot.Groups, gone.Snapshot.Nodes = nil, nil
	d.report(t, gone)
	if code, got := d.page(t, "/metrics"); code != http.StatusOK || strings.Contains(got, "Cooldown") ||
		strings.Contains(got, `node_group="a"`) {
		t.Errorf("status %d; a vanished reason or group is still shown", code)
	}
	// Without the flag there is nothing per group.
	plain := newDesk()
	plain.report(t, c)
	if _, got := plain.page(t, "/metrics"); strings.Contains(got, "node_group_max_count") {
		t.Error("metrics per group without the flag")
	}
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		check := func(name string, want int) {
			t.Helper()
			code, body := d.page(t, "/health-check")
			live, _ := d.page(t, "/livez")
			if code != want || live != want {
				t.Errorf("%s: %d, livez %d: %s", name, code, live, body)
			}
		}
		if code, _ := d.page(t, "/readyz"); code != http.StatusServiceUnavailable {
			t.Errorf("readyz before the cluster was read: %d", code)
		}
		d.Health().Ready()
		if code, _ := d.page(t, "/readyz"); code != http.StatusOK {
			t.Errorf("readyz: %d", code)
		}
		time.Sleep(time.Hour)
		check("a standby", http.StatusOK)
		d.Health().Leads(time.Now())
		time.Sleep(19 * time.Minute)
		check("starting", http.StatusOK)
		time.Sleep(2 * time.Minute)
		check("never started", http.StatusInternalServerError)
		d.report(t, model.Cycle{Snapshot: snapshot(0)})
		check("first cycle", http.StatusOK)
		time.Sleep(11 * time.Minute)
		check("inactive", http.StatusInternalServerError)
		d.report(t, model.Cycle{Snapshot: snapshot(0)})
		for range 16 {
			time.Sleep(time.Minute)
			d.Failed(errors.New("no route"))
		}
		check("failing", http.StatusInternalServerError)
		if _, body := d.page(t, "/health-check"); !strings.Contains(body, "no route") {
			t.Error(body)
		}
		if log := d.takeLog(); len(log) != 1 {
			t.Errorf("one error, said %d times", len(log))
		}
		d.report(t, model.Cycle{Snapshot: snapshot(0)})
		check("again well", http.StatusOK)
		if log := d.takeLog(); len(log) != 1 {
			t.Errorf("recovery: %v", log)
		}
	})
}

// Events really are sent, by the component that operators know.
func TestRecorderSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		recorder, end := NewRecorder(client)
		d := newDesk()
		d.Reporter = New(recorder, Settings{Namespace: "kube-system", StatusConfigMap: "status"},
			slog.New(slog.DiscardHandler))
		d.report(t, growing(1, 1))
		synctest.Wait()
		end()
		list, err := client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list.Items {
			got = append(got, e.Source.Component+" "+e.Namespace+" "+e.Reason+" "+string(e.InvolvedObject.UID))
		}
		slices.Sort(got)
		if want := []string{"cluster-autoscaler kube-system ScaledUpGroup ",
			"cluster-autoscaler ns TriggeredScaleUp uid0"}; !slices.Equal(got, want) {
			t.Errorf("events %q", got)
		}
		synctest.Wait()
	})
}

// TestCosts: the gauges of money, of a node whose price is known and of one whose price is not.
func TestCosts(t *testing.T) {
	d := newDesk()
	c := growing(0, 0)
	s := c.Snapshot
	has := model.Resources{MilliCPU: 1000, Memory: 1 << 30}
	s.Contents.Shapes = []*model.Shape{{Node: &corev1.Node{}, Allocatable: has}}
	s.Classes[0].Spec.Requests = model.Resources{MilliCPU: 500, Memory: 1 << 30}
	s.Nodes[0].Batches = []model.Batch{{Class: 0, Count: 1}}
	s.Nodes[0].MilliCPU, s.Nodes[0].Memory = 500, 1<<30
	s.Nodes = append(s.Nodes, &model.Node{Name: "o", Object: s.Nodes[0].Object, Group: -1})
	s.Prices = &model.Prices{Groups: map[provider.GroupID]float64{"a": 4}}
	c.Plan.Kept = []model.NodeVerdict{{Node: "n", Group: "a", Verdict: model.Verdict{Reason: model.ScaleDownDisabled}},
		{Node: "o", Verdict: model.Verdict{Reason: model.NotUnderutilized}}}
	c.Plan.Worth = []model.WaitingMove{
		{Move: model.Move{Reason: model.CheaperElsewhere, Before: 3, After: 1}},
		{Move: model.Move{Reason: model.NodeExpired}}}
	d.report(t, c)
	_, page := d.page(t, "/metrics")
	for _, want := range []string{
		`plimsoll_moves{reason="CheaperElsewhere",stage="waiting"} 1`, `plimsoll_moves_save_per_hour{stage="waiting"} 2`,
		`plimsoll_cost_per_hour{node_group=""} 4`, "plimsoll_unpriced_nodes 1", "plimsoll_idle_cost_per_hour 1",
		"plimsoll_stranded_cost_per_hour 1", `plimsoll_savings_available_per_hour{reason_not_taken="ScaleDownDisabledAnnotation"} 4`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(page, `plimsoll_savings_available_per_hour{reason_not_taken="NotUnderutilized"`) {
		t.Error("a node in use counts as a saving")
	}
}

// TestGaugesOfSeveralNodes: each verdict counts for its own node, and a node that boots has the cores of its machine
// and not those of its template.
func TestGaugesOfSeveralNodes(t *testing.T) {
	d := newDesk()
	c := growing(0, 0)
	s := c.Snapshot
	for _, name := range []string{"o", "p"} {
		n := *s.Nodes[0]
		n.Name = name
		s.Nodes = append(s.Nodes, &n)
	}
	s.Contents.Shapes = append(s.Contents.Shapes,
		&model.Shape{Node: &corev1.Node{}, Capacity: model.Resources{MilliCPU: 64000}})
	s.Nodes[2].Kind, s.Nodes[2].Shape = model.Booting, 1
	s.Prices = &model.Prices{Groups: map[provider.GroupID]float64{"a": 4}}
	c.Plan.Unneeded = []model.NodeVerdict{{Node: "o", Verdict: model.Verdict{Reason: model.NotUnneededLongEnough}}}
	disabled := model.Verdict{Reason: model.ScaleDownDisabled}
	c.Plan.Kept = []model.NodeVerdict{{Node: "n", Verdict: disabled}, {Node: "p", Verdict: disabled}}
	d.report(t, c)
	_, page := d.page(t, "/metrics")
	for _, want := range []string{
		`plimsoll_savings_available_per_hour{reason_not_taken="ScaleDownDisabledAnnotation"} 8`,
		`plimsoll_savings_available_per_hour{reason_not_taken="` + string(model.NotUnneededLongEnough) + `"} 4`,
		"cluster_autoscaler_cluster_cpu_current_cores 24",
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
}
