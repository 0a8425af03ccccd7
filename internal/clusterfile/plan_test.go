package clusterfile_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

var settings = observe.Settings{Namespace: "kube-system", Seed: 1}

func typeName(v any) string { return fmt.Sprintf("%T", v) }

// clusterOf is a cluster of testkit, as it is read live.
func clusterOf(c *testkit.Cluster, m model.Memory) *clusterfile.Cluster {
	inventory := c.Inventory()
	out := &clusterfile.Cluster{Time: c.Now, Inventory: &inventory, Memory: m}
	for _, obj := range c.Objects() {
		if cut := observe.Cut(obj); cut != nil {
			out.Objects = append(out.Objects, cut)
		}
	}
	return out
}

func decide(t fataler, c *clusterfile.Cluster, p model.Policy) model.Cycle {
	seen, err := c.Observation(settings)
	if err != nil {
		t.Fatalf("observe: %v", err)
	}
	cycle, err := ask.Decide(seen, c.Remembered(), p)
	if err != nil {
		t.Fatalf("decide: %v", err)
	}
	return cycle
}

type fataler interface{ Fatalf(string, ...any) }

// throughFile writes a cluster and reads it again.
func throughFile(t fataler, c *clusterfile.Cluster, form clusterfile.Form) *clusterfile.Cluster {
	var text bytes.Buffer
	if err := clusterfile.Write(&text, c, form); err != nil {
		t.Fatalf("write: %v", err)
	}
	again, err := clusterfile.Read(context.Background(), []string{"-"}, &text)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return again
}

// TestPlanOfAFile: the plan of a dump is that of the objects, on random worlds.
func TestPlanOfAFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := testkit.DrawWorld
		if rapid.Bool().Draw(t, "occupied") {
			draw = testkit.DrawOccupied
		}
		w := draw(t)
		c := w.Build(testkit.InOrder)
		memory := model.Memory{Written: c.Now, Unneeded: map[string]time.Time{}}
		for _, n := range c.Observation().Nodes {
			memory.Unneeded[n.Object.Name] = c.Now.Add(-20 * time.Minute)
		}
		live := clusterOf(c, memory)
		want := decide(t, live, w.Policy)
		form := rapid.SampledFrom([]clusterfile.Form{clusterfile.JSON, clusterfile.YAML}).Draw(t, "form")
		got := decide(t, throughFile(t, live, form), w.Policy)
		if diff := cmp.Diff(want.Plan.Text(want.Snapshot), got.Plan.Text(got.Snapshot)); diff != "" {
			t.Errorf("plan (-live +file):\n%s", diff)
		}
		if diff := cmp.Diff(want.Plan.Calls, got.Plan.Calls); diff != "" {
			t.Errorf("calls (-live +file):\n%s", diff)
		}
	})
}

// TestTemplatesAreCut: fields that no component reads, of a template's node and of its static pods, are not in a dump.
func TestTemplatesAreCut(t *testing.T) {
	w := testkit.New()
	g := w.Group("g", 0, 1, testkit.Node("", "4", "16Gi", nil))
	g.Template.Node.Status.Images = []corev1.ContainerImage{{Names: []string{"private"}}}
	static := testkit.Pod("kube-system", "proxy", "1", "1Gi", nil)
	static.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "private"}}
	ended := static.DeepCopy()
	ended.Status.Phase = corev1.PodFailed
	g.Template.Pods = []*corev1.Pod{static, ended}
	c := clusterOf(w, model.Memory{})
	var text bytes.Buffer
	if err := clusterfile.Write(&text, c, clusterfile.YAML); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "private") {
		t.Errorf("the dump says too much:\n%s", &text)
	}
	again := throughFile(t, c, clusterfile.JSON).Inventory.Groups[0].Template
	if len(again.Pods) != 1 || again.Pods[0].Spec.Containers[0].Resources.Requests.Cpu().Value() != 1 ||
		again.Node.Status.Allocatable.Cpu().Value() != 4 {
		t.Errorf("template %v", again)
	}
	if len(g.Template.Pods) != 2 || len(g.Template.Node.Status.Images) != 1 {
		t.Errorf("the cluster itself has changed: %v", g.Template)
	}
}
