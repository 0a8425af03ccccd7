package measure

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseCost(t *testing.T) {
	stat := "4242 (a (b) c) S 1 4242 4242 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 100 1000 200"
	status := "Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n"
	got, err := parseCost(stat, status)
	if want := (Cost{CPU: 2 * time.Second, Resident: 1 << 20, Peak: 2 << 20}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, files := range map[string][2]string{
		"a short stat":    {"4242 (a) S 1", status},
		"no name in stat": {"", status},
		"no memory":       {stat, "Name:\ta\n"},
	} {
		if _, err := parseCost(files[0], files[1]); !errors.Is(err, errNoFigure) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCostOfThisProcess(t *testing.T) {
	cost, err := costOf(os.Getpid())
	if err != nil || cost.Resident <= 0 || cost.Peak < cost.Resident {
		t.Errorf("got %+v, %v", cost, err)
	}
}

func TestParseBusy(t *testing.T) {
	got, err := parseBusy("cpu  100 10 200 9999 777 5 15 70 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if err != nil || got != 4*time.Second {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := parseBusy("intr 1 2 3"); !errors.Is(err, errNoFigure) {
		t.Errorf("got %v", err)
	}
}

// The proposal's own figure.
func TestNodesPerCore(t *testing.T) {
	if got := nodesPerCore(385, 122*time.Millisecond, time.Second); int(got) != 3155 {
		t.Errorf("got %f", got)
	}
	if got := nodesPerCore(1000, 0, time.Minute); got != 0 {
		t.Errorf("for no time at all: %f", got)
	}
}

func TestMotiveCluster(t *testing.T) {
	groups, apps := motiveCluster()
	if len(groups) != 93 || len(apps) != 90 {
		t.Fatalf("%d groups, %d apps", len(groups), len(apps))
	}
	names := map[string]bool{}
	for _, g := range groups {
		names[g.Name] = true
		if shared := strings.HasPrefix(g.Name, "shared-"); shared != (len(g.Taints) == 0) {
			t.Errorf("%s has the taints %v", g.Name, g.Taints)
		}
	}
	if len(names) != 93 {
		t.Errorf("%d names", len(names))
	}
}

func TestFiguresTellWhatIsMissed(t *testing.T) {
	good := GrowthFigures{Pods: 2000, Nodes: 250, Bound: 19 * time.Second, Alone: 10 * time.Second,
		Plimsoll: Cost{CPU: time.Second, Peak: 100e6}}
	if text := good.String(); strings.Contains(text, "MISSED") || !strings.Contains(text, "ratio 1.90") {
		t.Errorf("got\n%s", text)
	}
	bad := GrowthFigures{
		Bound: 21 * time.Second, Alone: 10 * time.Second, Plimsoll: Cost{CPU: 4 * time.Second, Peak: 200e6},
	}
	if n := strings.Count(bad.String(), "MISSED"); n != 3 {
		t.Errorf("%d missed in\n%s", n, bad)
	}
}
