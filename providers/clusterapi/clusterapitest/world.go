package clusterapitest

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// Group is the API group of the Cluster API.
const Group = "cluster.x-k8s.io"

// Timing is how long things take.
type Timing = kubetest.Timing

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
	c := &controllers{machine: map[kubetest.Key]life{}}
	w := &World{API: kubetest.New(now, c, kubetest.Dialect{Show: convert, Take: take}), controllers: c}
	for _, r := range []kubetest.Resource{
		{Kind: "Cluster", Plural: "clusters"}, {Kind: "MachineDeployment", Plural: "machinedeployments", Scale: true},
		{Kind: "MachineSet", Plural: "machinesets", Scale: true}, {Kind: "MachinePool", Plural: "machinepools", Scale: true},
		{Kind: "Machine", Plural: "machines"},
	} {
		r.Group, r.Versions = Group, versions
		w.Serve(r)
	}
	return w
}

// SetVersions changes the versions in which the Cluster API is served.
func (w *World) SetVersions(versions ...string) { w.ServeIn(Group, versions...) }
