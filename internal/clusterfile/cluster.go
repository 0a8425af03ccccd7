package clusterfile

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Cluster is a cluster at one moment.
type Cluster struct {
	// Time is the moment. Files that do not say it get the newest time that an object in them has; it
	// is zero where none has any.
	Time time.Time
	// Version is the Plimsoll that wrote the file, and Flags are those that it was given; empty for
	// files that others wrote.
	Version string
	Flags   map[string]string
	// FlagsAt says where each of them stands, as FILE:LINE.
	FlagsAt map[string]string
	// Anonymized: its names were replaced.
	Anonymized bool
	// Objects are cut down to what observe reads; none is in it twice.
	Objects []runtime.Object
	// Live: it was read from its API server, and not from files.
	Live bool
	// Inventory are the node groups; nil if no file has any. InventoryErr says why the provider could
	// not read them.
	Inventory    *provider.Inventory
	InventoryErr string
	// GuessedFrom are the nodes' labels that the groups were guessed from; none if they were not.
	GuessedFrom []string
	// Memory is what the leader had written down.
	Memory model.Memory
	// Pending is what it said last of pods that wait. A dump does not have it.
	Pending status.Pending
	// Listed are the resources that were read in full, even where the cluster has none of them, and
	// Unread those that could not be read, with the reason. Files that others wrote say neither.
	Listed []string
	Unread map[string]string
	// Replaced names the objects of which something later in the files had another, which counts.
	Replaced []string
	// Odd are notes of what was read otherwise than it stands there.
	Odd []string
	// Skipped counts the objects of kinds that deciding does not read.
	Skipped map[string]int
}

// Observation makes the cluster ready to decide on.
func (c *Cluster) Observation(s observe.Settings) (model.Observation, error) {
	scene, err := observe.NewScene(c.Objects, s)
	if err != nil {
		return model.Observation{}, err
	}
	inventory, problem := c.Groups()
	return scene.Observe(inventory, problem, c.Time)
}

// Groups are the node groups, or why there are none.
func (c *Cluster) Groups() (provider.Inventory, error) {
	switch {
	case c.Inventory != nil:
		return *c.Inventory, nil
	case c.InventoryErr != "":
		return provider.Inventory{}, errors.New(c.InventoryErr)
	case c.Live:
		return provider.Inventory{}, errors.New("--cloud-provider=... reads them, and is not given")
	}
	return provider.Inventory{}, errors.New("the files have no node groups")
}

// kind is one of the kinds that are kept.
type kind struct {
	observe.Kind
	gvk schema.GroupVersionKind
}

// kinds are all that observe reads.
var kinds = sync.OnceValue(func() map[schema.GroupVersionKind]kind {
	out := map[schema.GroupVersionKind]kind{}
	for _, k := range observe.Kinds() {
		gvk := gvkOf(k.Example)
		out[gvk] = kind{k, gvk}
	}
	return out
})

// gvkOf is the kind of an object that observe reads.
func gvkOf(obj runtime.Object) schema.GroupVersionKind {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		panic(fmt.Sprintf("clusterfile: %T has no kind: %v", obj, err)) // a fault of the program
	}
	return gvks[0]
}
