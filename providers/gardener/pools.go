package gardener

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// pool is a worker pool: the MachineDeployments that carry its label, whether or not
// they are meant by the flags, and whether or not they are on their way out: all of
// them have machines.
type pool struct {
	id      provider.PoolID
	members []*v1alpha1.MachineDeployment // by the number of their zone
	limits  bounds
	sizing  string
	// limited: the pool has limits. Else its groups have bounds of their own, or
	// none.
	limited bool
	// static: the limits are what --nodes says of the members, each of which keeps
	// its own.
	static  bool
	notices []provider.Notice
}

// target is how many machines the pool has been asked for.
func (p *pool) target() int {
	sum := 0
	for _, d := range p.members {
		sum += int(d.Spec.Replicas)
	}
	return sum
}

// living is the same without zones on their way out: their machines count against
// the maximum while they are there, and are none that the minimum could rely on.
func (p *pool) living() int {
	sum := 0
	for _, d := range p.members {
		if d.DeletionTimestamp == nil {
			sum += int(d.Spec.Replicas)
		}
	}
	return sum
}

// said is what one MachineDeployment says of its pool; nil or empty is nothing.
type said struct {
	min, max *int
	sizing   string
	bad      []string
}

// readSaid reads the fields, else the annotations: machine-controller-manager drops
// fields that it does not know.
func readSaid(d *v1alpha1.MachineDeployment) said {
	var s said
	for _, each := range []struct {
		field *int32
		key   string
		into  **int
	}{
		{d.Spec.PoolMinimum, v1alpha1.PoolMinimumAnnotation, &s.min},
		{d.Spec.PoolMaximum, v1alpha1.PoolMaximumAnnotation, &s.max},
	} {
		text, annotated := d.Annotations[each.key]
		switch {
		case each.field != nil && *each.field >= 0:
			n := int(*each.field)
			*each.into = &n
		case each.field != nil:
			s.bad = append(s.bad, fmt.Sprintf("its pool limit of %d is below 0, and does not count", *each.field))
		case annotated:
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 0 {
				s.bad = append(s.bad,
					fmt.Sprintf("the annotation %s=%q is no number of machines, and does not count", each.key, text))
				continue
			}
			number := int(n)
			*each.into = &number
		}
	}
	if text, ok := d.Annotations[v1alpha1.SizingAnnotation]; ok {
		var err error
		if s.sizing, err = parseSizing(text); err != nil {
			s.bad = append(s.bad, fmt.Sprintf("the annotation %s=%q does not count: %v", v1alpha1.SizingAnnotation, text, err))
		}
	}
	return s
}

// poolsOf puts MachineDeployments into their pools, by the pool's id.
func poolsOf(deployments []*v1alpha1.MachineDeployment, s settings) map[provider.PoolID]*pool {
	pools := map[provider.PoolID]*pool{}
	for _, d := range deployments {
		id := poolIDOf(d)
		if id == "" {
			continue
		}
		if pools[id] == nil {
			pools[id] = &pool{id: id}
		}
		pools[id].members = append(pools[id].members, d)
	}
	for _, p := range pools {
		slices.SortFunc(p.members, byZone)
		p.read(s)
	}
	return pools
}

func poolIDOf(d *v1alpha1.MachineDeployment) provider.PoolID {
	return provider.PoolID(d.Labels[v1alpha1.PoolLabel])
}

// byZone orders the MachineDeployments of a pool: Gardener numbers their zones at
// the end of their names, so that of two the shorter is the earlier.
func byZone(a, b *v1alpha1.MachineDeployment) int {
	return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
}

// read finds the pool's limits and sizing. While Gardener changes one member after
// another they may disagree: the least counts, since what was bought is hard to return.
// Members that are being deleted do not count, unless all are.
func (p *pool) read(s settings) {
	living := slices.DeleteFunc(slices.Clone(p.members), func(d *v1alpha1.MachineDeployment) bool {
		return d.DeletionTimestamp != nil
	})
	if len(living) == 0 {
		living = p.members
	}
	var minima, maxima []int
	sizings := map[string]bool{}
	for _, d := range living {
		t := readSaid(d)
		for _, bad := range t.bad {
			p.notices = append(p.notices, kube.Notice(provider.GroupID(d.Name), noticeBadAnnotation, "%s", bad))
		}
		if t.min != nil {
			minima = append(minima, *t.min)
		}
		if t.max != nil {
			maxima = append(maxima, *t.max)
		}
		if t.sizing != "" {
			sizings[t.sizing] = true
		}
	}
	p.sizing = cmp.Or(s.sizing, v1alpha1.SizingEquitable)
	switch names := slices.Sorted(maps.Keys(sizings)); len(names) {
	case 0:
	case 1:
		p.sizing = names[0]
	default:
		p.notices = append(p.notices, kube.Notice("", noticePoolsDisagree, "the MachineDeployments of the pool %s name the "+
			"sizings %v; it is sized as %s until they agree", p.id, names, p.sizing))
	}
	if len(maxima) == 0 {
		p.readStatic(s, len(sizings) > 0)
		return
	}
	p.limited = true
	p.limits.max = slices.Min(maxima)
	if len(minima) > 0 {
		p.limits.min = slices.Min(minima)
	}
	if disagree(minima) || disagree(maxima) {
		p.notices = append(p.notices, kube.Notice("", noticePoolsDisagree, "the MachineDeployments of the pool %s say "+
			"different limits (minima %v, maxima %v); the least of each count until they agree", p.id, minima, maxima))
	}
	if p.limits.min > p.limits.max {
		p.notices = append(p.notices, kube.Notice("", noticeBadAnnotation,
			"the pool %s has a minimum of %d, above its maximum of %d, which is what counts", p.id, p.limits.min, p.limits.max))
		p.limits.min = p.limits.max
	}
}

// readStatic takes the sums of what --nodes says for the pool's limits, if it names
// every member. Unless another sizing was asked for, each member keeps its own
// bounds, which are what Backward-Compatible gives; if these were chosen in another
// way, they are all that there is.
func (p *pool) readStatic(s settings, named bool) {
	var own []bounds
	for _, d := range p.members {
		b, ok := s.static[d.Name]
		if !ok {
			return
		}
		own = append(own, b)
	}
	for _, b := range own {
		p.limits.min += b.min
		p.limits.max += b.max
	}
	if s.sizing == "" && !named {
		p.sizing = v1alpha1.SizingBackwardCompatible
	}
	p.static = p.sizing == v1alpha1.SizingBackwardCompatible
	p.limited = true
	for i, b := range own {
		if p.static && (b.min != share(i, p.limits.min, len(own)) || b.max != share(i, p.limits.max, len(own))) {
			p.limited = false
		}
	}
}

// share is what Gardener gives the i-th of n zones of a total.
func share(i, total, n int) int {
	out := total / n
	if i < total%n {
		out++
	}
	return out
}

func disagree(numbers []int) bool {
	return len(numbers) > 0 && slices.Min(numbers) != slices.Max(numbers)
}

// boundsOf are a group's own, and tell whether it has any: one of a pool with limits
// may have all that the pool may. A maximum is never below the target: where it was
// lowered, machines are there all the same.
func boundsOf(d *v1alpha1.MachineDeployment, p *pool, s settings) (bounds, bool) {
	b, ok := s.static[d.Name]
	t := readSaid(d)
	switch {
	case p != nil && p.limited && !p.static:
		b = bounds{0, p.limits.max}
	case p == nil && t.max != nil: // a pool of its own
		b = bounds{0, *t.max}
		if t.min != nil {
			b.min = min(*t.min, b.max)
		}
	case !ok:
		return bounds{}, false
	}
	b.max = max(b.max, int(d.Spec.Replicas))
	return b, true
}
