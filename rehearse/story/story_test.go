package story

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

func node(group, name, cpu, memory string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"cluster-autoscaler.kwok.nodegroup/name": group},
		},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}},
	}
}

func pod(app, node, cpu, memory string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			}}}},
		},
	}
}

func repeat(n int, p corev1.Pod) []corev1.Pod {
	pods := make([]corev1.Pod, n)
	for i := range pods {
		pods[i] = p
	}
	return pods
}

// The proposal's own arithmetic: eight pods of 1 core : 7 GiB leave 8 GiB of a 1:8 node and 72 of a
// 1:16 node that no pod can use.
func TestAccountStrandsWhatTheOwnShapeCannotUse(t *testing.T) {
	nodes := []corev1.Node{
		node("ratio-1-8", "a", "8", "64Gi"), node("ratio-1-16", "b", "8", "128Gi"), node("ratio-1-16", "c", "8", "128Gi"),
	}
	pods := append(repeat(8, pod("x", "a", "1", "7Gi")), repeat(8, pod("x", "b", "1", "7Gi"))...)
	pods = append(pods, repeat(5, pod("y", "c", "1", "16Gi"))...)
	done := pod("y", "c", "1", "16Gi")
	done.Status.Phase = corev1.PodSucceeded
	pods = append(pods, done, pod("z", "", "1", "1Gi"))

	got := account(nodes, pods, map[string]int64{"ratio-1-8": 8 * gib, "ratio-1-16": 16 * gib})
	for group, want := range map[string]Usage{
		"ratio-1-8": {Nodes: 1, AllocatableCPU: 8000, RequestedCPU: 8000, AllocatableMem: 64 * gib, RequestedMem: 56 * gib, StrandedMem: 8 * gib},
		"ratio-1-16": {
			Nodes: 2, AllocatableCPU: 16000, RequestedCPU: 13000, AllocatableMem: 256 * gib, RequestedMem: (56 + 80) * gib,
			StrandedMem: 72 * gib, Room: 3,
		},
	} {
		if got[group] != want {
			t.Errorf("%s: got %+v, want %+v", group, got[group], want)
		}
	}
	if wasted := got["ratio-1-16"].WastedMem(); wasted != 120*gib {
		t.Errorf("wasted memory is %d GiB", wasted/gib)
	}
}

func TestAffinityRunCountsWhoWaited(t *testing.T) {
	before := census{nodes: []corev1.Node{node("ratio-1-16", "old", "8", "128Gi")}}
	after := census{
		nodes: append(before.nodes, node("ratio-1-8", "new", "8", "64Gi")),
		pods: append(repeat(3, pod(newWorkload, "old", "1", "7Gi")),
			pod(newWorkload, "new", "1", "7Gi"), pod("own-1-8", "new", "1", "8Gi"), pod(newWorkload, "", "1", "7Gi")),
	}
	var r affinityRun
	r.count(before, after)
	if r.Waited != 1 || r.Placed["ratio-1-16"] != 3 || r.Placed["ratio-1-8"] != 1 {
		t.Errorf("got %d waiting, placed %v", r.Waited, r.Placed)
	}
	bound := affinityRun{Required: true, Before: r.Before, After: r.Before, Placed: map[string]int{}}
	text := compareAffinity(r, bound)
	for _, want := range []string{
		"1 nodes bought; 1 of 4 pods waited for them",
		"As it is, 3 of the 1:7 pods went to 1:16 nodes, which strands 27 GiB there",
		"Nodes bought with the affinity: -1. Pods\n  of 1:16 that find room without a new node: +3.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTable(t *testing.T) {
	got := table([][]string{{"group", "nodes", "left"}, {"é", "7", "0"}, {"general-a", "12", ""}})
	want := `
    group      nodes  left
    ---------  -----  ----
    é              7     0
    general-a     12`
	if got != want[1:] {
		t.Errorf("got\n%s", got)
	}
	if table(nil) != "" {
		t.Error("an empty table renders as something")
	}
}

var exampleFrame = Frame{
	Title: "nodes come", Elapsed: 1500 * time.Millisecond,
	Workloads: []WorkloadRow{{Name: "web", Want: 10, Pods: stage.Pods{All: 10, Bound: 6, Running: 3, Refused: 4}}},
	Columns: groupRows{
		{Name: "general", Max: 40, Nodes: stage.Nodes{All: 4, Ready: 3, Leaving: 1}},
		{Name: "none", Max: 5},
		{Name: "many", Max: 99, Nodes: stage.Nodes{All: 50}},
	},
}

func TestFrameLines(t *testing.T) {
	want := []string{
		"── nodes come ── 1.5 s",
		"  pods",
		"    web      █████████▒▒▒▒▒▒▒▒▒············    3 of  10 run, 4 find no node",
		"  nodes   ■ ready  □ starting  ▨ leaving",
		"    general    4 of  40  ■■■▨",
		"    none       0 of   5  ",
		"    many      50 of  99  □□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□ and 5 more",
	}
	got := exampleFrame.Lines(100)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	for _, line := range exampleFrame.Lines(20) {
		if n := len([]rune(line)); n > 20 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	// A tainted node that is not ready, and one that never was, do not make others
	// negative.
	if got := boxes(stage.Nodes{All: 2, Ready: 2, Leaving: 2}); got != "▨▨" {
		t.Errorf("got %q", got)
	}
}

func TestFrameLine(t *testing.T) {
	want := "pods: web 3 of 10 run, 4 find no node | nodes: general 4 (1 starting) (1 leaving), many 50 (50 starting)"
	if got := exampleFrame.Line(); got != want {
		t.Errorf("got %q", got)
	}
	ending := Frame{Workloads: []WorkloadRow{{Name: "web", Pods: stage.Pods{All: 3, Running: 2}}}, Columns: groupRows(nil)}
	if got := ending.Line(); got != "pods: web 2 run, 3 end | nodes: none" {
		t.Errorf("got %q", got)
	}
}

func TestDecision(t *testing.T) {
	for line, want := range map[string]string{
		`{"level":"INFO","msg":"acting","grow":"a 0->3 (max 9)","nodes":3,"lower_bound":2,"for_pods":20,"decided_in":1500000}`: "plimsoll buys 3 nodes for 20 pods (lower bound 2): a 0->3 (max 9); decided in 1.5 ms",
		`{"level":"INFO","msg":"acting","grow":"a 0->1 (max 9)","nodes":1,"lower_bound":1,"for_pods":1,"decided_in":100000}`:   "plimsoll buys 1 node for 1 pod (lower bound 1): a 0->1 (max 9); decided in 0.1 ms",
		`{"level":"INFO","msg":"acting","evict":"shop-1","decided_in":100000}`:                                                 "plimsoll evicts 1 pod; decided in 0.1 ms",
		`{"level":"INFO","msg":"acting","grow":"cheap 0->3 (max 9)","nodes":0,"decided_in":100000}`:                            "plimsoll buys for a move: cheap 0->3 (max 9); decided in 0.1 ms",
		`{"level":"INFO","msg":"acting","cordon":"a-1","decided_in":100000}`:                                                   "",
		`{"level":"INFO","msg":"acting","evict":"shop-1, shop-2","decided_in":100000}`:                                         "plimsoll evicts 2 pods; decided in 0.1 ms",
		`{"level":"INFO","msg":"a move begins","move":"3 nodes for 3 of cheap"}`:                                               "plimsoll begins a move: 3 nodes for 3 of cheap",
		`{"level":"INFO","msg":"acting","taint":"a-1, a-2","remove":"a-3","decided_in":100000}`:                                "plimsoll taints a-1, a-2; removes a-3; decided in 0.1 ms",
		`{"level":"INFO","msg":"pods stay pending","class":"default/web","pods":4,"of":9,"why":"a: GroupAtMax"}`:               "plimsoll leaves 4 of 9 pods of default/web pending: a: GroupAtMax",
		`{"level":"WARN","msg":"call failed","err":"no","hint":"again"}`:                                                       "plimsoll warns: call failed: no: again",
		`{"level":"INFO","msg":"leading","lease":"cluster-autoscaler"}`:                                                        "",
	} {
		got, err := decision([]byte(line))
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v", line, got, err)
		}
	}
	if _, err := decision([]byte("panic: no\n")); err == nil {
		t.Error("a line that is no JSON is taken for one")
	}
}

func TestReason(t *testing.T) {
	event := corev1.Event{
		Reason: "ScaleDown", Message: "empty", Source: corev1.EventSource{Component: "cluster-autoscaler"},
		InvolvedObject: corev1.ObjectReference{Kind: "Node"},
	}
	if got := reason(&event); got != "ScaleDown: empty" {
		t.Errorf("got %q", got)
	}
	event.Source.Component = "kubelet"
	if got := reason(&event); got != "" {
		t.Errorf("of another component: got %q", got)
	}
	event.Source.Component, event.InvolvedObject.Kind = "cluster-autoscaler", "ConfigMap"
	if got := reason(&event); got != "" {
		t.Errorf("of a group: got %q", got)
	}
}

func TestScreenWithoutATerminalTellsChangesAndNoMoreThanItMay(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out, nil)
	s.Show(exampleFrame)
	later := exampleFrame
	later.Elapsed = 9 * time.Second
	s.Show(later)
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("a frame that changed in nothing but time: %d lines", n)
	}
	for i := range 2 * mostLines {
		s.Tell(fmt.Sprint(i))
	}
	s.Say("the end")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != mostLines+1 || lines[mostLines] != "the end" ||
		!strings.Contains(lines[mostLines-1], "more than 400 lines") {
		t.Errorf("%d lines, the last: %q", len(lines), lines[max(0, len(lines)-3):])
	}
}

func TestScreenOnATerminalRedrawsInPlace(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out, func() int { return 80 })
	s.Show(exampleFrame)
	first := out.Len()
	s.Tell("a decision")
	s.Show(exampleFrame)
	second := out.String()[first:]
	if !strings.HasPrefix(second, "\x1b[7A\r\x1b[Ja decision\n\x1b[1m── nodes come") {
		t.Errorf("got %q", second)
	}
	s.Keep()
	kept := out.Len()
	s.Say("the end")
	if got := out.String()[kept:]; got != "the end\n" {
		t.Errorf("after Keep: got %q", got)
	}
}
