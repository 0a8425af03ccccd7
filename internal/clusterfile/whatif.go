package clusterfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Group is a node group of the cluster, to be looked at and changed.
func (c *Cluster) Group(id provider.GroupID) (*provider.Group, error) {
	var names []string
	if c.Inventory != nil {
		for i := range c.Inventory.Groups {
			if g := &c.Inventory.Groups[i]; g.ID == id {
				return g, nil
			}
			names = append(names, string(c.Inventory.Groups[i].ID))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no node group %q: the cluster has none", id)
	}
	return nil, fmt.Errorf("there is no node group %q%s", id,
		spelling.Meant(string(id), names, "the groups are "+spelling.All(names)))
}

// template is what pods are made of: a Pod, or the pods of a controller.
type template struct {
	typeMeta          `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Template             *corev1.PodTemplateSpec `json:"template"`
		VolumeClaimTemplates []any                   `json:"volumeClaimTemplates"`
	} `json:"spec"`
}

// AddPods adds pods that wait for a node, count like each that a file has: a Pod, or what makes pods (a
// Deployment, say), and says what they are called. The file is standard input for "-". The scheduler has refused them.
func (c *Cluster) AddPods(count int, file string, stdin io.Reader) (added []string, err error) {
	pods, err := podsIn(file, stdin)
	if err != nil {
		return nil, fmt.Errorf("read the pods to add: %w", err)
	}
	for _, pod := range pods {
		added = append(added, c.addPods(count, pod))
	}
	return added, nil
}

// podsIn are the pods that a file describes, one or more.
func podsIn(file string, stdin io.Reader) (pods []*corev1.Pod, err error) {
	in, err := opened(file, stdin)
	if err != nil {
		return nil, err
	}
	defer in.close()
	held := &bounded{in: in, mostAll: mostInOne, mostInOne: mostInOne}
	err = split(in.name, held, func(p piece) error {
		data, err := p.json()
		if data == nil || err != nil {
			return err
		}
		pod, err := podOf(data, p.list)
		if err != nil {
			return p.wrongAt(data, err)
		}
		pods = append(pods, pod)
		return nil
	})
	if err == nil && len(pods) == 0 {
		err = fmt.Errorf("%s has none", in.name)
	}
	return pods, err
}

// podOf is the pod that a document describes. list is the kind that it has if it says none.
func podOf(data []byte, list typeMeta) (*corev1.Pod, error) {
	var t template
	if err := located(json.Unmarshal(data, &t), data, &t, false); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	if t.Kind == "" {
		t.typeMeta = list
	}
	is := called(t.Kind, data)
	pod := &corev1.Pod{}
	switch {
	case t.Kind == "":
		return nil, errors.New("not a Kubernetes object: it has no kind, such as Pod or Deployment")
	case t.APIVersion == "":
		return nil, fmt.Errorf("%s: %w", is, errNoVersion)
	case t.Kind == "Pod":
		if err := located(json.Unmarshal(data, pod), data, pod, false); err != nil {
			return nil, fmt.Errorf("%s: %w", is, err)
		}
		if err := unknownField("", reflect.TypeOf(pod), data); err != nil {
			return nil, fmt.Errorf("%s: %w", is, err)
		}
	case len(t.Spec.VolumeClaimTemplates) > 0:
		return nil, fmt.Errorf("%s: its pods have volume claims of their own, which do not exist yet; give a Pod", is)
	case t.Spec.Template != nil:
		pod.ObjectMeta, pod.Spec = t.Spec.Template.ObjectMeta, t.Spec.Template.Spec
		pod.Namespace, pod.Name = cmp.Or(pod.Namespace, t.Namespace), t.Name
		var raw struct {
			Spec struct{ Template json.RawMessage }
		}
		if err := json.Unmarshal(data, &raw); err != nil {
			return nil, fmt.Errorf("%s: %w", is, err)
		}
		if err := unknownField("spec.template", reflect.TypeOf(t.Spec.Template), raw.Spec.Template); err != nil {
			return nil, fmt.Errorf("%s: %w", is, err)
		}
	default:
		return nil, fmt.Errorf("%s: it is no Pod, and has no spec.template with one", is)
	}
	if err := cmp.Or(checkObject(pod), refused(pod)); err != nil {
		return nil, fmt.Errorf("%s: %w", is, err)
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, fmt.Errorf("%s: it has no containers", is)
	}
	pod.Namespace = cmp.Or(pod.Namespace, metav1.NamespaceDefault)
	pod.Name = cmp.Or(pod.Name, pod.GenerateName, "added")
	return pod, nil
}

// addPods adds pods like one, and says what they are called.
func (c *Cluster) addPods(count int, like *corev1.Pod) string {
	owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: like.Name,
		UID: types.UID("added/" + like.Namespace + "/" + like.Name), Controller: new(true)}}
	before := 0 // pods of the same name that were added already
	prefix := like.Name + "-added-"
	for _, o := range c.Objects {
		if p, ok := o.(*corev1.Pod); ok && p.Namespace == like.Namespace && strings.HasPrefix(p.Name, prefix) {
			before++
		}
	}
	for i := range count {
		pod := like.DeepCopy()
		pod.ObjectMeta = metav1.ObjectMeta{
			Namespace: like.Namespace, Name: prefix + strconv.Itoa(before+i+1), Labels: like.Labels,
			Annotations: like.Annotations, OwnerReferences: owner,
		}
		pod.UID = types.UID("added/" + pod.Namespace + "/" + pod.Name)
		c.Objects = append(c.Objects, observe.Cut(observe.Refused(pod, c.Time)))
	}
	first := fmt.Sprintf("%s/%s%d", like.Namespace, prefix, before+1)
	if count == 1 {
		return first
	}
	return fmt.Sprintf("%s to %d", first, before+count)
}

// RemoveNode takes a node away, with its machine. The pods of controllers wait for another node. The
// others, which no controller makes again, are lost.
func (c *Cluster) RemoveNode(name string) (lost []string, err error) {
	var node *corev1.Node
	var names []string
	for _, obj := range c.Objects {
		if n, ok := obj.(*corev1.Node); ok {
			names = append(names, n.Name)
			if n.Name == name {
				node = n
			}
		}
	}
	if node == nil {
		return nil, fmt.Errorf("there is no such node%s",
			spelling.Meant(name, names, "the cluster has "+spelling.Count(len(names), "node")))
	}
	objects := make([]runtime.Object, 0, len(c.Objects))
	for _, obj := range c.Objects {
		gone := false
		switch o := obj.(type) {
		case *corev1.Node:
			gone = o.Name == name
		case *storagev1.CSINode:
			gone = o.Name == name
		case *storagev1.VolumeAttachment:
			gone = o.Spec.NodeName == name
		case *corev1.Pod:
			if o.Spec.NodeName != name {
				break
			}
			next, alone := observe.Successor(o, c.Time)
			if alone {
				lost = append(lost, o.Namespace+"/"+o.Name)
			}
			obj, gone = next, next == nil
		}
		if !gone {
			objects = append(objects, obj)
		}
	}
	c.Objects = objects
	if c.Inventory != nil {
		c.removeInstance(node)
	}
	return lost, nil
}

// removeInstance takes a node's machine out of its group.
func (c *Cluster) removeInstance(node *corev1.Node) {
	for i := range c.Inventory.Groups {
		g := &c.Inventory.Groups[i]
		at := slices.IndexFunc(g.Instances, func(in provider.Instance) bool {
			return in.NodeName == node.Name || in.ProviderID != "" && in.ProviderID == node.Spec.ProviderID
		})
		if at >= 0 {
			g.Instances = slices.Delete(slices.Clone(g.Instances), at, at+1)
			g.Target = max(0, g.Target-1)
			return
		}
	}
}

// SetPrices writes into the groups what their new nodes cost by the policy.
func (c *Cluster) SetPrices(p *model.Prices) {
	if c.Inventory == nil {
		return
	}
	inventory := *c.Inventory
	inventory.Groups = slices.Clone(inventory.Groups)
	for i := range inventory.Groups {
		g := &inventory.Groups[i]
		node := &corev1.Node{}
		if g.Template != nil && g.Template.Node != nil {
			node = g.Template.Node
		}
		shape := &model.Shape{Node: node, Capacity: model.ResourcesOf(node.Status.Capacity),
			Allocatable: model.ResourcesOf(node.Status.Allocatable)}
		if price, known := p.Of(&model.Group{Group: *g}, shape); known {
			g.PricePerHour = &price
		}
	}
	c.Inventory = &inventory
}
