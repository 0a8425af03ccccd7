package ask

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/loop"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Cluster is a cluster at one moment, and what its leader remembered.
type Cluster struct {
	Objects  []runtime.Object // cut down (observe.Cut)
	Settings observe.Settings
	// Groups are the node groups; GroupsErr says why they could not be read.
	Groups    provider.Inventory
	GroupsErr error
	Memory    model.Memory
	Now       time.Time
}

// A cluster that has not come to rest after so many turns, or so much time, is given up: some never do.
const (
	mostTurns = 1000
	mostTime  = 24 * time.Hour
)

// patience is how many turns in a row that change nothing are each made as soon as their plan asks for.
const patience = 20

// pace is the time between a turn that changed something and the next.
const pace = 10 * time.Second

// UntilRest carries plans out in memory, one after the other, until nothing changes and time alone changes
// nothing either. It shows each cycle to each. Limit is what ended it before; empty if the cluster has come to rest.
func UntilRest(
	ctx context.Context, c Cluster, p model.Policy, each func(model.Cycle),
) (limit string, err error) {
	w, err := newWorld(c, p)
	if err != nil {
		return "", err
	}
	defer w.close()
	l := loop.New(w, w, w, p, func() time.Time { return w.now }, ledger.Restore(p.Rules, c.Memory))
	defer l.Close()
	quiet := 0 // turns in a row that changed nothing
	for range mostTurns {
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("carry out plans: %w", err)
		}
		if err := l.RunOnce(ctx); err != nil {
			return "", err
		}
		each(w.cycle)
		plan := &w.cycle.Plan
		switch {
		case w.changed || plan.Resume != "" || len(plan.Unseen) > 0:
			w.now, quiet = model.Latest(w.now.Add(pace), plan.NotBefore), 0
		case plan.Wake.IsZero():
			return "", nil
		default:
			// Some plans ask to be looked at again soon, for ever: of those we look more and more seldom.
			quiet++
			w.now = model.Latest(w.now.Add(time.Second<<max(0, quiet-patience)), plan.Wake)
		}
		if w.now.Sub(c.Now) > mostTime && w.changed {
			return fmt.Sprintf("%.0f hours", mostTime.Hours()), nil
		} else if w.now.Sub(c.Now) > mostTime {
			return "", nil
		}
	}
	return fmt.Sprintf("%d plans", mostTurns), nil
}

// changes reports whether a call changes nodes, pods or groups, and not only how the scheduler ranks nodes.
func changes(c *model.Call) bool {
	return !slices.Contains([]model.Verb{model.Mark, model.Unmark, model.Annotate}, c.Verb)
}
