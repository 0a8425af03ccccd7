package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

const templatesFile = "groups.yaml"

// scanInterval is that of a script that says no other.
const scanInterval = time.Second

// defaultFlags keep scripts short that are not about time. A script's own flags
// come after them, and win.
var defaultFlags = []string{
	"--scan-interval=" + scanInterval.String(), "--scale-down-enabled=false", "--emit-per-nodegroup-metrics",
}

// plimsoll is a Plimsoll that a script started, running or not.
type plimsoll struct {
	name    string // of the process
	address string
	log     string
}

var metricsClient = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// start starts a Plimsoll and returns when it has read the cluster.
func (w *world) start(ctx context.Context, name string, revive bool, flags []string) error {
	port, err := controlplane.FreePort(nil)
	if err != nil {
		return err
	}
	p, err := w.plimsollNamed(name)
	if err != nil {
		p = &plimsoll{name: name, log: filepath.Join(w.dir, name+".log")}
		w.plimsolls = append(w.plimsolls, p)
	}
	p.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	process := autoscaler.Setting{
		Binary:     binary,
		Kubeconfig: w.plane.PlimsollKubeconfig(),
		Cloud:      w.cloud,
		Address:    p.address,
		Flags:      append(defaultFlags[:len(defaultFlags):len(defaultFlags)], flags...),
	}.Process()
	process.Name, process.Log, process.Revive = name, p.log, revive
	if err := w.plane.Launch(process); err != nil {
		return err
	}
	return w.plane.Processes().WaitReady(ctx, name)
}

// end asks a Plimsoll to end, and returns its exit code.
func (w *world) end(p *plimsoll) (int, error) {
	state, err := w.plane.Processes().End(p.name)
	if err != nil {
		return 0, err
	}
	return state.ExitCode(), nil
}

func (w *world) running(p *plimsoll) bool {
	for _, s := range w.plane.Processes().Processes() {
		if s.Name == p.name {
			return s.Running
		}
	}
	return false
}

// diedOf says how a Plimsoll ended that was not asked to end.
func (w *world) diedOf(ctx context.Context, p *plimsoll) (string, error) {
	var death *supervise.DeathError
	err := w.plane.Processes().WaitReady(ctx, p.name)
	if errors.As(err, &death) {
		return death.How, nil
	}
	return "", fmt.Errorf("%s did not die: %v", p.name, err)
}

// metrics reads what a Plimsoll tells of itself: each sample by its name with
// its labels, as the text format writes them.
func (p *plimsoll) metrics() (map[string]float64, error) {
	response, err := metricsClient.Get("http://" + p.address + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read the metrics of %s: %w", p.name, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the metrics of %s: %s", p.name, response.Status)
	}
	samples := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("read the metrics of %s: line %q: %w", p.name, lines.Text(), err)
		}
		samples[lines.Text()[:at]] = value
	}
	return samples, lines.Err()
}

// diverged sums plan_divergence_total over the Plimsolls that run.
func (w *world) diverged() (float64, error) {
	sum := 0.0
	for _, p := range w.plimsolls {
		if !w.running(p) {
			continue
		}
		samples, err := p.metrics()
		if err != nil {
			return 0, err
		}
		n, ok := samples["plimsoll_plan_divergence_total"]
		if !ok {
			return 0, fmt.Errorf("%s has no metric plimsoll_plan_divergence_total", p.name)
		}
		sum += n
	}
	return sum, nil
}

// cyclesMetric counts how often Plimsoll has looked.
const cyclesMetric = `cluster_autoscaler_function_duration_seconds_count{function="main"}`

func (w *world) cmdCycles(c *call) error {
	p, err := w.plimsollNamed(w.plimsollName(c))
	if err != nil {
		return err
	}
	want, err := c.number(0)
	if err != nil {
		return err
	}
	return p.looks(c.ctx, float64(want))
}

// looks waits until a Plimsoll has looked that many times more.
func (p *plimsoll) looks(ctx context.Context, times float64) error {
	since := -1.0
	return poll(ctx, func() (bool, string) {
		samples, err := p.metrics()
		if err != nil {
			return false, err.Error()
		}
		if since < 0 {
			since = samples[cyclesMetric]
		}
		n := samples[cyclesMetric] - since
		return n >= times, fmt.Sprintf("%s has looked %v times, want %v", p.name, n, times)
	})
}
