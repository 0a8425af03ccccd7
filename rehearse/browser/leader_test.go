package browser_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/browser"
	"github.com/plimsoll-dev/plimsoll/rehearse/component"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	os.Exit(m.Run())
}

const (
	startLimit = 2 * time.Minute
	nodesLimit = time.Minute
)

// The page of the shipped binary that leads, on a real control plane: a class of pods that begins to wait is on it
// within two seconds, and a click shows the fix; nodes that were asked for are ghosts, and become boxes.
func TestTheLeadersPage(t *testing.T) {
	path, err := filepath.Abs("../../bin/plimsoll")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := autoscaler.Find(path)
	if err != nil {
		t.Fatal("the page of the shipped binary is looked at; run `make build` first:", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	s, err := stage.Open(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.WithLog(nil))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	zoned := func(zone string) stage.Group {
		return stage.Group{Name: "general-" + zone, Zone: "zone-" + zone, CPU: "8", Memory: "32Gi", Max: 20}
	}
	groups := []stage.Group{zoned("a"), zoned("b"), zoned("c"),
		{Name: "memory", Zone: "zone-b", CPU: "8", Memory: "128Gi", Min: 1, Max: 20}}
	if err := s.Autoscale(ctx, binary, groups, "--scale-down-enabled=false"); err != nil {
		t.Fatal(s.WithLog(err))
	}
	create := func(workloads ...stage.Workload) {
		t.Helper()
		if err := s.Create(t.Context(), workloads...); err != nil {
			t.Fatal(err)
		}
	}
	b := browser.Open(t, s.PageURL())
	b.Go("/")
	b.Await("the calm page", `document.querySelector(".node.ready") && document.body.innerText.includes("No pod waits.")`,
		nodesLimit)
	create(stage.Workload{Name: "web", Replicas: 90, CPU: "1", Memory: "3Gi", SpreadOver: "topology.kubernetes.io/zone"},
		stage.Workload{Name: "cache", Replicas: 14, CPU: "500m", Memory: "40Gi"})
	b.Await("the nodes of web and cache", `document.querySelectorAll(".node.ready").length >= 15 && `+
		`document.body.innerText.includes("No pod waits.")`, nodesLimit)

	create(stage.Workload{Name: "report", Replicas: 2, CPU: "12", Memory: "8Gi"})
	took := b.Await("the class that waits", `document.querySelector(".q")?.innerText.includes("default/report")`,
		2*time.Second)
	t.Log("the class was on the page", took, "after its Deployment was made")

	// kwok, which makes nodes ready, is stopped for as long as ghosts are looked at.
	kwok, err := s.PID(component.Kwok)
	if err != nil {
		t.Fatal(err)
	}
	signal := func(what syscall.Signal) {
		if err := syscall.Kill(kwok, what); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	defer signal(syscall.SIGCONT)
	if err := s.Scale(t.Context(), "web", 170); err != nil {
		t.Fatal(err)
	}
	b.Await("the ghosts", `document.querySelectorAll(".node.coming").length >= 2 && `+
		`document.querySelectorAll(".node.unready").length === 0`, nodesLimit)
	boxes := browser.Eval[int](b, `document.querySelectorAll(".node.ready").length`)
	b.Size(1180, 640)
	for _, light := range []bool{false, true} {
		b.Light(light)
		b.Window(map[bool]string{true: "leader-light", false: "leader-dark"}[light])
	}
	signal(syscall.SIGCONT)
	b.Await("the boxes", fmt.Sprintf(`!document.querySelector(".node.coming") && `+
		`document.querySelectorAll(".node.ready").length >= %d`, boxes+2), nodesLimit)

	browser.Eval[bool](b, `([...document.querySelectorAll(".q a")].find(a => a.innerText.includes("report")).click(), true)`)
	b.Await("the fix", `document.querySelector("#fix")?.innerText.includes("request cpu ≤ 8")`, 5*time.Second)
	b.Picture("leader-class")
}
