package gardener

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

func testDeployment() *machinev1.MachineDeployment {
	labels := map[string]string{machinev1.NameLabel: "d"}
	return &machinev1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "d", UID: "u", Annotations: map[string]string{machinev1.PoolMaximumAnnotation: "4"},
		},
		Spec: machinev1.MachineDeploymentSpec{
			Replicas: 2, PoolMinimum: ptr.To[int32](3), PoolMaximum: ptr.To[int32](4),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: machinev1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       machinev1.MachineSpec{Class: machinev1.ClassSpec{Kind: "MachineClass", Name: "c"}},
			},
			Strategy: machinev1.MachineStrategy{Type: machinev1.RollingUpdate, RollingUpdate: &machinev1.UpdateBounds{
				MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromString("50%")),
			}},
		},
	}
}

// Today's machine-controller-manager drops the pool's limits with its first write;
// the annotations stay, and go to the mcm.
func TestWhoDoesNotKnowPoolsForgetsThem(t *testing.T) {
	for _, knows := range []bool{true, false} {
		c := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(testDeployment()).Build()
		r := &machineDeployments{client: c, knowsPools: knows}
		d := &machinev1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "d"}}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			t.Fatal(err)
		}
		if err := r.update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			t.Fatal(err)
		}
		if got := d.Spec.PoolMaximum != nil && d.Spec.PoolMinimum != nil; got != knows ||
			d.Annotations[machinev1.PoolMaximumAnnotation] != "4" {
			t.Errorf("who knows them: %t; kept %t, annotations %v", knows, got, d.Annotations)
		}
	}
	if set := newSet(*testDeployment(), 1, 1); set.Annotations[machinev1.PoolMaximumAnnotation] != "4" ||
		set.Annotations[machinev1.RevisionAnnotation] != "1" {
		t.Errorf("a set has %v", set.Annotations)
	}
}

func TestSizeOf(t *testing.T) {
	size, err := sizeOf(*testDeployment())
	if err != nil || size.Replicas != 2 || size.MaxSurge != 1 || size.MaxUnavailable != 1 {
		t.Errorf("got %+v, %v", size, err)
	}
	for name, edit := range map[string]func(*machinev1.MachineDeployment){
		"without a selector": func(d *machinev1.MachineDeployment) { d.Spec.Selector = nil },
		"selects others":     func(d *machinev1.MachineDeployment) { d.Spec.Template.Labels = nil },
		"without a strategy": func(d *machinev1.MachineDeployment) { d.Spec.Strategy.Type = "" },
		"in place":           func(d *machinev1.MachineDeployment) { d.Spec.Strategy.Type = machinev1.InPlaceUpdate },
		"without bounds":     func(d *machinev1.MachineDeployment) { d.Spec.Strategy.RollingUpdate = nil },
		"without one bound":  func(d *machinev1.MachineDeployment) { d.Spec.Strategy.RollingUpdate.MaxSurge = nil },
		"a bound that is no %": func(d *machinev1.MachineDeployment) {
			d.Spec.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromString("x"))
		},
		"another that is no %": func(d *machinev1.MachineDeployment) {
			d.Spec.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString("x"))
		},
	} {
		d := testDeployment()
		edit(d)
		if _, err := sizeOf(*d); err == nil {
			t.Errorf("%s: it is valid", name)
		}
	}
}

// A change of the class or the labels asks for new machines, one of the node's labels
// does not.
func TestSplit(t *testing.T) {
	d := testDeployment()
	first := newSet(*d, 2, 1)
	d.Spec.Template.Spec.NodeTemplate.Labels = map[string]string{"a": "b"}
	if newest, old := split(*d, []machinev1.MachineSet{*first}); newest == nil || len(old) != 0 ||
		newSet(*d, 2, 2).Name != first.Name {
		t.Errorf("another node label: %v, %v", newest, old)
	}
	d.Spec.Template.Spec.Class.Name = "c2"
	newest, old := split(*d, []machinev1.MachineSet{*first})
	if newest != nil || len(old) != 1 {
		t.Errorf("another class: %v, %v", newest, old)
	}
	second := newSet(*d, 0, 2)
	if second.Name == first.Name ||
		second.Spec.Selector.MatchLabels[machinev1.TemplateHashLabel] != second.Labels[machinev1.TemplateHashLabel] ||
		second.Spec.Template.Labels[machinev1.TemplateHashLabel] == first.Labels[machinev1.TemplateHashLabel] {
		t.Errorf("the sets are %+v and %+v", first, second)
	}
	if newest, old := split(*d, []machinev1.MachineSet{*first, *second}); newest.Name != second.Name ||
		old[0].Name != first.Name {
		t.Errorf("of both: %v, %v", newest.Name, old[0].Name)
	}
}

// Who freezes a deployment by hand freezes nothing; with a frozen set the label stays.
func TestALabelSetByHandIsUndone(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		d := testDeployment()
		d.Labels = map[string]string{machinev1.FreezeLabel: machinev1.FreezeValue}
		set := newSet(*d, 2, 1)
		if frozen {
			setIn(&set.Labels, machinev1.FreezeLabel, machinev1.FreezeValue)
		}
		r := &machineDeployments{
			client: fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(d).Build(), knowsPools: true,
		}
		changed, err := r.thaw(t.Context(), d, []machinev1.MachineSet{*set})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			t.Fatal(err)
		}
		if _, has := d.Labels[machinev1.FreezeLabel]; has != frozen || changed == frozen {
			t.Errorf("with a frozen set: %t; the label is there: %t", frozen, has)
		}
	}
}

// Annotations and timeouts go to the newest set alone.
func TestCopyDown(t *testing.T) {
	d := testDeployment()
	old := newSet(*d, 1, 1)
	d.Spec.Template.Spec.Class.Name = "c2"
	newest := newSet(*d, 1, 2)
	d.Annotations["a"], d.Annotations[machinev1.RevisionAnnotation] = "b", "2"
	d.Spec.Template.Spec.HealthTimeout = &metav1.Duration{Duration: time.Minute}
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(d, old, newest).Build()
	r := &machineDeployments{client: c, knowsPools: true}
	if changed, err := r.copyDown(t.Context(), d, newest, []machinev1.MachineSet{*old}); err != nil || !changed {
		t.Fatalf("changed %t, %v", changed, err)
	}
	for _, set := range []*machinev1.MachineSet{old, newest} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			t.Fatal(err)
		}
		if has := set.Annotations["a"] == "b" && set.Spec.Template.Spec.HealthTimeout != nil; has != (set == newest) {
			t.Errorf("%s: %v, %v", set.Name, set.Annotations, set.Spec.Template.Spec.HealthTimeout)
		}
	}
}

// A machine that the cloud refuses to make is tried again after as long as the code says,
// with one status for all tries that say the same; then it is made.
func TestCreationIsTriedAgain(t *testing.T) {
	now := epoch
	m := machine("m", 0, "")
	m.Namespace, m.UID = "n", "u"
	class := machinev1.MachineClass{
		ObjectMeta:   metav1.ObjectMeta{Namespace: "n", Name: "c"},
		NodeTemplate: &machinev1.NodeTemplate{Zone: "z", InstanceType: "i"},
	}
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithStatusSubresource(&machinev1.Machine{}).
		WithObjects(&m, &class).Build()
	r := &machines{client: c, now: func() time.Time { return now }, failed: map[types.UID]tries{}}
	try := func() time.Duration {
		t.Helper()
		result, err := r.make(t.Context(), &m, class, behaviour{createError: machinev1.CodeUnavailable, createErrors: 2})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	if again := try(); again != 5*time.Second || m.Status.CurrentStatus.Phase != crashing ||
		m.Status.LastOperation.ErrorCode != machinev1.CodeUnavailable {
		t.Fatalf("again in %s: %+v", again, m.Status)
	}
	now = now.Add(2 * time.Second)
	if again := try(); again != 3*time.Second {
		t.Errorf("an event in between: again in %s", again)
	}
	version := m.ResourceVersion
	now = now.Add(3 * time.Second)
	if again := try(); again != 5*time.Second || m.ResourceVersion != version {
		t.Errorf("the second try: again in %s, version %s after %s", again, m.ResourceVersion, version)
	}
	now = now.Add(5 * time.Second)
	if again := try(); again != 0 || m.Spec.ProviderID == "" || m.Status.CurrentStatus.Phase != crashing {
		t.Errorf("the third try: again in %s, %+v", again, m)
	}
}

func TestFlagsAndArgs(t *testing.T) {
	want := Settings{Kubeconfig: "k", Address: "a:1", KnowsPools: true, EndTakes: 20 * time.Second}
	if got, err := Flags(want.Args()); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}
