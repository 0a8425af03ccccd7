package catalog

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	for _, c := range change {
		c(p)
	}
	return p
}

func ownedBy(apiVersion, kind string, controller bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{
			APIVersion: apiVersion, Kind: kind, Name: "o", UID: "u", Controller: &controller,
		})
	}
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}

func volume(name string, source corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
}

func graceOf(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

var (
	hostPath = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
	emptyDir = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	inMemory = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
	onPages  = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumHugePages}}
	claim    = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}
	token    = corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}
)

func TestFacts(t *testing.T) {
	type change = []func(*corev1.Pod)
	rows := []struct {
		name   string
		change change
		want   model.Facts
	}{
		{"nothing said", nil, model.Facts{}},
		{"a ReplicaSet", change{ownedBy("apps/v1", "ReplicaSet", true)},
			model.Facts{Controller: "ReplicaSet", Maker: "o", Group: "apps"}},
		{"a kind of the core", change{ownedBy("v1", "ReplicationController", true)},
			model.Facts{Controller: "ReplicationController", Maker: "o"}},
		{"an owner that is no controller", change{ownedBy("apps/v1", "ReplicaSet", false)}, model.Facts{}},
		{"the controller among owners", change{ownedBy("v1", "Node", false), ownedBy("batch/v1", "Job", true)},
			model.Facts{Controller: "Job", Maker: "o", Group: "batch"}},
		{"a custom kind", change{ownedBy("example.com/v1alpha1", "ReplicaSet", true)},
			model.Facts{Controller: "ReplicaSet", Maker: "o", Group: "example.com"}},
		{"a version that is none", change{ownedBy("a/b/c", "ReplicationController", true)},
			model.Facts{Controller: "ReplicationController", Maker: "o", Group: "a/b/c"}},
		{"safe", change{annotated(annotationSafeToEvict, "true")}, model.Facts{Safe: model.EvictYes}},
		{"not safe", change{annotated(annotationSafeToEvict, "false")}, model.Facts{Safe: model.EvictNo}},
		{"on completion", change{annotated(annotationSafeToEvict, "on-completion")},
			model.Facts{Safe: model.EvictOnCompletion}},
		{"safe by another word", change{annotated(annotationSafeToEvict, "True")}, model.Facts{}},
		{"left alone", change{annotated(model.AnnotationDoNotDisrupt, "true")}, model.Facts{Alone: model.Always}},
		{"left alone for a time", change{annotated(model.AnnotationDoNotDisrupt, "90m")},
			model.Facts{Alone: 90 * time.Minute}},
		{"left alone, off", change{annotated(model.AnnotationDoNotDisrupt, "false")}, model.Facts{}},
		{"dear", change{annotated(corev1.PodDeletionCost, "-100")}, model.Facts{DeletionCost: -100}},
		{"dear beyond bounds", change{annotated(corev1.PodDeletionCost, "2147483648")}, model.Facts{}},
		{"daemon", change{annotated(annotationEvictDaemons, "true")}, model.Facts{Daemon: model.Yes}},
		{"no daemon", change{annotated(annotationEvictDaemons, "false")}, model.Facts{Daemon: model.No}},
		{"daemon by another word", change{annotated(annotationEvictDaemons, "no")}, model.Facts{}},
		{"a host path", change{volume("v", hostPath)}, model.Facts{Local: "v"}},
		{"an empty directory", change{volume("v", emptyDir)}, model.Facts{Local: "v"}},
		{"in huge pages", change{volume("v", onPages)}, model.Facts{Local: "v"}},
		{"in memory", change{volume("v", inMemory)}, model.Facts{}},
		{"none of the node", change{volume("a", claim), volume("b", token)}, model.Facts{}},
		{"the first by name", change{volume("c", emptyDir), volume("a", inMemory), volume("b", hostPath),
			volume("d", hostPath)}, model.Facts{Local: "b"}},
		{"may be lost", change{volume("v", emptyDir), annotated(annotationSafeVolumes, "v")}, model.Facts{}},
		{"may be lost, among others", change{volume("v", emptyDir), volume("w", hostPath),
			annotated(annotationSafeVolumes, "u, w ,v")}, model.Facts{}},
		{"the first that may not", change{volume("a", emptyDir), volume("b", emptyDir), volume("c", emptyDir),
			annotated(annotationSafeVolumes, " a")}, model.Facts{Local: "b"}},
		{"part of a name is no name", change{volume("data", emptyDir), annotated(annotationSafeVolumes, "dat,a")},
			model.Facts{Local: "data"}},
		{"no time", change{graceOf(0)}, model.Facts{Grace: -1}},
		{"a minute", change{graceOf(60)}, model.Facts{Grace: time.Minute}},
		{"below 0", change{graceOf(-5)}, model.Facts{Grace: time.Second}},
		{"for ever", change{graceOf(math.MaxInt64)}, model.Facts{Grace: math.MaxInt64}},
	}
	filled := map[string]bool{"Key": true} // it follows from the rest
	for _, c := range rows {
		for field, v := range reflect.ValueOf(c.want).Fields() {
			filled[field.Name] = filled[field.Name] || !v.IsZero()
		}
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			switch want.Grace {
			case 0:
				want.Grace = 30 * time.Second
			case -1:
				want.Grace = 0
			}
			table := New()
			id := table.Facts(pod(c.change...))
			got := *table.Contents().Facts[id]
			if got.Key == "" {
				t.Error("they have no key")
			}
			got.Key = ""
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
	for field := range reflect.TypeFor[model.Facts]().Fields() {
		if !filled[field.Name] {
			t.Errorf("no row has a pod of which the fact %s is known: fill it in factsOf (facts.go), and add a row here",
				field.Name)
		}
	}
}

// TestEveryFactIsInTheKey: facts that differ in one field have different keys. Otherwise pods that
// may be moved and pods that may not would count as the same.
func TestEveryFactIsInTheKey(t *testing.T) {
	keys := map[string]bool{factsKey(model.Facts{}): true}
	for i := range reflect.TypeFor[model.Facts]().NumField() {
		var f model.Facts
		field := reflect.TypeOf(f).Field(i)
		if field.Name == "Key" {
			continue
		}
		switch v := reflect.ValueOf(&f).Elem().Field(i); v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Uint8, reflect.Uint32:
			v.SetUint(1)
		case reflect.Int64, reflect.Int32, reflect.Int:
			v.SetInt(1)
		default:
			t.Fatalf("%s: this test cannot set a %s; teach it", field.Name, field.Type)
		}
		if key := factsKey(f); keys[key] {
			t.Errorf("the key is the same with another %s: add the field to factsKey (facts.go)", field.Name)
		} else {
			keys[key] = true
		}
	}
}

// Pods of one controller have the same facts, whatever is their own; what
// differs has another number and another key, the same in every catalog.
func TestFactsAreShared(t *testing.T) {
	var changes [][]func(*corev1.Pod)
	for _, owner := range [][2]string{{"apps/v1", "ReplicaSet"}, {"apps/v1", "StatefulSet"}, {"", ""}} {
		for _, word := range []string{"", "true", "false", "on-completion"} {
			for _, v := range []string{"", "a", "b"} {
				for _, seconds := range []int64{1, 2} {
					change := []func(*corev1.Pod){graceOf(seconds)}
					if owner[1] != "" {
						change = append(change, ownedBy(owner[0], owner[1], true))
					}
					if word != "" {
						change = append(change, annotated(annotationSafeToEvict, word), annotated(annotationEvictDaemons, word))
					}
					if v != "" {
						change = append(change, volume(v, emptyDir))
					}
					changes = append(changes, change)
				}
			}
		}
	}
	one, other := New(), New()
	keys := map[string]int{}
	for i := range changes {
		id := one.Facts(pod(changes[i]...))
		if int(id) != i {
			t.Fatalf("facts %d are taken for %d", i, id)
		}
		again := pod(changes[i]...)
		again.Name, again.UID, again.Labels, again.Spec.NodeName = "another", types.UID(fmt.Sprint(i)), map[string]string{
			"pod-index": "7",
		}, "n"
		if len(again.OwnerReferences) > 0 {
			again.OwnerReferences[0].UID = "other"
		}
		if same := one.Facts(again); same != id {
			t.Errorf("pods of one controller: %d and %d", id, same)
		}
	}
	for i := len(changes) - 1; i >= 0; i-- {
		other.Facts(pod(changes[i]...))
	}
	if n := len(one.Contents().Facts); n != len(changes) {
		t.Errorf("%d facts, want %d", n, len(changes))
	}
	for i, f := range one.Contents().Facts {
		if was, twice := keys[f.Key]; twice {
			t.Errorf("facts %d and %d have one key", was, i)
		}
		keys[f.Key] = i
		if elsewhere := other.Contents().Facts[len(changes)-1-i]; *elsewhere != *f {
			t.Errorf("%+v is %+v in another catalog", f, elsewhere)
		}
	}
	// Facts can be carried over.
	third := New()
	carried := third.InternFacts(*one.Contents().Facts[5])
	if got := third.Facts(pod(changes[5]...)); got != carried ||
		*third.Contents().Facts[carried] != *one.Contents().Facts[5] {
		t.Errorf("carried over: %d, then %d, %+v", carried, got, third.Contents().Facts[carried])
	}
}

// A pod's facts are no part of its content: the scheduler reads none of them.
func TestFactsAreNoContent(t *testing.T) {
	c := New()
	plain := c.Pod(pod())
	for _, change := range []func(*corev1.Pod){
		ownedBy("batch/v1", "Job", true), annotated(annotationSafeToEvict, "false"), volume("v", emptyDir), graceOf(99),
	} {
		if got := c.Pod(pod(change)); got != plain {
			t.Errorf("content %v, want %v", got, plain)
		}
	}
}
