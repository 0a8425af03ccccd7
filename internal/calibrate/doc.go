// Package calibrate finds out how many steps of a decision this machine takes in a second, so that a budget in time
// becomes one in steps: deciding itself reads no clock.
//
// What flows in: a clock. What flows out: a number, from the time that decisions on a cluster of its own take.
//
// Who may import it: hosts. It imports catalog, decide, model and snapshot.
package calibrate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// The least and the most that is believed of a machine. One that is busy just then seems slow, and a clock may be
// set meanwhile.
const (
	least = model.StepsPerSecond / 4
	most  = model.StepsPerSecond * 4
)

// tries is how often the time is taken. The best of them counts: others were disturbed.
const tries = 5

// StepsPerSecond is how many steps this machine takes in a second.
func StepsPerSecond(now func() time.Time) int {
	policy := unlimited()
	best := 0.0
	for range tries {
		s := cluster(policy.Rules)
		began := now()
		plan := decide.Decide(s, policy)
		if took := now().Sub(began).Seconds(); took > 0 {
			best = max(best, float64(plan.Work.Steps)/took)
		}
	}
	return int(min(max(best, least), most))
}

func unlimited() model.Policy {
	var p model.Policy
	p.ScaleUp.Expanders, p.ScaleUp.ScaleFromZero = []model.Expander{model.ByLeastWaste}, true
	p.Share(1 << 30)
	return p
}

// cluster has an empty group in each of three zones, and pods of so many kinds that looking for room is most of the
// work: each requests something else and wants a port, and some spread.
func cluster(rules model.Rules) *model.Snapshot {
	const kinds = 400
	c := catalog.New()
	at := time.Unix(0, 0)
	seen := model.Observation{Now: at, Inventory: provider.Inventory{AsOf: at}}
	for i := range 3 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			corev1.LabelTopologyZone: fmt.Sprint(i),
		}}}
		node.Status.Allocatable = amounts(8000, 32<<10)
		node.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(110, resource.DecimalSI)
		seen.Inventory.Groups = append(seen.Inventory.Groups, provider.Group{
			ID: provider.GroupID(fmt.Sprint(i)), Max: 1000, Template: &provider.Template{Version: "1", Node: node},
		})
		seen.Templates = append(seen.Templates, model.Template{Known: true, Shape: c.Shape(node)})
	}
	for i := range kinds {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("p%03d", i), Labels: map[string]string{"app": fmt.Sprint(i % 20)},
		}}
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: amounts(int64(200+i), int64(300+3*i)),
		}}}
		// The filters are asked about each pod that wants a port, on each node.
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: int32(8000 + i%7)}}
		if i%4 == 0 {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
			}}
		}
		seen.Unbound = append(seen.Unbound,
			model.Pod{Name: p.Name, Content: c.Pod(p), Facts: c.Facts(p), Flags: model.Refused})
	}
	seen.Contents = c.Contents()
	return snapshot.New(nil, seen, model.Standing{}, rules)
}

func amounts(milliCPU, mebibytes int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
	}
}
