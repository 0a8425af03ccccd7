package aws

import (
	"fmt"
	"strconv"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// tellDrift says of each instance in what it is not what its group launches now. Of a group whose types have templates
// of their own nothing is said: AWS chooses among them.
func (s *sources) tellDrift(seen *provider.Group, g asgtypes.AutoScalingGroup, l launch) {
	version := s.versionOf(l)
	from := map[provider.InstanceID]string{}
	for _, i := range g.Instances {
		from[provider.InstanceID(deref(i.InstanceId))] = drifted(i, l, version)
	}
	for i := range seen.Instances {
		seen.Instances[i].Drifted = from[seen.Instances[i].ID]
	}
}

// versionOf is the number of the version that a group launches, empty if that is not known.
func (s *sources) versionOf(l launch) string {
	if _, err := strconv.ParseInt(l.template.version, 10, 64); err == nil {
		return l.template.version
	}
	if l.template == (templateRef{}) {
		return ""
	}
	data, err := s.templates.get(l.template)
	if err != nil {
		return ""
	}
	return data.version
}

// drifted errs to an instance that is what it should be: what AWS does not say is not held against it.
func drifted(i asgtypes.Instance, l launch, version string) string {
	if config := deref(i.LaunchConfigurationName); l.config != "" && config != "" && config != l.config {
		return fmt.Sprintf("launch configuration %s, and new ones have %s", config, l.config)
	}
	t := i.LaunchTemplate
	if l.template == (templateRef{}) || t == nil {
		return ""
	}
	is, want := deref(t.LaunchTemplateId), l.template.id
	if is == "" || want == "" {
		is, want = deref(t.LaunchTemplateName), l.template.name
	}
	if is == "" || want == "" {
		return ""
	}
	if is != want {
		return fmt.Sprintf("launch template %s, and new ones have %s", is, want)
	}
	if v := deref(t.Version); v != "" && version != "" && v != version {
		return fmt.Sprintf("version %s of its launch template, and new ones have %s", v, version)
	}
	return ""
}
