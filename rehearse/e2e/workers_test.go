package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
)

// workers are a group of Machines, as a script describes it.
type workers struct {
	namespace, name, kind string
	min, max, replicas    *int32
	version               string // of Kubernetes
	annotations           map[string]string
	machine               kwokapi.KwokMachineSpec
	first                 []string // the names of Machines that are there before the group
}

// cmdWorkers makes a group of Machines, and its template. Its nodes are those of the
// group of that name for all other commands; where it is in another namespace than the
// script's, of NAMESPACE.NAME. What is not said: a MachineDeployment whose nodes have 4
// cores and 16Gi, and join a second after their Machine was made.
//
//	workers [-in=NAMESPACE] NAME [KEY=VALUE ...]
//
//	kind=                 MachineDeployment or MachineSet
//	min= max=             bounds: without a maximum it is no node group, without a minimum that is 0
//	replicas=             a MachineDeployment has its minimum of itself
//	cpu= memory=          of a node
//	label=KEY=VALUE       a label of its nodes
//	taint=KEY=VALUE:EFFECT  a taint of its nodes
//	boot=DURATION         from when on a node joins
//	fails=REASON          so its machines fail, instead
//	version=              of its nodes' Kubernetes
//	annotation=KEY=VALUE  of the group
//	machine=NAME          a Machine of that name is made before the MachineSet, which takes it
func (w *world) cmdWorkers(c *call) error {
	g := workers{
		namespace: w.namespace, kind: "MachineDeployment", annotations: map[string]string{},
		machine: kwokapi.KwokMachineSpec{
			StartupDelay: &metav1.Duration{Duration: bootDelay},
			Node: kwokapi.NodeSpec{Labels: map[string]string{}, Capacity: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
				corev1.ResourcePods: resource.MustParse("110"),
			}},
		},
	}
	group := ""
	if namespace, elsewhere := c.option("in"); elsewhere {
		g.namespace, group = namespace, namespace+"."
	}
	g.name = c.args[0]
	g.machine.Node.Labels[workersLabel] = group + g.name
	for _, arg := range c.args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		if err := g.set(key, value); err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
	}
	return w.capi.make(c.ctx, g)
}

func (g *workers) set(key, value string) error {
	name, rest, _ := strings.Cut(value, "=")
	switch key {
	case "kind":
		g.kind = value
	case "min", "max", "replicas":
		n, err := strconv.ParseInt(value, 10, 32)
		count := int32(n)
		*map[string]**int32{"min": &g.min, "max": &g.max, "replicas": &g.replicas}[key] = &count
		return err
	case "cpu", "memory":
		amount, err := resource.ParseQuantity(value)
		g.machine.Node.Capacity[corev1.ResourceName(key)] = amount
		return err
	case "label":
		g.machine.Node.Labels[name] = rest
	case "taint":
		text, effect, _ := strings.Cut(rest, ":")
		g.machine.Node.Taints = append(g.machine.Node.Taints, corev1.Taint{
			Key: name, Value: text, Effect: corev1.TaintEffect(effect),
		})
	case "boot":
		d, err := time.ParseDuration(value)
		g.machine.StartupDelay.Duration = d
		return err
	case "fails":
		g.machine.Failure = &kwokapi.Failure{Reason: value, Message: "the script wants it so"}
	case "version":
		g.version = value
	case "annotation":
		g.annotations[name] = rest
	case "machine":
		g.first = append(g.first, value)
	default:
		return errors.New("workers have no such property")
	}
	return nil
}

// make creates the group in the present version of Cluster API's kinds.
func (a *clusterAPI) make(ctx context.Context, g workers) error {
	template := objects.MachineTemplate(g.namespace, g.name, g.machine)
	if err := a.admin.Create(ctx, template); err != nil {
		return fmt.Errorf("create the template of %s: %w", g.name, err)
	}
	// Plimsoll looks once a minute only whether there is something in its status by now.
	err := poll(ctx, func() (bool, string) {
		err := a.admin.Get(ctx, client.ObjectKeyFromObject(template), template)
		return err == nil && template.Status.NodeInfo != nil, fmt.Sprintf("the template of %s has the status %+v (%v)",
			g.name, template.Status, err)
	})
	if err != nil {
		return err
	}
	for _, name := range g.first {
		if err := a.makeMachine(ctx, g, name); err != nil {
			return fmt.Errorf("create the Machine %s of %s: %w", name, g.name, err)
		}
	}
	group, err := g.object()
	if err != nil {
		return err
	}
	a.groups[client.ObjectKeyFromObject(group)] = group
	if err := a.createIn(ctx, group, g.kind); err != nil {
		return fmt.Errorf("create the %s %s in %s: %w", g.kind, g.name, a.version, err)
	}
	return nil
}

// object is the group in the newest version.
func (g workers) object() (client.Object, error) {
	spec := objects.MachineSpec(clusterName, kwokapi.MachineTemplateKind, g.name)
	spec.Version = g.version
	template := clusterv1.MachineTemplateSpec{
		ObjectMeta: clusterv1.ObjectMeta{Labels: map[string]string{workersLabel: g.name}}, Spec: spec,
	}
	if g.max != nil { // Cluster API starts a group at its minimum only where both are written
		g.annotations[clusterv1.AutoscalerMinSizeAnnotation] = strconv.Itoa(int(ptr.Deref(g.min, 0)))
		g.annotations[clusterv1.AutoscalerMaxSizeAnnotation] = strconv.Itoa(int(*g.max))
	}
	meta := metav1.ObjectMeta{Namespace: g.namespace, Name: g.name, Annotations: g.annotations}
	switch g.kind {
	case "MachineDeployment":
		return &clusterv1.MachineDeployment{ObjectMeta: meta, Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: clusterName, Replicas: g.replicas, Template: template,
		}}, nil
	case "MachineSet":
		return &clusterv1.MachineSet{ObjectMeta: meta, Spec: clusterv1.MachineSetSpec{
			ClusterName: clusterName, Replicas: g.replicas, Template: template,
			Selector: metav1.LabelSelector{MatchLabels: template.Labels},
		}}, nil
	}
	return nil, fmt.Errorf("there are no workers of the kind %s", g.kind)
}

// makeMachine makes a Machine that a MachineSet will take for its own.
func (a *clusterAPI) makeMachine(ctx context.Context, g workers, name string) error {
	meta := metav1.ObjectMeta{Namespace: g.namespace, Name: name, Labels: map[string]string{workersLabel: g.name}}
	if err := a.admin.Create(ctx, &kwokapi.KwokMachine{ObjectMeta: meta, Spec: g.machine}); err != nil {
		return err
	}
	return a.admin.Create(ctx, &clusterv1.Machine{
		ObjectMeta: meta, Spec: objects.MachineSpec(clusterName, kwokapi.MachineKind, name),
	})
}

// createIn writes a group in the present version. Of what groups have here, only the
// reference to the infrastructure is written otherwise in v1beta1: it names the version.
func (a *clusterAPI) createIn(ctx context.Context, group client.Object, kind string) error {
	if a.version == newest {
		return a.admin.Create(ctx, group)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(group)
	if err != nil {
		return err
	}
	reference := map[string]any{
		"apiVersion": kwokapi.InfrastructureGroupVersion.String(),
		"kind":       kwokapi.MachineTemplateKind,
		"name":       group.GetName(),
	}
	if err := unstructured.SetNestedMap(fields, reference, "spec", "template", "spec", "infrastructureRef"); err != nil {
		return err
	}
	older := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(older.Object, "status")
	older.SetGroupVersionKind(schema.GroupVersionKind{Group: clusterv1.GroupVersion.Group, Version: a.version, Kind: kind})
	return a.admin.Create(ctx, older)
}

// boot changes how long machines of a group boot, those that do already as well.
func (a *clusterAPI) boot(ctx context.Context, namespace, group, delay string) error {
	template := &kwokapi.KwokMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: group}}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"startupDelay":%q}}}}`, delay)
	if err := a.admin.Patch(ctx, template, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("change the template of %s: %w", group, err)
	}
	var list kwokapi.KwokMachineList
	if err := a.admin.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{
		workersLabel: group,
	}); err != nil {
		return fmt.Errorf("list the machines of %s: %w", group, err)
	}
	patch = fmt.Appendf(nil, `{"spec":{"startupDelay":%q}}`, delay)
	for i := range list.Items {
		err := a.admin.Patch(ctx, &list.Items[i], client.RawPatch(types.MergePatchType, patch))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("change the machine %s: %w", list.Items[i].Name, err)
		}
	}
	return nil
}
