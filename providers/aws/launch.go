package aws

import (
	"errors"
	"fmt"
	"slices"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// launch is what an Auto Scaling group says of the machines that it launches:
// the name of a launch configuration, else a launch template; and beside the
// template the types, or the requirements, that are taken instead of its own.
// The template may be empty where there are types.
type launch struct {
	config       string
	template     templateRef
	types        []string
	requirements *ec2types.InstanceRequirementsRequest
}

// templateRef names a version of a launch template: a number, $Default or
// $Latest.
type templateRef struct{ id, name, version string }

func (r templateRef) String() string {
	if r.name != "" {
		return fmt.Sprintf("launch template %q, version %s", r.name, r.version)
	}
	return fmt.Sprintf("launch template %s, version %s", r.id, r.version)
}

// launchOf reads where a group's machines come from: its launch configuration,
// else its launch template, else its mixed instances policy.
func launchOf(g asgtypes.AutoScalingGroup) (launch, error) {
	if name := deref(g.LaunchConfigurationName); name != "" {
		return launch{config: name}, nil
	}
	if g.LaunchTemplate != nil {
		ref, err := refOf(g.LaunchTemplate)
		return launch{template: ref}, err
	}
	policy := g.MixedInstancesPolicy
	if policy == nil || policy.LaunchTemplate == nil {
		return launch{}, errors.New("it has no launch configuration, launch template or mixed instances policy")
	}
	l := launch{}
	for _, o := range policy.LaunchTemplate.Overrides {
		if t := deref(o.InstanceType); t != "" && !slices.Contains(l.types, t) {
			l.types = append(l.types, t)
		}
	}
	for _, o := range policy.LaunchTemplate.Overrides {
		if o.InstanceRequirements == nil {
			continue
		}
		if len(l.types) > 0 {
			return launch{}, errors.New("its mixed instances policy overrides both the instance type and the instance " +
				"requirements; only one of them can be")
		}
		if len(policy.LaunchTemplate.Overrides) > 1 {
			return launch{}, errors.New("its mixed instances policy has instance requirements beside other overrides")
		}
		want, err := requestOf(o.InstanceRequirements)
		if err != nil {
			return launch{}, err
		}
		l.requirements = want
	}
	spec := policy.LaunchTemplate.LaunchTemplateSpecification
	for _, o := range policy.LaunchTemplate.Overrides {
		if own := o.LaunchTemplateSpecification; own != nil && l.requirements != nil {
			spec = own // it is the only override
		} else if own != nil {
			spec = nil // types of several templates: none of these speaks for all
		}
	}
	if spec == nil && len(l.types) == 0 {
		return launch{}, errors.New("its mixed instances policy names no launch template")
	}
	if spec == nil {
		return l, nil
	}
	var err error
	if l.template, err = refOf(spec); len(l.types) > 0 {
		return l, nil // the template is asked only for what the types do not tell
	}
	return l, err
}

func refOf(s *asgtypes.LaunchTemplateSpecification) (templateRef, error) {
	ref := templateRef{id: deref(s.LaunchTemplateId), name: deref(s.LaunchTemplateName), version: deref(s.Version)}
	if ref.id == "" && ref.name == "" {
		return ref, errors.New("its launch template has neither an id nor a name")
	}
	if ref.version == "" {
		ref.version = versionDefault // what AWS takes, too
	}
	return ref, nil
}

const (
	versionDefault = "$Default"
	versionLatest  = "$Latest"
)

// weighted says why the desired capacity is no number of machines, empty if it is. A
// weight of 1 is none.
func weighted(g asgtypes.AutoScalingGroup) string {
	if kind := deref(g.DesiredCapacityType); kind != "" && kind != "units" {
		return fmt.Sprintf("its desired capacity is counted in %s", kind)
	}
	if p := g.MixedInstancesPolicy; p != nil && p.LaunchTemplate != nil {
		for _, o := range p.LaunchTemplate.Overrides {
			if w := deref(o.WeightedCapacity); w != "" && w != "1" {
				return fmt.Sprintf("its mixed instances policy weighs %s with %s", deref(o.InstanceType), w)
			}
		}
	}
	for _, i := range g.Instances {
		if w := deref(i.WeightedCapacity); w != "" && w != "1" {
			return fmt.Sprintf("its instance %s weighs %s", deref(i.InstanceId), w)
		}
	}
	return ""
}
