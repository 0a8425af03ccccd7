package pools

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

func never(string) bool  { return false }
func always(string) bool { return true }

// brief is a list of findings as "path: part of the message".
func brief(errs field.ErrorList) string {
	var all []string
	for _, e := range errs {
		all = append(all, e.Error())
	}
	return strings.Join(all, "\n")
}

// testShoot is a valid shoot, after a change.
func testShoot(change func(*v1beta1.Shoot)) v1beta1.Shoot {
	s := v1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "garden-p"}}
	s.Spec.Provider.Workers = []v1beta1.Worker{{
		Name: "a", Minimum: 3, Maximum: 6, Zones: []string{"x", "y", "z"}, MaxSurge: ptr.To(ints(3)),
	}}
	s.Spec.Kubernetes.ClusterAutoscaler = &v1beta1.ClusterAutoscaler{}
	change(&s)
	return s
}

// TestValidateShoot: hole f, too: the sizing has two names in GEP-24, and two values are
// an error.
func TestValidateShoot(t *testing.T) {
	worker := func(change func(*v1beta1.Worker)) func(*v1beta1.Shoot) {
		return func(s *v1beta1.Shoot) { change(&s.Spec.Provider.Workers[0]) }
	}
	autoscaler := func(change func(*v1beta1.ClusterAutoscaler)) func(*v1beta1.Shoot) {
		return func(s *v1beta1.Shoot) { change(s.Spec.Kubernetes.ClusterAutoscaler) }
	}
	tests := []struct {
		name     string
		change   func(*v1beta1.Shoot)
		errors   string // a part of them
		warnings string
	}{
		{"valid", func(*v1beta1.Shoot) {}, "", ""},
		{"no pools", func(s *v1beta1.Shoot) { s.Spec.Provider.Workers = nil }, "spec.provider.workers: Required value", ""},
		{"no name", func(s *v1beta1.Shoot) { s.Name = "" }, "metadata.name: Required value", ""},
		{"two pools of a name", func(s *v1beta1.Shoot) {
			s.Spec.Provider.Workers = append(s.Spec.Provider.Workers, s.Spec.Provider.Workers[0])
		}, `spec.provider.workers[1].name: Duplicate value: "a"`, ""},
		{"a pool without a name", worker(func(w *v1beta1.Worker) { w.Name = "" }), "spec.provider.workers[0].name: Required value", ""},
		{"a name that is none", worker(func(w *v1beta1.Worker) { w.Name = "A_b" }), `spec.provider.workers[0].name: Invalid value: "A_b"`, ""},
		{"a name too long for its machine deployments", worker(func(w *v1beta1.Worker) { w.Name = strings.Repeat("a", 50) }), "would have 65 characters", ""},
		{"a negative minimum", worker(func(w *v1beta1.Worker) { w.Minimum = -1 }), "spec.provider.workers[0].minimum: Invalid value: -1: must not be negative", ""},
		{"a negative maximum", worker(func(w *v1beta1.Worker) { w.Minimum, w.Maximum = -2, -1 }), "spec.provider.workers[0].maximum: Invalid value: -1: must not be negative", ""},
		{"maximum below minimum", worker(func(w *v1beta1.Worker) { w.Minimum = 7 }), "spec.provider.workers[0].maximum: Invalid value: 6: must not be less than the minimum, 7", ""},
		{"maximum below the number of zones", worker(func(w *v1beta1.Worker) { w.Minimum, w.Maximum = 1, 2 }),
			"spec.provider.workers[0].maximum: Invalid value: 2: must not be less than the number of zones, 3", ""},
		{"switched off", worker(func(w *v1beta1.Worker) { w.Minimum, w.Maximum = 0, 0 }), "", ""},
		{"a zone twice", worker(func(w *v1beta1.Worker) { w.Zones = []string{"x", "x"} }), `spec.provider.workers[0].zones[1]: Duplicate value: "x"`, ""},
		{"a zone without a name", worker(func(w *v1beta1.Worker) { w.Zones = []string{""} }), "spec.provider.workers[0].zones[0]: Required value", ""},
		{"priority", worker(func(w *v1beta1.Worker) { w.Priority = ptr.To[int32](-2) }), "spec.provider.workers[0].priority: Invalid value: -2", ""},
		{"neither surge nor anything missing", worker(func(w *v1beta1.Worker) { w.MaxSurge = ptr.To(ints(0)) }), "spec.provider.workers[0].maxUnavailable: Invalid value: \"0\": must not be 0", ""},
		{"no percentage", worker(func(w *v1beta1.Worker) { w.MaxSurge = ptr.To(percent("half")) }), "spec.provider.workers[0].maxSurge: Invalid value: \"half\"", ""},
		{"more than all missing", worker(func(w *v1beta1.Worker) { w.MaxUnavailable = ptr.To(percent("101%")) }), "spec.provider.workers[0].maxUnavailable: Invalid value: \"101%\"", ""},
		{"a negative surge", worker(func(w *v1beta1.Worker) { w.MaxSurge = ptr.To(ints(-1)) }), "spec.provider.workers[0].maxSurge: Invalid value: -1", ""},
		{"a surge that does not reach every zone", worker(func(w *v1beta1.Worker) { w.MaxSurge = ptr.To(ints(1)) }), "", "spec.provider.workers[0].maxSurge: 1 is spread over 3 zones, with nothing for y, z"},
		{"a default surge that does not reach every zone", worker(func(w *v1beta1.Worker) { w.MaxSurge = nil }), "", "spec.provider.workers[0].maxSurge: is not set, and its default 1 is spread over 3 zones"},
		{"no surge at all expects no replacements first", worker(func(w *v1beta1.Worker) { w.MaxSurge, w.MaxUnavailable = ptr.To(ints(0)), ptr.To(ints(1)) }), "", ""},
		{"in place, nothing is replaced", worker(func(w *v1beta1.Worker) { w.MaxSurge, w.UpdateStrategy = nil, ptr.To(v1beta1.AutoInPlaceUpdate) }), "", ""},
		{"an unknown strategy", worker(func(w *v1beta1.Worker) { w.UpdateStrategy = ptr.To("Never") }), "spec.provider.workers[0].updateStrategy: Unsupported value: \"Never\"", ""},
		{"labels", worker(func(w *v1beta1.Worker) { w.Labels = map[string]string{"a b": "c"} }), "spec.provider.workers[0].labels: Invalid value: \"a b\"", ""},
		{"a taint's effect", worker(func(w *v1beta1.Worker) { w.Taints = []corev1.Taint{{Key: "k", Effect: "Never"}} }), "spec.provider.workers[0].taints[0].effect: Unsupported value: \"Never\"", ""},
		{"a pool's threshold", worker(func(w *v1beta1.Worker) {
			w.ClusterAutoscaler = &v1beta1.PoolAutoscaler{ScaleDownUtilizationThreshold: ptr.To(1.5)}
		}), "spec.provider.workers[0].clusterAutoscaler.scaleDownUtilizationThreshold: Invalid value: \"1.5\": must be " +
			"from 0 to 1", ""},
		{"a pool's duration", worker(func(w *v1beta1.Worker) {
			w.ClusterAutoscaler = &v1beta1.PoolAutoscaler{ScaleDownUnreadyTime: &metav1.Duration{Duration: -time.Second}}
		}), "spec.provider.workers[0].clusterAutoscaler.scaleDownUnreadyTime: Invalid value: \"-1s\"", ""},
		{"failed machines kept", worker(func(w *v1beta1.Worker) {
			w.MachineControllerManager = &v1beta1.MachineControllerManager{AutoPreserveFailedMachineMax: ptr.To[int32](-1)}
		}), "spec.provider.workers[0].machineControllerManager.autoPreserveFailedMachineMax: Invalid value: -1", ""},
		{"sizing", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.Sizing = ptr.To("lax-greedy") }), "", ""},
		{"an unknown sizing", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.Sizing = ptr.To("Adaptive") }),
			`spec.kubernetes.clusterAutoscaler.sizing: Unsupported value: "Adaptive": supported values: "Backward-Compatible", "Equitable", "Lax-Greedy"`, ""},
		{"both spellings, the same", autoscaler(func(a *v1beta1.ClusterAutoscaler) {
			a.Sizing, a.NodeGroupSizingStrategy = ptr.To("Lax-Greedy"), ptr.To("lax-greedy")
		}), "", ""},
		{"both spellings, different", autoscaler(func(a *v1beta1.ClusterAutoscaler) {
			a.Sizing, a.NodeGroupSizingStrategy = ptr.To("Lax-Greedy"), ptr.To("Equitable")
		}), "spec.kubernetes.clusterAutoscaler.nodeGroupSizingStrategy: Invalid value: \"Equitable\": differs from " +
			"spec.kubernetes.clusterAutoscaler.sizing, which is Lax-Greedy", ""},
		{"the annotation differs", func(s *v1beta1.Shoot) {
			s.Spec.Kubernetes.ClusterAutoscaler.Sizing = ptr.To("Equitable")
			s.Annotations = map[string]string{mcm.SizingAnnotation: "Lax-Greedy"}
		}, "metadata.annotations[autoscaler.plimsoll.dev/sizing]: Invalid value: \"Lax-Greedy\": differs from", ""},
		{"an expander", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.Expander = ptr.To("least-waste,cheapest") }),
			"spec.kubernetes.clusterAutoscaler.expander: Unsupported value: \"cheapest\"", ""},
		{"a threshold", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.ScaleDownUtilizationThreshold = ptr.To(-0.1) }),
			"spec.kubernetes.clusterAutoscaler.scaleDownUtilizationThreshold: Invalid value: \"-0.1\"", ""},
		{"a duration", autoscaler(func(a *v1beta1.ClusterAutoscaler) {
			a.NewPodScaleUpDelay = &metav1.Duration{Duration: -1}
		}),
			"spec.kubernetes.clusterAutoscaler.newPodScaleUpDelay: Invalid value", ""},
		{"scan interval", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.ScanInterval = &metav1.Duration{} }), "spec.kubernetes.clusterAutoscaler.scanInterval: Invalid value: \"0s\"", ""},
		{"a number", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.MaxDrainParallelism = ptr.To[int32](0) }), "spec.kubernetes.clusterAutoscaler.maxDrainParallelism: Invalid value: 0", ""},
		{"a taint's key", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.StatusTaints = []string{"a b"} }), "spec.kubernetes.clusterAutoscaler.statusTaints[0]: Invalid value: \"a b\"", ""},
		{"what has no flag any more", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.MaxEmptyBulkDelete = ptr.To[int32](3) }), "", "spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete: has no effect any more"},
		{"what has a flag without effect", autoscaler(func(a *v1beta1.ClusterAutoscaler) { a.MaxBinpackingTime = &metav1.Duration{Duration: time.Minute} }), "", "spec.kubernetes.clusterAutoscaler.maxBinpackingTime: has no effect"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := ValidateShoot(testShoot(tt.change), "shoot--p--s", never)
			for _, check := range []struct{ got, want string }{
				{brief(f.Errors), tt.errors}, {f.Warnings.String(), tt.warnings},
			} {
				if check.want == "" && check.got != "" || !strings.Contains(check.got, check.want) {
					t.Errorf("got %q, want %q", check.got, check.want)
				}
			}
		})
	}
}

// TestExistingPoolsAreOnlyWarned: what a new pool is refused for being unwise, one
// that is there already keeps (hole h; gardener/gardener#7834, #7878).
func TestExistingPoolsAreOnlyWarned(t *testing.T) {
	shoot := testShoot(func(s *v1beta1.Shoot) {
		s.Spec.Provider.Workers[0].Minimum, s.Spec.Provider.Workers[0].Maximum = 1, 2
	})
	f := ValidateShoot(shoot, "shoot--p--s", always)
	if len(f.Errors) > 0 ||
		!strings.Contains(f.Warnings.String(), "spec.provider.workers[0].maximum: 2 is less than the number of zones, 3") {
		t.Errorf("got %s and %s", brief(f.Errors), f.Warnings)
	}
}

func TestTechnicalID(t *testing.T) {
	tests := []struct{ namespace, status, want, fails string }{
		{"garden-core", "", "shoot--core--s", ""},
		{"garden-core", "shoot--x--y", "shoot--x--y", ""},
		{"elsewhere", "", "", `metadata.namespace "elsewhere" names no project`},
		{"garden-", "", "", "names no project"},
	}
	for _, tt := range tests {
		s := v1beta1.Shoot{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: tt.namespace},
			Status:     v1beta1.ShootStatus{TechnicalID: tt.status},
		}
		got, err := TechnicalID(s)
		if got != tt.want || (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%+v: got %q, %v", tt, got, err)
		}
	}
}

// TestDefaultsOfAShoot: what a Shoot's file leaves open, Gardener fills in before it
// gets to a seed.
func TestDefaultsOfAShoot(t *testing.T) {
	no := false
	p := poolOf(v1beta1.Worker{
		Name: "a", SystemComponents: &v1beta1.SystemComponents{Allow: no}, Labels: map[string]string{"team": "blue"},
	})
	if diff := cmp.Diff([]any{"1", "0", map[string]string{"node.kubernetes.io/role": "node", "team": "blue"}}, []any{
		p.MaxSurge.String(), p.MaxUnavailable.String(), p.Labels,
	}); diff != "" {
		t.Error(diff)
	}
	p = poolOf(v1beta1.Worker{
		Name: "a", UpdateStrategy: ptr.To(v1beta1.AutoInPlaceUpdate), MaxUnavailable: ptr.To(intstr.FromInt32(2)),
	})
	if diff := cmp.Diff([]any{"0", "2", "true"}, []any{
		p.MaxSurge.String(), p.MaxUnavailable.String(), p.Labels["worker.gardener.cloud/system-components"],
	}); diff != "" {
		t.Error(diff)
	}
}
