package exact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
)

const (
	askTimeout = 10 * time.Second
	// mostDecisions is more than a round has.
	mostDecisions = 1000

	replayMetric = "plimsoll_plan_replays_total"
)

var errNoReplay = errors.New("no plan was put before the scheduler's filters once more")

// ask reads one of the answers that Plimsoll's page is made of.
func (p *stand) ask(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.PageURL()+"api/v1/"+path, nil)
	if err != nil {
		return fmt.Errorf("ask Plimsoll for %s: %w", path, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask Plimsoll for %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("ask Plimsoll for %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask Plimsoll for %s: %s: %s", path, response.Status, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read Plimsoll's answer to %s: %w", path, err)
	}
	return nil
}

func (p *stand) explain(ctx context.Context, pod string) (explain.Pod, error) {
	var out explain.Pod
	return out, p.ask(ctx, "explain/pod/"+namespace+"/"+pod, &out)
}

// judgeGrowth holds the nodes that came to what the plans say, and their bounds to the nodes.
func (p *stand) judgeGrowth(ctx context.Context) error {
	var answer struct {
		Decisions []decisions.Decision `json:"decisions"`
	}
	if err := p.ask(ctx, fmt.Sprintf("decisions?limit=%d", mostDecisions), &answer); err != nil {
		return err
	}
	stated := map[string]int{}
	all := p.Watch.Tally().Nodes().All
	for _, d := range answer.Decisions {
		p.result.Nodes += d.Nodes
		p.result.Bound += d.LowerBound
		grown := 0
		for _, g := range d.Grow {
			stated[string(g.Group)] += g.To - g.From
			grown += g.To - g.From
		}
		if grown != d.Nodes {
			return fmt.Errorf("decision %s says that it buys %d nodes, and buys %d", d.ID, d.Nodes, grown)
		}
		// All those pods run on the nodes that there are: no true bound is above them.
		if d.LowerBound > d.Nodes || d.LowerBound > all {
			return fmt.Errorf("decision %s says that any plan buys %d nodes or more, and it buys %d; there are %d in all",
				d.ID, d.LowerBound, d.Nodes, all)
		}
	}
	for _, g := range p.Groups {
		came := p.Watch.Tally().Groups[g.Name].Ever - g.Min
		if came != stated[g.Name] {
			return fmt.Errorf("%d nodes of %s came, and the plans say %d", came, g.Name, stated[g.Name])
		}
	}
	if p.result.Nodes == 0 {
		return p.judgeReplays(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, calmLimit, errNoReplay)
	defer cancel()
	return p.poll(ctx, func() (bool, error) {
		metrics, err := p.Metrics(ctx)
		if n, _ := metrics.Sum(replayMetric); err != nil || n == 0 {
			return false, err
		}
		return true, p.judgeReplays(ctx)
	})
}

// judgeReplays holds a process of Plimsoll's, at its end, to what came of its plans when it put them before the
// scheduler's filters.
func (p *stand) judgeReplays(ctx context.Context) error {
	metrics, err := p.Metrics(ctx)
	if err != nil {
		return err
	}
	if n, _ := metrics.Sum(replayMetric, "result", "refused"); n > 0 {
		return fmt.Errorf("the scheduler's filters do not allow what %v plans have found: %s", n, p.notices(ctx))
	}
	allowed, _ := metrics.Sum(replayMetric, "result", "allowed")
	unfinished, _ := metrics.Sum(replayMetric, "result", "unfinished")
	diverged, _ := metrics.Sum("plimsoll_plan_divergence_total")
	p.result.Allowed += int(allowed)
	p.result.Unfinished += int(unfinished)
	p.result.Diverged += int(diverged)
	return nil
}

func (p *stand) notices(ctx context.Context) string {
	var answer struct {
		State struct {
			Notices []struct{ Code, Message string }
		}
	}
	if err := p.ask(ctx, "state", &answer); err != nil {
		return err.Error()
	}
	var out []string
	for _, n := range answer.State.Notices {
		out = append(out, n.Code+": "+n.Message)
	}
	return strings.Join(out, "; ")
}
