package clusterapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// machine is a Machine, in either version.
type machine struct {
	namespace, name            string
	owner                      owner
	labels                     map[string]string
	providerID, nodeName, zone string
	created                    time.Time
	deleting, paused           bool
	// mark is the value of its delete-machine annotation, nil if it has none.
	mark    *string
	failure *failure
	object  *unstructured.Unstructured
}

// instanceID is the Machine's namespace and name: the only name that it has from
// its beginning to its end.
func instanceID(namespace, name string) provider.InstanceID {
	return provider.InstanceID(namespace + "/" + name)
}

func parseInstanceID(id provider.InstanceID) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(string(id), "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}

func (m *machine) id() provider.InstanceID { return instanceID(m.namespace, m.name) }

// markPrefix begins the value of a mark that this program has set. Cluster API
// looks at the key alone; the value tells whose mark it is.
const markPrefix = "plimsoll/"

func (m *machine) markedByUs() bool { return m.mark != nil && strings.HasPrefix(*m.mark, markPrefix) }

func readMachine(o *unstructured.Unstructured, k keys) machine {
	m := machine{
		namespace: o.GetNamespace(), name: o.GetName(), owner: ownerOf(o, k.group), labels: o.GetLabels(), object: o,
		providerID: strings.TrimSpace(text(o, "spec", "providerID")), nodeName: text(o, "status", "nodeRef", "name"),
		zone:    cmp.Or(text(o, "spec", "failureDomain"), text(o, "status", "failureDomain")),
		created: o.GetCreationTimestamp().Time, deleting: o.GetDeletionTimestamp() != nil, failure: readFailure(o),
	}
	annotations := o.GetAnnotations()
	if value, ok := annotations[k.deleteMe()]; ok {
		m.mark = &value
	}
	_, m.paused = annotations[k.paused()]
	return m
}

// standing is how a group's Machines stand to its target.
type standing struct {
	// live are those that are not being deleted, marked those of them that are
	// marked to be deleted first.
	live, marked []*machine
	// rolling: a rollout is under way, and Machines beyond the target are its own.
	rolling bool
	// paid: the target has been lowered for every mark, so that Cluster API will
	// delete just those. It counts Machines on their way out first, then the
	// marked ones.
	paid bool
}

func standingOf(members []*machine, sets []*scalable, target int) standing {
	s := standing{rolling: rollingOut(sets) != ""}
	for _, m := range members {
		if m.deleting {
			continue
		}
		s.live = append(s.live, m)
		if m.mark != nil {
			s.marked = append(s.marked, m)
		}
	}
	s.paid = !s.rolling && len(s.live)-target >= len(s.marked)
	return s
}

// leaves reports whether a Machine is on its way out: deleted, or marked for it
// with the target lowered already.
func (s standing) leaves(m *machine) bool { return m.deleting || m.mark != nil && s.paid }

// instanceOf is a Machine as an instance.
func (s standing) instanceOf(m *machine) provider.Instance {
	out := provider.Instance{
		ID: m.id(), ProviderID: m.providerID, NodeName: m.nodeName, Zone: m.zone, Created: m.created, State: provider.Running,
	}
	switch {
	case s.leaves(m):
		out.State = provider.Deleting
	case m.nodeName == "":
		out.State = provider.Creating
	}
	if m.failure != nil && out.State != provider.Running {
		out.Err = m.failure.asError()
		out.Retry = m.failure.retry(out.Err.Kind)
		if m.nodeName != "" { // it was made: what fails is its end
			out.Err.Op = provider.OpRemove
		}
	}
	if m.paused && out.State != provider.Deleting {
		out.Hold = "the Machine is paused: Cluster API would not delete it"
	}
	return out
}

// instancesOf are a group's instances, sorted. A MachinePool without Machines
// has those that it lists by provider id.
func instancesOf(g *scalable, c circumstances) []provider.Instance {
	var out []provider.Instance
	if c.machineless {
		for _, id := range g.providerIDs {
			in := provider.Instance{ID: provider.InstanceID(id), ProviderID: id, State: provider.Running}
			switch {
			case deref(g.replicas) == 0:
				in.State = provider.Deleting
			case !c.emptiable:
				in.Hold = "its MachinePool has no Machines: none can be removed by name"
			}
			out = append(out, in)
		}
	} else {
		s := standingOf(c.members, c.sets, deref(g.replicas))
		for _, m := range c.members {
			in := s.instanceOf(m)
			if in.Err != nil {
				in.Err.Group, in.Err.Zone = g.id(), m.zone
			}
			if in.Hold == "" && in.State != provider.Deleting {
				in.Hold = c.short
			}
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b provider.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b provider.Instance) bool { return a.ID == b.ID })
}

// unambiguous takes away provider ids and node names that several instances
// claim, so that no node is taken for the wrong one. One of them may keep a
// provider id: that for which Cluster API has found the node. It tells the
// values.
func unambiguous(groups []provider.Group) []string {
	byID, byNode := map[string][]*provider.Instance{}, map[string][]*provider.Instance{}
	for i := range groups {
		for j := range groups[i].Instances {
			in := &groups[i].Instances[j]
			if in.ProviderID != "" {
				byID[in.ProviderID] = append(byID[in.ProviderID], in)
			}
			if in.NodeName != "" {
				byNode[in.NodeName] = append(byNode[in.NodeName], in)
			}
		}
	}
	var twice []string
	for id, claim := range byID {
		if len(claim) < 2 {
			continue
		}
		twice = append(twice, fmt.Sprintf("provider id %s: %s", id, names(claim)))
		withNode := slices.DeleteFunc(slices.Clone(claim), func(in *provider.Instance) bool { return in.NodeName == "" })
		for _, in := range claim {
			if len(withNode) != 1 || in != withNode[0] {
				in.ProviderID = ""
			}
		}
	}
	for node, claim := range byNode {
		if len(claim) < 2 {
			continue
		}
		twice = append(twice, fmt.Sprintf("node %s: %s", node, names(claim)))
		for _, in := range claim {
			in.NodeName = ""
		}
	}
	slices.Sort(twice)
	return twice
}

func names(instances []*provider.Instance) string {
	var out []string
	for _, in := range instances {
		out = append(out, string(in.ID))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
