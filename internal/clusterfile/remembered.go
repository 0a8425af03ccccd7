package clusterfile

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Remembered is the leader's memory, with asks for the machines without a node that it knows nothing of, since they
// were made: without that, all of their time to register would begin at the cluster's moment.
func (c *Cluster) Remembered() model.Memory {
	m := c.Memory
	if c.Inventory == nil {
		return m
	}
	groups := c.Inventory.Groups
	homes := model.NewHomes(len(groups), func(i int) *provider.Group { return &groups[i] })
	taken := map[model.Home]bool{}
	for _, o := range c.Objects {
		if n, ok := o.(*corev1.Node); ok {
			if at, ok := homes.Of(n); ok {
				taken[at] = true
			}
		}
	}
	m.Asks = slices.Clone(m.Asks)
	missing := map[provider.GroupID]time.Time{}
	for i := range groups {
		g := &groups[i]
		for j := range g.Instances {
			in := &g.Instances[j]
			if g.Err != nil || in.State == provider.Deleting || in.Created.IsZero() ||
				taken[model.Home{Group: i, Instance: j}] || known(c.Memory.Asks, g.ID, in) {
				continue
			}
			m.Asks = found(m.Asks, g.ID, in)
			if since, ok := missing[g.ID]; !ok || in.Created.Before(since) {
				missing[g.ID] = in.Created
			}
		}
	}
	maps.Copy(missing, m.Missing)
	m.Missing = missing
	return m
}

// known reports whether a memory has asked for a machine: by its id, or before it was made, for one that has no id yet.
func known(asks []model.Ask, group provider.GroupID, in *provider.Instance) bool {
	return slices.ContainsFunc(asks, func(a model.Ask) bool {
		return a.Group == group && slices.ContainsFunc(a.Units, func(u model.Unit) bool {
			return u.Instance == in.ID || u.Instance == "" && !a.At.After(in.Created)
		})
	})
}

// found adds what a leader would have found when the cloud made a machine.
func found(asks []model.Ask, group provider.GroupID, in *provider.Instance) []model.Ask {
	unit := model.Unit{
		State: model.UnitMade, Entered: in.Created, Instance: in.ID, Exists: in.Created,
		Deadline: model.Deadline{Since: in.Created},
	}
	id := fmt.Sprintf("made/%s/%d", group, in.Created.UnixNano())
	if i := slices.IndexFunc(asks, func(a model.Ask) bool { return a.ID == id }); i >= 0 {
		asks[i].Units = append(slices.Clip(asks[i].Units), unit)
		return asks
	}
	return append(asks, model.Ask{
		ID: id, Group: group, At: in.Created, Found: true, First: true, Units: []model.Unit{unit},
	})
}
