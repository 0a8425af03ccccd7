package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/internal/config/v1alpha1"
)

// karpenterGroup is the API group of NodePools. Those of node classes differ by cloud.
const karpenterGroup = "karpenter.sh/"

// nodePool is Karpenter's kind NodePool, version v1, as far as something follows from it here.
type nodePool struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec poolSpec `json:"spec"`
	// unknown are the paths of its fields that are none of these.
	unknown []string
}

type poolSpec struct {
	Weight     *int64                       `json:"weight"`
	Replicas   *int64                       `json:"replicas"`
	Limits     map[string]resource.Quantity `json:"limits"`
	Disruption poolDisruption               `json:"disruption"`
	Template   struct {
		Metadata struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec poolNode `json:"spec"`
	} `json:"template"`
}

type poolDisruption struct {
	ConsolidationPolicy string        `json:"consolidationPolicy"`
	ConsolidateAfter    string        `json:"consolidateAfter"`
	Budgets             *[]poolBudget `json:"budgets"`
}

type poolBudget struct {
	Nodes    string   `json:"nodes"`
	Schedule string   `json:"schedule"`
	Duration string   `json:"duration"`
	Reasons  []string `json:"reasons"`
}

type poolNode struct {
	ExpireAfter            string            `json:"expireAfter"`
	TerminationGracePeriod string            `json:"terminationGracePeriod"`
	Taints                 []corev1.Taint    `json:"taints"`
	StartupTaints          []corev1.Taint    `json:"startupTaints"`
	Requirements           []poolRequirement `json:"requirements"`
	NodeClassRef           struct {
		Group string `json:"group"`
		Kind  string `json:"kind"`
		Name  string `json:"name"`
	} `json:"nodeClassRef"`
}

type poolRequirement struct {
	Key       string   `json:"key"`
	Operator  string   `json:"operator"`
	Values    []string `json:"values"`
	MinValues *int64   `json:"minValues"`
}

// karpenter is what runs Karpenter's NodePools: policies for node groups that a person creates. Karpenter makes
// machines without groups, so that no file can be complete: the groups are told of as notes.
type karpenter struct {
	pools []*nodePool
	// classes are the node classes, as Kind/name, and others how many objects of other kinds there were.
	classes map[string]map[string]any
	others  map[string]int

	config v1alpha1.Configuration
	told   Notes
}

// isKarpenter reports whether one of the objects is a NodePool.
func isKarpenter(objects []map[string]any) bool {
	return slices.ContainsFunc(objects, func(o map[string]any) bool {
		version, _ := o["apiVersion"].(string)
		return o["kind"] == "NodePool" && strings.HasPrefix(version, karpenterGroup)
	})
}

// readKarpenter reads NodePools and node classes. What else is among the objects is counted.
func readKarpenter(all []map[string]any) (*karpenter, error) {
	k := &karpenter{classes: map[string]map[string]any{}, others: map[string]int{}}
	for _, o := range all {
		kind, _ := o["kind"].(string)
		version, _ := o["apiVersion"].(string)
		switch {
		case kind == "NodePool" && strings.HasPrefix(version, karpenterGroup):
			if version != karpenterGroup+"v1" {
				return nil, fmt.Errorf("%s has apiVersion %s: want karpenter.sh/v1, as `kubectl get nodepools.v1.karpenter.sh "+
					"-o yaml` prints it", named(o), version)
			}
			p := &nodePool{}
			if err := readInto(o, p); err != nil {
				return nil, within(named(o), err)
			}
			p.unknown = unknownFields(reflect.TypeFor[poolSpec](), o["spec"], "spec")
			if err := p.check(); err != nil {
				return nil, within(named(o), err)
			}
			k.pools = append(k.pools, p)
		case strings.HasSuffix(kind, "NodeClass"):
			u := unstructured.Unstructured{Object: o}
			k.classes[kind+"/"+u.GetName()] = o
		default:
			k.others[kind]++
		}
	}
	slices.SortFunc(k.pools, func(a, b *nodePool) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) })
	return k, nil
}

// unknownFields are the paths of the fields of a value that its type has not.
func unknownFields(t reflect.Type, value any, at string) (out []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case []any:
		for i := range v {
			if t.Kind() == reflect.Slice {
				out = append(out, unknownFields(t.Elem(), v[i], fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return nil // labels, say
		}
		types := map[string]reflect.Type{}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			types[name] = f.Type
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if of, known := types[key]; known {
				out = append(out, unknownFields(of, v[key], at+"."+key)...)
			} else {
				out = append(out, at+"."+key)
			}
		}
	}
	return out
}

// check says what is wrong with a NodePool, all of it.
func (p *nodePool) check() error {
	var errs []error
	span := func(field, text string) {
		if _, err := time.ParseDuration(text); err != nil && text != "" && text != never {
			errs = append(errs, fmt.Errorf("%s is %q: want a time such as 720h, or Never", field, text))
		}
	}
	d := &p.Spec.Disruption
	span("spec.disruption.consolidateAfter", d.ConsolidateAfter)
	span("spec.template.spec.expireAfter", p.Spec.Template.Spec.ExpireAfter)
	if policy := d.ConsolidationPolicy; policy != "" && consolidations[policy] == "" {
		errs = append(errs, fmt.Errorf("spec.disruption.consolidationPolicy is %q: want WhenEmpty, "+
			"WhenEmptyOrUnderutilized or Balanced", policy))
	}
	if d.Budgets != nil {
		for i, b := range *d.Budgets {
			if (b.Schedule == "") != (b.Duration == "") {
				errs = append(errs, fmt.Errorf("spec.disruption.budgets[%d] has one of schedule and duration: it wants both or "+
					"neither", i))
			}
			for _, reason := range b.Reasons {
				if ofKarpenter[reason] == nil {
					errs = append(errs, fmt.Errorf("spec.disruption.budgets[%d].reasons has %q: want Empty, Underutilized or "+
						"Drifted", i, reason))
				}
			}
		}
	}
	for name, q := range p.Spec.Limits {
		if q.Sign() < 0 {
			errs = append(errs, fmt.Errorf("spec.limits.%s is %s, below 0", name, q.String()))
		}
	}
	for _, bad := range validation.NameIsDNSSubdomain(p.Metadata.Name, false) {
		errs = append(errs, fmt.Errorf("metadata.name is %q: %s", p.Metadata.Name, bad))
	}
	for i, r := range p.Spec.Template.Spec.Requirements {
		at := fmt.Sprintf("spec.template.spec.requirements[%d]", i)
		switch {
		case r.Key == "" || r.Operator == "":
			errs = append(errs, fmt.Errorf("%s lacks key or operator", at))
		case !slices.Contains(operators, r.Operator):
			errs = append(errs, fmt.Errorf("%s.operator is %q: want one of %s", at, r.Operator, strings.Join(operators, ", ")))
		case r.Key == labelCapacity:
			for _, v := range r.Values {
				if !slices.Contains(capacityTypes, v) {
					errs = append(errs, fmt.Errorf("%s.values has %q: want one of %s", at, v, strings.Join(capacityTypes, ", ")))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// What Karpenter knows of requirements.
var (
	operators     = []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"}
	capacityTypes = []string{"spot", "on-demand", "reserved"}
)

// never is Karpenter's word for a time that does not come.
const never = "Never"

// consolidations are Karpenter's policies in our words.
var consolidations = map[string]string{
	"WhenEmpty": "WhenEmpty", "WhenEmptyOrUnderutilized": "WhenCheaper", "Balanced": "WhenCheaper",
}
