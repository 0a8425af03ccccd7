package clusterfile_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	cycle, err := ask.Decide(seen, c.Memory, p)
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
