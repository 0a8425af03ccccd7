package gardener

import (
	"context"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// look is a group, and the pool that it is in, as they were read right before a
// write. It has the last word (rule P4).
type look struct {
	deployment *v1alpha1.MachineDeployment
	pool       *pool // nil if it has none
	bounds     bounds
	target     int

	// Of a whole look alone:
	machines []*v1alpha1.Machine
	sets     []*v1alpha1.MachineSet
	marks    []mark
	standing standing
	// home is the MachineDeployment of each machine of the namespace, empty for one
	// that has none.
	home   map[provider.InstanceID]string
	census census
}

// glance reads the MachineDeployments alone: targets and limits, all in one answer.
func (p *Provider) glance(ctx context.Context, op provider.Op, id provider.GroupID) (look, *provider.Error) {
	c := census{strange: map[string]error{}}
	var err error
	if c.deployments, err = p.listDeployments(ctx, &c); err != nil {
		return look{}, hints.BeforeWrite(ctx, op, id, "read the group and its pool before the write", err)
	}
	return p.find(c, op, id)
}

// look reads machines and MachineSets as well.
func (p *Provider) look(ctx context.Context, op provider.Op, id provider.GroupID) (look, *provider.Error) {
	c, err := p.takeCensus(ctx, false)
	if err != nil {
		return look{}, hints.BeforeWrite(ctx, op, id, "read the group and its machines before the write", err)
	}
	l, refusal := p.find(c, op, id)
	if refusal != nil {
		return look{}, refusal
	}
	f := familiesOf(c)
	name := l.deployment.Name
	l.machines, l.sets, l.marks, l.census = f.machines[name], f.sets[name], c.marks[name], c
	l.standing = standingOf(l.deployment, l.machines, l.sets, l.marks, p.settings.marker, p.now())
	l.home = map[provider.InstanceID]string{}
	for _, m := range c.machines {
		l.home[provider.InstanceID(m.Name)] = f.home[provider.InstanceID(m.Name)]
	}
	return l, nil
}

// find is the group with its limits, and refuses what it itself forbids.
func (p *Provider) find(c census, op provider.Op, id provider.GroupID) (look, *provider.Error) {
	unknown := kube.Refuse(op, id, provider.NotFound,
		"there is no such MachineDeployment that the flags mean in the namespace %s", p.settings.namespace)
	for _, d := range c.deployments {
		if d.Name != string(id) {
			continue
		}
		if !p.settings.meant(d) {
			return look{}, unknown
		}
		if err := c.strange[v1alpha1.KindMachineDeployment+"/"+d.Name]; err != nil {
			return look{}, kube.Refuse(op, id, provider.BadConfig, unread, err)
		}
		l := look{deployment: d, target: int(d.Spec.Replicas), pool: poolsOf(c.deployments, p.settings)[poolIDOf(d)]}
		var ok bool
		if l.bounds, ok = boundsOf(d, l.pool, p.settings); !ok {
			return look{}, unknown
		}
		if l.pool != nil && !l.pool.limited {
			l.pool = nil
		}
		if l.pool != nil && op == provider.OpGrow {
			for _, other := range l.pool.members {
				if err := c.strange[v1alpha1.KindMachineDeployment+"/"+other.Name]; isUnsized(err) {
					return look{}, kube.Refuse(op, id, provider.BadConfig, "the replicas of the MachineDeployment %s of the same "+
						"pool cannot be read, so that what the pool may still have is not known: %v", other.Name, err)
				}
			}
		}
		if refusal := hindered(op, d); refusal != nil {
			return look{}, refusal
		}
		return l, nil
	}
	return look{}, unknown
}
