package clusterfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// MostNodes bounds the size of a group in a file and in what is supposed: six times as many as the largest cluster
// that is tested. Each node that a group asks for takes memory.
const MostNodes = 100_000

// checkGroups finds numbers that no cloud has. The error names the field, below the path.
func checkGroups(path string, in *provider.Inventory) error {
	seen := map[provider.GroupID]bool{}
	machines := map[string]string{}
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
		for j := range g.Instances {
			if err := checkInstance(fmt.Sprintf("%s.instances[%d]", at, j), &g.Instances[j], machines); err != nil {
				return fmt.Errorf("%w (group %s)", err, g.ID)
			}
		}
	}
	for i, c := range in.Commitments {
		switch at := fmt.Sprintf("%scommitments[%d]", path, i); {
		case c.Nodes <= 0 || c.Nodes > MostNodes:
			return fmt.Errorf("%s.nodes: %d is not between 1 and %d", at, c.Nodes, MostNodes)
		case !model.IsPrice(c.PerHour):
			return fmt.Errorf("%s.perHour: %v is not a price", at, c.PerHour)
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

// checkInstance looks at one machine. seen are those before it, with where they stand.
func checkInstance(at string, in *provider.Instance, seen map[string]string) error {
	states := []provider.State{provider.Creating, provider.Running, provider.Deleting}
	before, twice := seen["id "+string(in.ID)]
	switch same := seen["provider "+in.ProviderID]; {
	case in.ID == "":
		return fmt.Errorf("%s.id: missing", at)
	case twice:
		return fmt.Errorf("%s.id: %q is there twice, as %s", at, in.ID, before)
	case in.ProviderID != "" && same != "":
		return fmt.Errorf("%s.providerID: %q is that of %s, too", at, in.ProviderID, same)
	case !slices.Contains(states, in.State):
		return fmt.Errorf("%s.state: %q is none of %v", at, in.State, states)
	}
	seen["id "+string(in.ID)], seen["provider "+in.ProviderID] = at, at
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
// not fit into numbers. A pod may request whatever its author writes: model.Countless stands for what no node has.
func checkObject(obj runtime.Object) error {
	switch o := obj.(type) {
	case *corev1.Node:
		return cmp.Or(amounts("status.capacity", o.Status.Capacity), countable("status.capacity", o.Status.Capacity),
			amounts("status.allocatable", o.Status.Allocatable), atMost("status.allocatable", o.Status.Allocatable))
	case *corev1.Pod:
		err := cmp.Or(amounts("spec.overhead", o.Spec.Overhead), requests("containers", o.Spec.Containers),
			requests("initContainers", o.Spec.InitContainers))
		if err == nil && o.Spec.Resources != nil {
			err = amounts("spec.resources.requests", o.Spec.Resources.Requests)
		}
		return err
	case *policyv1.PodDisruptionBudget:
		return budget(&o.Spec)
	}
	return nil
}

// budget finds what the API server refuses in a budget.
func budget(spec *policyv1.PodDisruptionBudgetSpec) error {
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		return errors.New("spec: it has minAvailable and maxUnavailable, and may have one of them")
	}
	return cmp.Or(pods("spec.minAvailable", spec.MinAvailable), pods("spec.maxUnavailable", spec.MaxUnavailable))
}

// pods is an error for what is neither a number of pods nor a share of them.
func pods(at string, n *intstr.IntOrString) error {
	switch {
	case n == nil:
	case n.Type == intstr.Int && n.IntVal < 0:
		return fmt.Errorf("%s: %d is below 0", at, n.IntVal)
	case n.Type == intstr.String && !share.MatchString(n.StrVal):
		return fmt.Errorf("%s: %q is neither a number nor a share from 0%% to 100%%", at, n.StrVal)
	}
	return nil
}

var share = regexp.MustCompile(`^(0*[0-9]{1,2}|0*100)%$`)

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
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if q := list[name]; q.Sign() < 0 {
			return fmt.Errorf("%s[%s]: %s is below 0", at, name, q.String())
		}
	}
	return nil
}

// countable finds what cannot be counted.
func countable(at string, list corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		most := int64(math.MaxInt64) - 1 // reading makes all above it math.MaxInt64
		if name == corev1.ResourceCPU {
			most /= 1000 // it is counted in thousandths
		}
		if isAbove(list[name], most) {
			return fmt.Errorf("%s[%s]: it is more than can be counted (%d)", at, name, most)
		}
	}
	return nil
}

// isAbove compares an amount, which may have more digits than any machine has memory for.
func isAbove(q resource.Quantity, most int64) bool {
	return -int64(q.AsDec().Scale()) > 30 || q.CmpInt64(most) > 0
}

// mostCores is what no node has more of.
const mostCores = 1_000_000

func atMost(at string, list corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q, most := list[name], int64(model.MostOfAny)
		if name == corev1.ResourceCPU {
			most = mostCores
		}
		if isAbove(q, most) {
			return fmt.Errorf("%s[%s]: %s is more than any machine has (%d)", at, name, q.String(), most)
		}
	}
	return nil
}
