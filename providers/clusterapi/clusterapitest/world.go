package clusterapitest

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// Group is the API group of the Cluster API.
const Group = "cluster.x-k8s.io"

// Timing is how long things take.
type Timing struct {
	// Observe is how long the controllers take to see a change; Boot how long a
	// Machine has no node; End how long a finalizer holds a deleted one.
	Observe, Boot, End time.Duration
}

// World is the management cluster: an API server with Cluster API's controllers.
type World struct {
	*kubetest.API
	// What the controllers know, locked with the objects.
	controllers *controllers
}

// New makes an empty world that serves the Cluster API in the given versions,
// the preferred one first; v1beta2 alone if there are none.
func New(now func() time.Time, versions ...string) *World {
	if len(versions) == 0 {
		versions = []string{"v1beta2"}
	}
	c := &controllers{starved: map[kubetest.Key]bool{}, machine: map[kubetest.Key]life{}}
	w := &World{API: kubetest.New(now, c, kubetest.Dialect{Show: convert, Take: take}), controllers: c}
	for _, r := range []kubetest.Resource{
		{Kind: "Cluster", Plural: "clusters"}, {Kind: "MachineDeployment", Plural: "machinedeployments", Scale: true},
		{Kind: "MachineSet", Plural: "machinesets", Scale: true}, {Kind: "MachinePool", Plural: "machinepools", Scale: true}, {Kind: "Machine", Plural: "machines"},
	} {
		r.Group, r.Versions = Group, versions
		w.Serve(r)
	}
	return w
}

// SetVersions changes the versions in which the Cluster API is served.
func (w *World) SetVersions(versions ...string) { w.ServeIn(Group, versions...) }

// SetTiming changes how long things take from now on.
func (w *World) SetTiming(t Timing) {
	w.Do(func(*kubetest.Objects) { w.controllers.timing = t })
}
