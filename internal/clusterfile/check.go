package clusterfile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// MostNodes bounds the size of a group in a file and in what is supposed: six times as many as the largest cluster
// that is tested. Each node that a group asks for takes memory.
const MostNodes = 100_000

// checkGroups finds numbers that no cloud has. The error names the field, below the path.
func checkGroups(path string, in *provider.Inventory) error {
	seen := map[provider.GroupID]bool{}
	for i := range in.Groups {
		g, at := &in.Groups[i], fmt.Sprintf("%sgroups[%d]", path, i)
		switch {
		case g.ID == "":
			return fmt.Errorf("%s.id: missing", at)
		case seen[g.ID]:
			return fmt.Errorf("%s.id: %q is there twice", at, g.ID)
		}
		seen[g.ID] = true
		if err := checkGroup(at, g); err != nil {
			return fmt.Errorf("%w (group %s)", err, g.ID)
		}
	}
	for i, p := range in.Pools {
		if err := limits(fmt.Sprintf("%spools[%d]", path, i), p.Min, p.Max); err != nil {
			return fmt.Errorf("%w (pool %s)", err, p.ID)
		}
	}
	return nil
}

func checkGroup(at string, g *provider.Group) error {
	if g.Err == nil { // else nothing of it was read
		if err := limits(at, g.Min, g.Max); err != nil {
			return err
		}
	}
	if g.Target < 0 || g.Target > MostNodes {
		return fmt.Errorf("%s.target: %d is not between 0 and %d", at, g.Target, MostNodes)
	}
	if g.PricePerHour != nil && !model.IsPrice(*g.PricePerHour) {
		return fmt.Errorf("%s.pricePerHour: %v is not a price", at, *g.PricePerHour)
	}
	for i, p := range g.Prices {
		if !model.IsPrice(p.PerHour) {
			return fmt.Errorf("%s.prices[%d].perHour: %v is not a price", at, i, p.PerHour)
		}
	}
	o := &g.Options
	for _, share := range []*float64{o.ScaleDownUtilizationThreshold, o.ScaleDownGPUUtilizationThreshold} {
		if share != nil && !isAmount(*share) {
			return fmt.Errorf("%s.options: %v is not a threshold", at, *share)
		}
	}
	for _, d := range []*time.Duration{
		o.ScaleDownUnneededTime, o.ScaleDownUnreadyTime, o.MaxNodeProvisionTime, o.MaxNodeStartupTime,
	} {
		if d != nil && *d < 0 {
			return fmt.Errorf("%s.options: %s is below 0", at, *d)
		}
	}
	if g.Template == nil {
		return nil
	}
	if g.Template.Node != nil {
		if err := checkObject(g.Template.Node); err != nil {
			return fmt.Errorf("%s.template.node.%w", at, err)
		}
	}
	for i, pod := range g.Template.Pods {
		if err := checkObject(pod); err != nil {
			return fmt.Errorf("%s.template.pods[%d].%w", at, i, err)
		}
	}
	return nil
}

func limits(at string, least, most int) error {
	switch {
	case least < 0 || least > MostNodes:
		return fmt.Errorf("%s.min: %d is not between 0 and %d", at, least, MostNodes)
	case most < least:
		return fmt.Errorf("%s.max: %d is below min, %d", at, most, least)
	}
	return nil
}

func isAmount(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }

// checkObject finds amounts below 0, which the API server would refuse, and nodes that no machine is: their sums would
// not fit into numbers. A pod may request whatever its author writes.
func checkObject(obj runtime.Object) error {
	switch o := obj.(type) {
	case *corev1.Node:
		return cmp.Or(amounts("status.capacity", o.Status.Capacity), amounts("status.allocatable", o.Status.Allocatable),
			atMost("status.allocatable", o.Status.Allocatable))
	case *corev1.Pod:
		err := cmp.Or(amounts("spec.overhead", o.Spec.Overhead), requests("containers", o.Spec.Containers),
			requests("initContainers", o.Spec.InitContainers))
		if err == nil && o.Spec.Resources != nil {
			err = amounts("spec.resources.requests", o.Spec.Resources.Requests)
		}
		return err
	}
	return nil
}

func requests(field string, containers []corev1.Container) error {
	for i := range containers {
		list := containers[i].Resources.Requests
		if len(list) == 0 {
			continue
		}
		if err := amounts(fmt.Sprintf("spec.%s[%d].resources.requests", field, i), list); err != nil {
			return err
		}
	}
	return nil
}

func amounts(at string, list corev1.ResourceList) error {
	wrong := corev1.ResourceName("")
	for name, q := range list {
		if q.Sign() < 0 && (wrong == "" || name < wrong) {
			wrong = name
		}
	}
	if wrong == "" {
		return nil
	}
	q := list[wrong]
	return fmt.Errorf("%s[%s]: %s is below 0", at, wrong, q.String())
}

// No node has more than mostCores, or more than mostOfAny of anything else: eight petabytes, in bytes.
const (
	mostCores = 1_000_000
	mostOfAny = 1 << 53
)

func atMost(at string, list corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q, most := list[name], int64(mostOfAny)
		if name == corev1.ResourceCPU {
			most = mostCores
		}
		if q.CmpInt64(most) > 0 {
			return fmt.Errorf("%s[%s]: %s is more than any machine has (%d)", at, name, q.String(), most)
		}
	}
	return nil
}
