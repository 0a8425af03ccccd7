package eksanywhere_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rehearsed "github.com/plimsoll-dev/plimsoll/rehearse/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

func (p *plane) mdKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: p.version, Kind: "MachineDeployment"}
}

const (
	clusterNamespace = "default"

	minSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	maxSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"

	// patience is how long something may take on a machine that is busy with other
	// things; on a quiet one it takes seconds at most.
	patience = 5 * time.Minute
)

// world is one EKS Anywhere Cluster on a control plane.
type world struct {
	*plane
	t    *testing.T
	name string
}

// group is a worker node group as a user writes it.
type group map[string]any

func fixed(name string, count int) group { return group{"name": name, "count": count} }

func scaled(name string, minCount, maxCount int) group {
	return group{"name": name, "autoscalingConfiguration": map[string]any{"minCount": minCount, "maxCount": maxCount}}
}

// with is the group with one more field.
func (g group) with(key string, value any) group {
	out := group{key: value}
	for k, v := range g {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// kwok is the group with machines that this controller can make.
func (g group) kwok(template string) group {
	return g.with("machineGroupRef", map[string]any{"kind": "KwokMachineTemplate", "name": template})
}

// newWorld makes a Cluster, whose control plane is initialized, and which has no
// groups yet; when the test is over, it goes, with its machine deployments.
func (p *plane) newWorld(t *testing.T, name string) world {
	t.Helper()
	p.start(t)
	w := world{plane: p, t: t, name: name}
	w.create(fmt.Sprintf(`{"apiVersion":"anywhere.eks.amazonaws.com/v1alpha1","kind":"Cluster","metadata":{"name":%q,"namespace":%q},
		"spec":{"gitOpsRef":{"name":"kept"}}}`, name, clusterNamespace))
	w.patchStatus(w.clusterObject(), "eksa-test",
		`{"status":{"conditions":[{"type":"ControlPlaneInitialized","status":"True","note":"kept"}]}}`)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := p.admin.Delete(ctx, w.clusterObject()); err != nil {
			t.Error(err)
		}
		for _, md := range w.deployments(ctx) {
			if err := p.admin.Delete(ctx, &md); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	})
	return w
}

func (w world) clusterObject() *unstructured.Unstructured {
	return rehearsed.Cluster(clusterNamespace, w.name)
}

// mdObject is a group's machine deployment, by the name that it must have.
func (w world) mdObject(group string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(w.mdKind())
	u.SetNamespace(machinesNamespace)
	u.SetName(w.name + "-" + group)
	return u
}

func (w world) deployments(ctx context.Context) []unstructured.Unstructured {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(w.mdKind())
	if err := w.admin.List(ctx, list, client.InNamespace(machinesNamespace), client.MatchingLabels{
		"cluster.x-k8s.io/cluster-name": w.name,
	}); err != nil {
		w.t.Error(err)
	}
	return list.Items
}

func (w world) create(text string) {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		w.t.Fatal(err)
	}
	if err := w.admin.Create(w.t.Context(), u); err != nil {
		w.t.Fatal(err)
	}
}

// cluster and md are the objects as they are now.
func (w world) cluster() *unstructured.Unstructured { return w.get(w.clusterObject()) }

func (w world) md(group string) *unstructured.Unstructured { return w.get(w.mdObject(group)) }

func (w world) get(u *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	if err := w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		w.t.Fatal(err)
	}
	return u
}

// want makes these the Cluster's groups, in one update.
func (w world) want(groups ...group) {
	w.t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"workerNodeGroupConfigurations": groups}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.patch(w.clusterObject(), "user", string(patch))
}

func (w world) patch(u client.Object, manager, patch string) {
	w.t.Helper()
	if err := w.admin.Patch(
		w.t.Context(), u, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager),
	); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) patchStatus(u client.Object, manager, patch string) {
	w.t.Helper()
	if err := w.admin.Status().Patch(
		w.t.Context(), u, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager),
	); err != nil {
		w.t.Fatal(err)
	}
}

// made is a machine deployment as EKS Anywhere makes it, in its name. replicas
// below 0: it says none.
func (w world) made(group string, replicas int) {
	w.t.Helper()
	u := w.mdObject(group)
	labels := map[string]any{"cluster.x-k8s.io/cluster-name": w.name}
	infrastructure := map[string]any{"kind": "VSphereMachineTemplate", "name": "big"}
	if w.version == "v1beta1" {
		infrastructure["apiVersion"] = "infrastructure.cluster.x-k8s.io/v1beta1"
	} else {
		infrastructure["apiGroup"] = "infrastructure.cluster.x-k8s.io"
	}
	u.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": w.name})
	spec := map[string]any{
		"clusterName": w.name,
		"selector":    map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{
				"clusterName": w.name, "bootstrap": map[string]any{"dataSecretName": "x"},
				"infrastructureRef": infrastructure,
			},
		},
	}
	if replicas >= 0 {
		spec["replicas"] = int64(replicas)
	}
	u.Object["spec"] = spec
	if err := w.admin.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner("eks-a-controller"), client.ForceOwnership); err != nil {
		w.t.Fatal(err)
	}
}

// scale sizes a group as an autoscaler does.
func (w world) scale(group string, replicas int) {
	w.t.Helper()
	body := &unstructured.Unstructured{}
	body.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	err := w.admin.SubResource("scale").Patch(w.t.Context(), w.mdObject(group), patch, client.WithSubResourceBody(body),
		client.FieldOwner("autoscaler"))
	if err != nil {
		w.t.Fatal(err)
	}
}

// settle plays Cluster API: it has seen the group's machine deployment, and there
// are that many machines, all of them well.
func (w world) settle(group string, machines int) { w.status(group, machines, machines) }

func (w world) status(group string, machines, ready int) {
	w.t.Helper()
	w.patchStatus(w.mdObject(group), "cluster-api", fmt.Sprintf(
		`{"status":{"observedGeneration":%d,"replicas":%d,"readyReplicas":%d,"availableReplicas":%d,"upToDateReplicas":%d,"updatedReplicas":%d}}`,
		// the last ones are those of v1beta2 and v1beta1
		w.md(group).GetGeneration(), machines, ready, ready, machines, machines))
}

// condition is one of the Cluster's conditions, as "status reason message".
func condition(cluster *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(cluster.Object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != kind {
			continue
		}
		words := []string{fmt.Sprint(c["status"])}
		for _, key := range []string{"reason", "message"} {
			if text, ok := c[key].(string); ok {
				words = append(words, text)
			}
		}
		return strings.Join(words, " ")
	}
	return "none"
}

// readyIs waits for a WorkersReady condition that begins so.
func (w world) readyIs(want string) {
	w.t.Helper()
	w.eventually("WorkersReady is "+want, func() (bool, string) {
		got := condition(w.cluster(), "WorkersReady")
		return strings.HasPrefix(got, want), got
	})
}

func (w world) eventually(what string, done func() (bool, string)) {
	w.t.Helper()
	planetest.Eventually(w.t, patience, what, done)
}

// told are the texts of the events about the Cluster for a reason.
func (w world) told(reason string) []string {
	w.t.Helper()
	var list eventsv1.EventList
	if err := w.admin.List(w.t.Context(), &list, client.InNamespace(clusterNamespace)); err != nil {
		w.t.Fatal(err)
	}
	var notes []string
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.Name == w.name && e.Regarding.Kind == rehearsed.ClusterKind.Kind {
			notes = append(notes, e.Note)
		}
	}
	slices.Sort(notes)
	return notes
}

func (w world) tells(reason, text string) {
	w.t.Helper()
	w.eventually("an event "+reason+" with "+text, func() (bool, string) {
		notes := w.told(reason)
		return slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, text) }), strings.Join(notes, "\n")
	})
}

func replicas(md *unstructured.Unstructured) int {
	n, found, err := unstructured.NestedInt64(md.Object, "spec", "replicas")
	if !found || err != nil {
		return -1
	}
	return int(n)
}

// owners are the managers that own a field of an object, by server-side apply or
// otherwise.
func owners(u *unstructured.Unstructured, path ...string) []string {
	var all []string
	for _, e := range u.GetManagedFields() {
		var tree map[string]any
		if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &tree) != nil {
			continue
		}
		owned := true
		for _, name := range path {
			next, ok := tree["f:"+name].(map[string]any)
			if !ok {
				owned = false
				break
			}
			tree = next
		}
		if owned {
			all = append(all, e.Manager)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
