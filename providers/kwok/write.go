package kwok

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

const (
	// workers bounds the concurrent writes of one call: enough to hide the latency of storage, few
	// enough not to overload the API server.
	workers = 16
	// draws bounds how often a node's name is drawn again because it is taken.
	draws = 5
	// rounds bounds how often Close checks for late creates.
	rounds = 3
)

// errNotTried marks a write that was not sent.
var errNotTried = errors.New("not tried")

// Grow creates the nodes that are missing from To, or the machines that the group's fault leaves
// without a node. One that fails does not stop the others, unless they would all fail alike. If
// some but not all were created, the result has their number, and the error says MayHaveHappened.
func (p *Provider) Grow(ctx context.Context, req provider.GrowRequest) (provider.GrowResult, error) {
	// 1. What is wrong with the request itself.
	g, err := p.group(provider.OpGrow, req.Group)
	if err != nil {
		return provider.GrowResult{}, err
	}
	if req.To > g.max {
		return provider.GrowResult{}, &provider.Error{Op: provider.OpGrow, Group: req.Group, Kind: provider.Limit,
			Message: fmt.Sprintf("a target of %d is above the maximum of %d", req.To, g.max)}
	}
	if req.To < req.From {
		return provider.GrowResult{}, &provider.Error{Op: provider.OpGrow, Group: req.Group, Kind: provider.Unsupported,
			Message: fmt.Sprintf("cannot scale up from %d to %d", req.From, req.To)}
	}

	// 2. Check against a fresh read.
	seen, err := p.lister.census(ctx)
	if err != nil {
		return provider.GrowResult{}, p.beforeWrite(ctx, provider.OpGrow, req.Group, err)
	}
	live := seen.live(g.name)
	if live != req.From {
		return provider.GrowResult{Target: live}, &provider.Error{
			Op: provider.OpGrow, Group: req.Group, Kind: provider.Conflict,
			Message: fmt.Sprintf("the target is %d, not %d", live, req.From),
		}
	}

	// 3. The writes, and their results.
	names, errs := p.build(ctx, g, seen, req.To-req.From)
	result := provider.GrowResult{Target: live}
	for i, name := range names {
		if errs[i] == nil {
			result.Target++
			result.Created = append(result.Created, provider.InstanceID(name))
		}
	}
	slices.Sort(result.Created)
	what := fmt.Sprintf("created %d of %d nodes", len(result.Created), len(names))
	if failed := failure(ctx, provider.OpGrow, req.Group, what, errs); failed != nil {
		failed.MayHaveHappened = failed.MayHaveHappened || len(result.Created) > 0
		return result, failed
	}
	return result, nil
}

// Remove deletes nodes of the group, each only as the object that was checked (by its uid), and
// strikes machines without a node off the list; none if that would go below the minimum unforced.
func (p *Provider) Remove(ctx context.Context, req provider.RemoveRequest) (provider.RemoveResult, error) {
	g, err := p.group(provider.OpRemove, req.Group)
	if err != nil {
		return provider.RemoveResult{}, err
	}
	seen, err := p.lister.census(ctx)
	if err != nil {
		return provider.RemoveResult{}, p.beforeWrite(ctx, provider.OpRemove, req.Group, err)
	}

	// 1. Check every instance before the first write. One that is gone, or
	// on its way out, is what the caller wants; a repeated request thus succeeds.
	result := provider.RemoveResult{
		Target: seen.live(g.name), Instances: make([]provider.InstanceResult, len(req.Instances)),
	}
	var doomed []member
	asked := map[provider.InstanceID]bool{}
	for i, id := range req.Instances {
		result.Instances[i].ID = id
		m, own := seen.byName[string(id)]
		switch {
		case seen.others[string(id)]:
			result.Instances[i].Err = notOurs(req.Group, id,
				fmt.Sprintf("it lacks the annotations %s: %s and %s", annotationFake, fakeValue, annotationGroup))
		case own && m.group != g.name:
			result.Instances[i].Err = notOurs(req.Group, id, fmt.Sprintf("it belongs to the group %q", m.group))
		case !own || m.deleting || asked[id]:
		default:
			if why := req.If.Unmet(g.instanceOf(m), !m.fault.withoutNode()); why != "" {
				result.Instances[i].Err = &provider.Error{Op: provider.OpRemove, Group: req.Group, Kind: provider.Conflict,
					Message: fmt.Sprintf("the machine %q is left alone: %s", id, why)}
				break
			}
			doomed = append(doomed, m)
		}
		asked[id] = true
	}
	if left := result.Target - len(doomed); left < g.min && len(doomed) > 0 && !req.Force {
		return provider.RemoveResult{Target: result.Target}, &provider.Error{
			Op: provider.OpRemove, Group: req.Group, Kind: provider.Limit,
			Message: fmt.Sprintf("removing %d of %d nodes would leave %d, below the minimum of %d",
				len(doomed), result.Target, left, g.min),
		}
	}

	// 2. The writes, and the result of each.
	errs := p.end(ctx, seen, doomed)
	for i, m := range doomed {
		if errs[i] == nil {
			result.Target--
			continue
		}
		for at := range result.Instances {
			if result.Instances[at].ID == provider.InstanceID(m.name) {
				e := hints.Error(provider.OpRemove, req.Group, fmt.Sprintf("delete the machine %q", m.name), errs[i])
				e.MayHaveHappened = !errors.Is(errs[i], errNotTried) && !refused(errs[i])
				result.Instances[at].Err = e
			}
		}
	}
	if ctx.Err() != nil && len(doomed) > 0 {
		if failed := failure(ctx, provider.OpRemove, req.Group, "delete nodes", errs); failed != nil {
			return result, failed
		}
	}
	return result, nil
}

// Cancel cancels nothing: every unit of this provider has a name (rule P5). It still refuses a
// request from an outdated picture.
func (p *Provider) Cancel(ctx context.Context, req provider.CancelRequest) (provider.CancelResult, error) {
	g, err := p.group(provider.OpCancel, req.Group)
	if err != nil {
		return provider.CancelResult{}, err
	}
	seen, err := p.lister.census(ctx)
	if err != nil {
		return provider.CancelResult{}, p.beforeWrite(ctx, provider.OpCancel, req.Group, err)
	}
	live := seen.live(g.name)
	if live != req.From {
		return provider.CancelResult{Target: live}, &provider.Error{
			Op: provider.OpCancel, Group: req.Group, Kind: provider.Conflict,
			Message: fmt.Sprintf("the target is %d, not %d", live, req.From),
		}
	}
	return provider.CancelResult{Target: live}, nil
}

// Start creates the machines that a group lacks to its desired count. What exists already is
// adopted and counted.
func (p *Provider) Start(ctx context.Context) error {
	seen, err := p.lister.census(ctx)
	if err != nil {
		return fmt.Errorf("kwok provider: start: %w", err)
	}
	var missing []group
	var zones []string
	var errs []error
	for _, g := range p.groups {
		n := max(0, g.desired-seen.live(g.name))
		if g.fault.withoutNode() {
			_, made := p.build(ctx, g, seen, n)
			errs = append(errs, made...)
			continue
		}
		missing = append(missing, slices.Repeat([]group{g}, n)...)
		zones = append(zones, g.nextZones(seen, n)...)
	}
	errs = append(errs, inParallel(ctx, len(missing), func(i int) error {
		_, err := p.create(ctx, missing[i], zones[i], seen)
		return err
	})...)
	if n := succeeded(errs); n > 0 {
		p.log.Info("simulated nodes are created up to the desired counts", "nodes", n)
	}
	if failed := failure(ctx, provider.OpGrow, "", fmt.Sprintf("created %d of %d nodes up to the desired counts",
		succeeded(errs), len(errs)), errs); failed != nil {
		return fmt.Errorf("kwok provider: start: %w", failed)
	}
	return nil
}

// Close deletes every simulated machine of this provider, unless it was told to
// keep them. It looks again after deleting: a create whose answer was lost may
// come through late.
func (p *Provider) Close(ctx context.Context) error {
	if p.keepNodes {
		p.log.Info("simulated nodes are kept, as configured")
		return nil
	}
	for range rounds {
		seen, err := p.lister.census(ctx)
		if err != nil {
			return fmt.Errorf("kwok provider: delete the simulated nodes: %w", err)
		}
		var doomed []member
		for _, name := range slices.Sorted(maps.Keys(seen.byName)) {
			if m := seen.byName[name]; !m.deleting {
				doomed = append(doomed, m)
			}
		}
		if len(doomed) == 0 {
			return nil
		}
		p.log.Info("simulated nodes are deleted", "nodes", len(doomed))
		errs := p.end(ctx, seen, doomed)
		if failed := failure(
			ctx, provider.OpRemove, "", fmt.Sprintf("deleted %d of %d nodes", succeeded(errs), len(errs)), errs,
		); failed != nil {
			return fmt.Errorf("kwok provider: delete the simulated nodes: %w", failed)
		}
	}
	return nil
}

func (p *Provider) group(op provider.Op, id provider.GroupID) (group, error) {
	g, ok := p.byName[string(id)]
	if !ok {
		return group{}, &provider.Error{Op: op, Group: id, Kind: provider.NotFound, Message: "no template makes this group"}
	}
	return g, nil
}

// build makes n machines of the group, and returns their names and errors by
// index. Machines without a node are one write: all of them, or none.
func (p *Provider) build(ctx context.Context, g group, seen census, n int) ([]string, []error) {
	names := make([]string, n)
	if !g.fault.withoutNode() || n == 0 {
		zones := g.nextZones(seen, n)
		errs := inParallel(ctx, n, func(i int) error {
			var err error
			names[i], err = p.create(ctx, g, zones[i], seen)
			return err
		})
		return names, errs
	}
	names, err := p.machines.enrol(ctx, g, seen, n)
	return names, slices.Repeat([]error{err}, n)
}

// end ends machines, and returns the errors by index.
func (p *Provider) end(ctx context.Context, seen census, doomed []member) []error {
	errs := make([]error, len(doomed))
	var without []member
	var nodes []int
	for i, m := range doomed {
		if m.fault.withoutNode() {
			without = append(without, m)
		} else {
			nodes = append(nodes, i)
		}
	}
	var struck error
	if len(without) > 0 {
		struck = p.machines.strikeOff(ctx, seen.roll, without)
	}
	deleted := inParallel(ctx, len(nodes), func(i int) error { return p.delete(ctx, doomed[nodes[i]]) })
	for i, m := range doomed {
		if m.fault.withoutNode() {
			errs[i] = struck
		}
	}
	for i, at := range nodes {
		errs[at] = deleted[i]
	}
	return errs
}

// create makes one node of the group, under a name that is free; in a zone, if it has
// several.
func (p *Provider) create(ctx context.Context, g group, zone string, seen census) (string, error) {
	var err error
	for range draws {
		name := nodeName(g.name)
		if seen.knows(name) { // a machine without a node has that name
			err = conflict(fmt.Errorf("the name %q is taken", name))
			continue
		}
		node := nodeOf(g.in(zone), name)
		_, err = p.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err == nil {
			return node.Name, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("create the node %q: %w", node.Name, err)
		}
	}
	return "", fmt.Errorf("create a node: %d names drawn for it were all taken: %w", draws, err)
}

// nodeOf is the group's node under a name of its own. Its status goes with it:
// the API server keeps the status of a new node, and the KWOK controller keeps
// the resources in it.
func nodeOf(g group, name string) *corev1.Node {
	node := g.node.DeepCopy()
	node.Name = name
	node.Labels[corev1.LabelHostname] = name
	node.Annotations[annotationMetrics] = "/metrics/nodes/" + name + "/metrics/resource"
	node.Spec.ProviderID = providerIDPrefix + name
	g.fault.strike(node)
	return node
}

// delete deletes the node that was checked; one that is gone is fine.
func (p *Provider) delete(ctx context.Context, m member) error {
	err := p.client.CoreV1().Nodes().
		Delete(ctx, m.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.uid}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// beforeWrite is the error of the read before a write: nothing was sent. Rule
// P1 wants every write that meets its deadline to count as done all the same.
func (p *Provider) beforeWrite(ctx context.Context, op provider.Op, id provider.GroupID, err error) *provider.Error {
	e := hints.Error(op, id, "read the simulated nodes before the write", err)
	e.MayHaveHappened = ctx.Err() != nil
	return e
}

func notOurs(id provider.GroupID, instance provider.InstanceID, why string) *provider.Error {
	return &provider.Error{Op: provider.OpRemove, Group: id, Kind: provider.Conflict,
		Message: fmt.Sprintf("the node %q is not an instance of this group: %s; it is left alone", instance, why)}
}

// failure makes one error of many: the first that says why, how many there
// were, and whether the end of any is unknown. It is nil if there were none.
func failure(ctx context.Context, op provider.Op, id provider.GroupID, what string, errs []error) *provider.Error {
	failed := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(failed) == 0 {
		return nil
	}
	tried := slices.DeleteFunc(slices.Clone(failed), func(err error) bool { return errors.Is(err, errNotTried) })
	if len(tried) == 0 {
		tried = []error{context.Cause(ctx)}
	}
	e := hints.Error(op, id, what, tried[0])
	unknown := func(err error) bool { return !refused(err) }
	e.MayHaveHappened = ctx.Err() != nil || slices.ContainsFunc(tried, unknown)
	return e
}

func succeeded(errs []error) int {
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	return n
}

// inParallel does n writes, at most workers at once, and returns their errors
// by index. It hands out no more when ctx has ended, when a write was refused
// as all others would be, or when as many have failed as there are workers; the
// rest are errNotTried.
func inParallel(ctx context.Context, n int, do func(i int) error) []error {
	errs := make([]error, n)
	var next, failed atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range min(n, workers) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if stop.Load() || ctx.Err() != nil {
					errs[i] = errNotTried
					continue
				}
				errs[i] = do(int(i))
				if errs[i] == nil {
					continue
				}
				if pointless(errs[i]) || failed.Add(1) >= workers {
					stop.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return errs
}
