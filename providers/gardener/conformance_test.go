package gardener

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest/door"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// conforming is a namespace with a pool of two zones and a group that cannot grow
// rightly.
func conforming(limits ...string) *gardenertest.World {
	w := gardenertest.New(time.Now, ns)
	for _, name := range []string{"pool-z1", "pool-z2"} {
		zone := "zone" + name[len(name)-1:]
		w.Add(gardenertest.NewClass(ns, name, zone), gardenertest.NewDeployment(ns, name, "pool", zone, 1, limits...))
	}
	strange := gardenertest.NewDeployment(ns, "elsewhere", "", "zone1", 2, v1alpha1.PoolMaximumAnnotation, "12")
	strange.Spec.Template.Spec.Class.Kind = "AWSMachineClass"
	w.Add(strange)
	w.Settle()
	return w
}

// conforms plays the suite. Its deadlines are short, so that nothing else runs beside
// it.
func conforms(t *testing.T, pool provider.PoolID, lacks map[string]string, limits []string, cfg Config, prepare func(
	*gardenertest.World,
)) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		w := conforming(limits...)
		prepare(w)
		return providertest.Subject{
			Provider: connect(t, w, cfg), Door: door.Door{World: w}, Lacks: lacks,
			Group: "pool-z1", Other: "pool-z2", Pool: pool, Unsupported: "elsewhere",
		}
	})
}

// In a pool, a group's own minimum is 0: the pool has one. TestPoolMinimum is about
// that.
var pooled = map[string]string{
	"P4/RemoveKeepsTheMinimum":                  "the minimum is the pool's: TestPoolMinimum",
	"P4/OnlyWhatIsEndedCountsAgainstTheMinimum": "the minimum is the pool's: TestPoolMinimum",
	"P4/ForcePassesTheMinimum":                  "the minimum is the pool's: TestPoolMinimum",
	"P5/CancelKeepsTheMinimum":                  "the minimum is the pool's: TestPoolMinimum",
}

var limitsOfPool = []string{v1alpha1.PoolMinimumAnnotation, "1", v1alpha1.PoolMaximumAnnotation, "12"}

var discovery = Config{Namespace: ns, Discovery: []string{"mcm:k8s.io/cluster-autoscaler/prod"}, RequireAvailable: true}

func TestConformsByDiscovery(t *testing.T) {
	conforms(t, "pool", pooled, limitsOfPool, discovery, func(*gardenertest.World) {})
}

// With the rights alone that Gardener gives its autoscaler, and machines that are
// slow.
func TestConformsWithTheRightsThatAreListed(t *testing.T) {
	conforms(t, "pool", pooled, limitsOfPool, discovery, func(w *gardenertest.World) {
		w.SetTiming(gardenertest.Timing{Boot: time.Hour, End: time.Hour})
		w.SetRights(rights()...)
	})
}

var staticBounds = Config{
	Namespace:        ns,
	Nodes:            []string{"1:12:" + ns + ".pool-z1", "1:12:" + ns + ".pool-z2", "0:12:" + ns + ".elsewhere"},
	RequireAvailable: true,
}

var shared = map[string]string{"P4/GrowKeepsThePoolsMaximum": "the pool's maximum is the sum of its groups'"}

func TestConformsByNodes(t *testing.T) {
	conforms(t, "", shared, nil, staticBounds, func(*gardenertest.World) {})
}

// The same with a machine-controller-manager of either earlier age.
func TestConformsWithOlderMarkers(t *testing.T) {
	for m, marks := range map[marker]gardenertest.Marks{names: gardenertest.Names, priority: gardenertest.Neither} {
		t.Run(string(m), func(t *testing.T) {
			cfg := staticBounds
			cfg.DeletionMarker = string(m)
			conforms(t, "", shared, nil, cfg, func(w *gardenertest.World) { w.Understands(marks) })
		})
	}
}

// rights are those of docs/gardener.md.
func rights() []kubetest.Right {
	return []kubetest.Right{
		{Namespace: ns, Resources: []string{"machinedeployments"}, Verbs: []string{"list", "watch", "patch"}},
		{Namespace: ns, Resources: []string{"machinesets", "machines", "machineclasses"}, Verbs: []string{"list", "watch"}},
		{Namespace: ns, Resources: []string{"deployments"}, Verbs: []string{"get"}},
	}
}
