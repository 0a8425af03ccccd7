package eksanywhere

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
)

// memory is what is known of Clusters from earlier looks. Correctness does not depend on it: after
// a restart, a few events are repeated. How the condition was last written is in the Cluster's
// status as well.
type memory struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]remembered
	// observed are the specs, but for their replicas, that Cluster API has answered
	// to, by the UID of the machine deployment.
	observed map[string]string
}

type remembered struct {
	uid    types.UID
	wrote  workers.Wrote
	counts map[string]int // nil: not seen before
	told   map[workers.Note]bool
}

func newMemory() *memory { return &memory{clusters: map[types.NamespacedName]remembered{}} }

// compare notes which specs are observed, and says of the others whether they
// differ from the observed ones in their replicas alone. mds are all there are. A
// spec that changes otherwise is forgotten until it is observed: if it changes
// back, Cluster API may be answering to what was in between.
func (m *memory) compare(mds []workers.MachineDeployment) []workers.MachineDeployment {
	m.mu.Lock()
	defer m.mu.Unlock()
	out, observed := slices.Clone(mds), map[string]string{}
	for i := range out {
		md := &out[i]
		old, known := m.observed[md.UID]
		switch {
		case md.Generation == md.ObservedGeneration:
			observed[md.UID] = md.SpecWithoutReplicas()
		case known && !md.Deleting && old == md.SpecWithoutReplicas():
			observed[md.UID] = old
			md.OnlyScaled = true
		}
	}
	m.observed = observed
	return out
}

// of is what is known of a Cluster; nothing, if it is another one of that name.
func (m *memory) of(key types.NamespacedName, uid types.UID) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.clusters[key]; ok && known.uid == uid {
		return known
	}
	return remembered{uid: uid}
}

func (m *memory) keep(key types.NamespacedName, r remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters[key] = r
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, key)
}

// tell returns the notes that are new, and remembers all of them. A note that is gone and comes
// back is new.
func (r remembered) tell(notes []workers.Note) (fresh []workers.Note, told map[workers.Note]bool) {
	told = map[workers.Note]bool{}
	for _, n := range notes {
		if !r.told[n] && !told[n] {
			fresh = append(fresh, n)
		}
		told[n] = true
	}
	return fresh, told
}
