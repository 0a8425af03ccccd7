// Package pools is a shoot's worker pools in a rehearsal: how a person describes
// them, and the MachineDeployments and MachineClasses that Gardener makes of them.
//
//	file → Shoot → Objects: for each pool and zone one MachineDeployment and its class
//
// Zones are spread as Gardener does it: each has its share of the pool's minimum as
// replicas, the first ones what does not divide. The pool's limits are said twice, in
// the fields of GEP-24 and by annotations, since an API server or a
// machine-controller-manager of today drops the fields.
//
// Values only, but for Read and Create. It imports package gardener for the names of
// its annotations. Package world, stories and tests import it.
package pools

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// defaultShoot is the shoot of a rehearsal that describes none.
//
//go:embed default.yaml
var defaultShoot []byte

// Shoot is a shoot's workers as a person describes them. Its YAML form is that of the
// file which Read reads.
type Shoot struct {
	// Namespace is the shoot's in the control cluster, and its technical id:
	// shoot--local--rehearsal if empty.
	Namespace string `json:"namespace,omitempty"`
	// Region is rehearsal if empty.
	Region string `json:"region,omitempty"`
	Pools  []Pool `json:"pools"`
	// MachineControllerManager says what it knows of pools' limits.
	MachineControllerManager Manager `json:"machineControllerManager,omitzero"`
}

// Manager is machine-controller-manager, as far as GEP-24 changes it, and its times.
type Manager struct {
	// WithoutPoolFields: its CustomResourceDefinitions are today's.
	WithoutPoolFields bool `json:"withoutPoolFields,omitempty"`
	// ForgetsPoolFields: its controllers are today's.
	ForgetsPoolFields bool `json:"forgetsPoolFields,omitempty"`
	// EndTakes is how long each machine takes to end after its drain: 20s, say, as the
	// real one.
	EndTakes metav1.Duration `json:"endTakes,omitzero"`
}

// Pool is one worker pool.
type Pool struct {
	Name    string   `json:"name"`
	Minimum int      `json:"minimum,omitempty"`
	Maximum int      `json:"maximum"`
	Zones   []string `json:"zones"`
	// MaxSurge and MaxUnavailable are each zone's; 1 and 0 if both are 0.
	MaxSurge       int `json:"maxSurge,omitempty"`
	MaxUnavailable int `json:"maxUnavailable,omitempty"`
	// Sizing is how the limits are spread over the zones; empty: as Plimsoll's flag
	// says.
	Sizing  string  `json:"sizing,omitempty"`
	Machine Machine `json:"machine"`
	// Labels, Annotations and Taints are those of the nodes; Options are annotations
	// of the MachineDeployments, autoscaler.gardener.cloud/... for instance.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []corev1.Taint    `json:"taints,omitempty"`
	Options     map[string]string `json:"options,omitempty"`
	// JoinDelay and DeleteDelay are how long machines take; Quota is how many
	// machines of this type a zone may have, without an entry any number.
	JoinDelay   metav1.Duration `json:"joinDelay,omitzero"`
	DeleteDelay metav1.Duration `json:"deleteDelay,omitzero"`
	Quota       map[string]int  `json:"quota,omitempty"`
	// CreateError is how the cloud fails at first to make a machine in any zone:
	// Unavailable:2, say, for the first two tries of each.
	CreateError string `json:"createError,omitempty"`
}

// Machine is what the machines of a pool are.
type Machine struct {
	Type         string              `json:"type"`
	Capacity     corev1.ResourceList `json:"capacity"`
	Architecture string              `json:"architecture,omitempty"`
}

// Read reads a shoot's file, or the default shoot if none is named.
func Read(path string) (Shoot, error) {
	text, name := defaultShoot, "the default shoot"
	if path != "" {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return Shoot{}, fmt.Errorf("read worker pools: %w", err)
		}
		name = path
	}
	var s Shoot
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return Shoot{}, fmt.Errorf("read worker pools from %s: %w", name, err)
	}
	if err := s.Check(); err != nil {
		return Shoot{}, fmt.Errorf("read worker pools from %s: %w", name, err)
	}
	return s, nil
}

// Control is the shoot's namespace in the control cluster.
func (s Shoot) Control() string { return cmp.Or(s.Namespace, "shoot--local--rehearsal") }

// Name is the shoot's, which is the last part of its technical id.
func (s Shoot) Name() string {
	parts := strings.Split(s.Control(), "--")
	return parts[len(parts)-1]
}

func (s Shoot) region() string { return cmp.Or(s.Region, "rehearsal") }

// Deployment is the name of the MachineDeployment of a pool's zone, counted from 0.
func (s Shoot) Deployment(pool string, zone int) string {
	return fmt.Sprintf("%s-%s-z%d", s.Control(), pool, zone+1)
}

// Check tells everything that is wrong with the description. Less machines than zones
// are not: GEP-24's own examples have them.
func (s Shoot) Check() error {
	var errs []error
	if len(s.Pools) == 0 {
		errs = append(errs, errors.New("there are no pools"))
	}
	seen := map[string]bool{}
	for _, p := range s.Pools {
		if seen[p.Name] {
			errs = append(errs, fmt.Errorf("the pool %q is there twice", p.Name))
		}
		seen[p.Name] = true
		for _, wrong := range s.faultsOf(p) {
			errs = append(errs, fmt.Errorf("the pool %q: %s", p.Name, wrong))
		}
	}
	return errors.Join(errs...)
}

func (s Shoot) faultsOf(p Pool) []string {
	wrong := validation.IsDNS1123Label(p.Name)
	if p.Minimum < 0 || p.Maximum < p.Minimum {
		wrong = append(wrong, fmt.Sprintf("minimum %d and maximum %d contradict each other", p.Minimum, p.Maximum))
	}
	if len(p.Zones) == 0 {
		wrong = append(wrong, "it has no zones")
	}
	if sorted := slices.Sorted(slices.Values(p.Zones)); len(slices.Compact(sorted)) < len(p.Zones) {
		wrong = append(wrong, "a zone is there twice")
	}
	if p.MaxSurge < 0 || p.MaxUnavailable < 0 {
		wrong = append(wrong, "maxSurge or maxUnavailable is less than 0")
	}
	if p.Machine.Type == "" {
		wrong = append(wrong, "machine.type is missing")
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if amount := p.Machine.Capacity[name]; amount.Sign() <= 0 {
			wrong = append(wrong, fmt.Sprintf("machine.capacity has no %s", name))
		}
	}
	sizings := []string{machinev1.SizingEquitable, machinev1.SizingLaxGreedy, machinev1.SizingBackwardCompatible}
	if p.Sizing != "" && !slices.Contains(sizings, p.Sizing) {
		wrong = append(wrong, fmt.Sprintf("the sizing %q is none of %s", p.Sizing, strings.Join(sizings, ", ")))
	}
	for zone, n := range p.Quota {
		if !slices.Contains(p.Zones, zone) || n < 0 {
			wrong = append(wrong, fmt.Sprintf("the quota %s: %d is of no zone of it, or less than 0", zone, n))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// share is a zone's part of a number, the first zones having what does not divide.
func share(of, zone, zones int) int {
	n := of / zones
	if zone < of%zones {
		n++
	}
	return n
}

// capacity has the GPUs that Gardener wants to be told of, even if there are none.
func (m Machine) capacity() corev1.ResourceList {
	all := m.Capacity.DeepCopy()
	if _, ok := all[machinev1.ResourceGPU]; !ok {
		all[machinev1.ResourceGPU] = resource.MustParse("0")
	}
	return all
}
