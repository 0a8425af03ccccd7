package gardener

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// A group of no nodes is known by its class: labels, taints, devices, ephemeral storage,
// virtual capacity (#27, #132, #334, #393, gardener/gardener#5212), and its zone
// (machine-controller-manager#234).
func TestTemplateOfAMachineClass(t *testing.T) {
	class := gardenertest.NewClass(ns, "gpu", "zone-b")
	arm := "arm64"
	class.NodeTemplate.Architecture = &arm
	class.NodeTemplate.Capacity["gpu"] = resource.MustParse("2")
	class.NodeTemplate.Capacity["ephemeral-storage"] = resource.MustParse("50Gi")
	class.NodeTemplate.VirtualCapacity = corev1.ResourceList{
		"example.com/licence": resource.MustParse("3"), "memory": resource.MustParse("15Gi"),
	}
	d := gardenertest.NewDeployment(ns, "gpu", "pool", "zone-a", 0, append(limited("0", "3"),
		v1alpha1.OptionPrefix+"scale-down-unneeded-time", "7m", v1alpha1.OptionPrefix+"scale-down-gpu-utilization-threshold",
		"0.9", v1alpha1.OptionPrefix+"max-node-provision-time", "soon")...)
	labels := d.Spec.Template.Spec.NodeTemplate.Labels
	labels["team"], labels["empty"], labels["not a key"], labels[corev1.LabelHostname] = "a", "", "x", "h"
	d.Spec.Template.Spec.NodeTemplate.Spec.Taints = []corev1.Taint{
		{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
		{Key: v1alpha1.CriticalComponentsNotReadyTaint, Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute},
	}
	w := gardenertest.New(time.Now, ns)
	w.Add(class, d)
	p := connect(t, w, anywhere)
	inv := inventory(t, p)
	g := inv.Groups[0]
	if g.Template == nil {
		t.Fatal(g.TemplateErr)
	}
	node := g.Template.Node
	got := map[string]string{}
	for name, amount := range node.Status.Allocatable {
		got[string(name)] = amount.String()
	}
	if diff := cmp.Diff(map[string]string{
		"cpu":                 "4",
		"memory":              "15Gi",
		"pods":                "110",
		"nvidia.com/gpu":      "2",
		"ephemeral-storage":   "50Gi",
		"example.com/licence": "3",
	}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{
		"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "node.kubernetes.io/instance-type": "large",
		"topology.kubernetes.io/region": "europe",
		"topology.kubernetes.io/zone":   "zone-b", "team": "a", "empty": "", v1alpha1.PoolLabel: "pool",
	}, node.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}, node.Spec.Taints,
	); diff != "" {
		t.Error(diff)
	}
	if s := g.Template.Sources; s["resource/memory"] != sourceVirtual || s["resource/cpu"] != sourceClass ||
		s["label/team"] != sourceGroup || s["taint/dedicated"] != sourceGroup {
		t.Errorf("sources %v", s)
	}
	if *g.Options.ScaleDownUnneededTime != 7*time.Minute || *g.Options.ScaleDownGPUUtilizationThreshold != 0.9 ||
		g.Options.MaxNodeProvisionTime != nil || !noticed(inv, noticeBadAnnotation, "soon") {
		t.Errorf("options %+v, notices %v", g.Options, inv.Notices)
	}
	// Virtual capacity changes without a rollout, and the template with it.
	class.NodeTemplate.VirtualCapacity["example.com/licence"] = resource.MustParse("4")
	w.Add(class)
	if again := groupOf(t, p, "gpu"); again.Template.Version == g.Template.Version {
		t.Error("another capacity, and the same version")
	}
}

// What keeps a class from telling is reported, and costs the template alone.
func TestTemplatesThatCannotBeMade(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.MachineClass)
		says   string
	}{
		"no memory":        {func(c *v1alpha1.MachineClass) { delete(c.NodeTemplate.Capacity, "memory") }, "has no memory"},
		"no node template": {func(c *v1alpha1.MachineClass) { c.NodeTemplate = nil }, "has no nodeTemplate"},
		"no class":         {func(c *v1alpha1.MachineClass) { c.Name = "other" }, "there is no MachineClass"},
	} {
		t.Run(name, func(t *testing.T) {
			class := gardenertest.NewClass(ns, zone(0), "a")
			c.change(class)
			w := gardenertest.New(time.Now, ns)
			w.Add(class, gardenertest.NewDeployment(ns, zone(0), "web", "a", 1, limited("0", "3")...))
			w.Settle()
			g := groupOf(t, connect(t, w, anywhere), id(0))
			if g.Template != nil || g.TemplateErr == nil || g.TemplateErr.Kind != provider.BadConfig ||
				!strings.Contains(g.TemplateErr.Message, c.says) || len(g.Instances) != 1 || g.Err != nil {
				t.Errorf("%+v, error %v", g, g.TemplateErr)
			}
		})
	}
}

// nodesOf is a shoot that has these nodes, and counts how often it is asked.
type nodesOf struct {
	typedcorev1.NodeInterface
	nodes map[string]*corev1.Node
	err   error
	asked int
}

func (n *nodesOf) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	n.asked++
	if n.err != nil {
		return nil, n.err
	}
	if node, ok := n.nodes[name]; ok {
		return node, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

func exampleNode(instanceType, cpu string) *corev1.Node {
	n := &corev1.Node{}
	n.Labels = map[string]string{corev1.LabelInstanceTypeStable: instanceType, "only": "here"}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("4"), "example.com/device": resource.MustParse("1")}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("64"),
		"nvidia.com/gpu": resource.MustParse("0"), "memory": resource.MustParse("15Gi")}
	return n
}

// What a node has to give is learned from nodes that are there, the least of each;
// labels are not. The shoot is asked rarely, and not again while it does not answer.
func TestAmountsOfNodesThatAreThere(t *testing.T) {
	w := zones(limited("0", "9"), 3)
	asked := exampleNames(w.Machines(zone(0)), nil)
	shoot := &nodesOf{nodes: map[string]*corev1.Node{}}
	for _, m := range w.Machines(zone(0)) {
		shoot.nodes[m.Name] = exampleNode("large", "1") // but for those that are asked for
	}
	shoot.nodes[asked[0]], shoot.nodes[asked[1]] = exampleNode("large", "3900m"), exampleNode("large", "3800m")
	p := connect(t, w, anywhere)
	p.examples = newExamples(shoot, func() time.Time { return beginning })
	template := groupOf(t, p, id(0)).Template
	amounts := template.Node.Status.Allocatable
	if amounts.Cpu().String() != "3800m" || amounts.Memory().String() != "15Gi" || amounts.Pods().Value() != 64 ||
		template.Node.Status.Capacity.Cpu().String() != "4" {
		t.Errorf("allocatable %v", amounts)
	}
	if _, ok := template.Node.Labels["only"]; ok || template.Sources["resource/cpu"] == sourceClass {
		t.Errorf("labels %v, sources %v", template.Node.Labels, template.Sources)
	}
	inventory(t, p)
	if shoot.asked != 2 {
		t.Errorf("asked %d times", shoot.asked)
	}
	// Of another instance type, not ready or not there: no example.
	unready := exampleNode("large", "1")
	unready.Status.Conditions = nil
	shoot.nodes = map[string]*corev1.Node{asked[0]: exampleNode("small", "1"), asked[1]: unready}
	p.examples = newExamples(shoot, func() time.Time { return beginning })
	if amounts := groupOf(t, p, id(0)).Template.Node.Status.Allocatable; amounts.Cpu().String() != "4" {
		t.Errorf("allocatable %v", amounts)
	}
	shoot.err, shoot.asked = errors.New("no answer"), 0
	p.examples = newExamples(shoot, func() time.Time { return beginning })
	inventory(t, p)
	if g := groupOf(t, p, id(0)); shoot.asked != 1 || g.Template == nil {
		t.Errorf("asked %d times, %+v", shoot.asked, g)
	}
}

var beginning = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
