package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// testPod is a one-core pod; its UID is made of its names.
func testPod(namespace, name, node string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), ResourceVersion: "1",
			Labels:            map[string]string{"app": "a"},
			CreationTimestamp: metav1.Unix(1000, 0),
		},
		Spec: corev1.PodSpec{
			NodeName: node,
			Containers: []corev1.Container{{Name: "c", Image: "image", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func refused(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
}

func ownedBy(apiVersion, kind string, uid types.UID) func(*corev1.Pod) {
	yes := true
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: apiVersion, Kind: kind, Name: "o", UID: uid, Controller: &yes,
		}}
	}
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}

func TestPodFacts(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		want   func(*model.Pod)
	}{
		{"plain", nil, nil},
		{"refused", refused, func(p *model.Pod) { p.Flags = model.Refused }},
		{"refused once, bound since", func(p *corev1.Pod) { refused(p); p.Spec.NodeName = "n" }, nil},
		{"condition for another reason", func(p *corev1.Pod) { refused(p); p.Status.Conditions[0].Reason = "SchedulerError" },
			nil},
		{"gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} },
			func(p *model.Pod) { p.Flags, p.Said = model.Gated, "g" }},
		{"gated by its condition",
			func(p *corev1.Pod) { refused(p); p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated },
			func(p *model.Pod) { p.Flags = model.Gated }},
		{"terminating", func(p *corev1.Pod) {
			// The API server's clock is behind ours.
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.Unix(1030, 0)), ptr.To[int64](30)
		}, func(p *model.Pod) { p.Flags, p.Ends = model.Terminating, cutAt.Unix()+30 }},
		{"terminating, and it is unknown for how long",
			func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Unix(1030, 0)) },
			func(p *model.Pod) { p.Flags, p.Ends = model.Terminating, 1030 }},
		{"mirror", annotated(corev1.MirrorPodAnnotationKey, "x"), func(p *model.Pod) { p.Flags = model.Mirror }},
		{"of a DaemonSet", ownedBy("apps/v1", "DaemonSet", "u"),
			func(p *model.Pod) { p.Flags, p.Owner = model.FromDaemonSet, "u" }},
		{"of a custom DaemonSet", ownedBy("example.com/v1", "DaemonSet", "u"), func(p *model.Pod) { p.Owner = "u" }},
		{"as if of a DaemonSet", annotated(annotationDaemonSetPod, "true"),
			func(p *model.Pod) { p.Flags = model.FromDaemonSet }},
		{"of a ReplicaSet", ownedBy("apps/v1", "ReplicaSet", "r"), func(p *model.Pod) { p.Owner = "r" }},
		{"succeeded", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
			func(p *model.Pod) { p.Flags = model.Finished }},
		{"failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
			func(p *model.Pod) { p.Flags = model.Finished }},
		{"nominated", func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }, func(p *model.Pod) { p.Nominated = "n" }},
		{"nominated once, bound since", func(p *corev1.Pod) { p.Status.NominatedNodeName = "n"; p.Spec.NodeName = "m" }, nil},
		{"delayed", annotated(annotationScaleUpDelay, "90s"), func(p *model.Pod) { p.ScaleUpDelay = 90 * time.Second }},
		{"delay that is none", annotated(annotationScaleUpDelay, "soon"), nil},
		{"negative delay", annotated(annotationScaleUpDelay, "-5s"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := testPod("ns", "p", "")
			if c.change != nil {
				c.change(pod)
			}
			want := model.Pod{Name: "p", UID: "ns/p", Created: 1000}
			if c.want != nil {
				c.want(&want)
			}
			got := cutPod(catalog.New(), pod, cutAt).pod
			got.Content = model.Content{}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// Every row names the facts of its pod, which its content does not tell.
func TestRowsNameTheirFacts(t *testing.T) {
	c := catalog.New()
	plain := cutPod(c, testPod("ns", "a", "n"), cutAt).pod
	job := cutPod(c, testPod("ns", "b", "n", ownedBy("batch/v1", "Job", "j"),
		annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")), cutAt).pod
	same := cutPod(c, testPod("ns", "c", "m", ownedBy("batch/v1", "Job", "k"),
		annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")), cutAt).pod
	if plain.Facts == job.Facts || job.Facts != same.Facts || plain.Content != job.Content {
		t.Errorf("facts %d, %d, %d; contents %v, %v", plain.Facts, job.Facts, same.Facts, plain.Content, job.Content)
	}
	facts := c.Contents().Facts
	if f := facts[job.Facts]; f.Controller != "Job" || f.Group != "batch" || f.Safe != model.EvictNo ||
		facts[plain.Facts].Controller != "" {
		t.Errorf("facts %+v and %+v", f, facts[plain.Facts])
	}
}

// The controller ties each pod of a DaemonSet to one node; that must not make a
// content of its own for every one of them.
func TestDaemonSetPodsShareTheirContent(t *testing.T) {
	pinned := func(node string) *corev1.Pod {
		p := testPod("ns", "d-"+node, node, ownedBy("apps/v1", "DaemonSet", "u"))
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: "os", Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"},
					}},
					MatchFields: []corev1.NodeSelectorRequirement{{
						Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node},
					}},
				}},
			}},
		}
		return p
	}
	c := catalog.New()
	a, b := pinned("a"), pinned("b")
	if x, y := cutPod(c, a, cutAt).pod.Content, cutPod(c, b, cutAt).pod.Content; x != y {
		t.Errorf("contents %v and %v", x, y)
	}
	terms := func(spec *corev1.PodSpec) []corev1.NodeSelectorTerm {
		return spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	kept := terms(&c.Contents().Specs[0].Pod.Spec)
	if len(kept) != 1 || len(kept[0].MatchExpressions) != 1 || len(kept[0].MatchFields) != 0 {
		t.Errorf("terms %+v", kept)
	}
	if terms(&a.Spec)[0].MatchFields == nil {
		t.Error("the pod that was given was changed")
	}
}

// A streamed list passes rows through client-go's own temporary store.
func TestRowsPassThroughClientGoStores(t *testing.T) {
	c := catalog.New()
	in := intake[*corev1.Pod, *podRow]{cut: func(p *corev1.Pod) *podRow { return cutPod(c, p, cutAt) }}
	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.WithTransformer(in.Transformer()))
	for _, p := range []*corev1.Pod{testPod("ns", "a", ""), testPod("ns", "b", "n"), testPod("ns", "a", "n")} {
		if err := store.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	var got []*podRow
	in.replace = func(rows []*podRow) { got = rows }
	if err := in.Replace(store.List(), "5"); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("%d rows", len(got))
	}
	for _, r := range got {
		if r.node != "n" {
			t.Errorf("%s is on %q", r.name, r.node)
		}
	}
}
