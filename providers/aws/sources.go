package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// sources finds the instance types behind launch configurations, launch
// templates and instance requirements, and remembers them: over a thousand
// groups may share ten of them.
type sources struct {
	asg          *autoscaling.Client
	ec2          *ec2.Client
	machines     *machines
	configs      *memo[string, templateData]
	templates    *memo[templateRef, templateData]
	images       *memo[string, image]
	requirements *memo[requirementsKey, []string]
}

// templateData is what a launch configuration or a version of a launch template
// says.
type templateData struct {
	instanceType string
	requirements *ec2types.InstanceRequirementsRequest
	image        string
	spot         bool
	version      string // its number
}

const (
	fixedTTL       = 24 * time.Hour // of what never changes under its name
	movingTTL      = 5 * time.Minute
	fittingTTL     = 20 * time.Minute
	configsPerCall = 50
)

func newSources(asg *autoscaling.Client, client *ec2.Client, static bool, now func() time.Time) *sources {
	return &sources{
		asg: asg, ec2: client,
		machines: newMachines(client, static, now),
		configs:  newMemo[string, templateData](now, always[string](fixedTTL)),
		templates: newMemo[templateRef, templateData](now, func(r templateRef) time.Duration {
			if strings.HasPrefix(r.version, "$") {
				return movingTTL
			}
			return fixedTTL
		}),
		images:       newMemo[string, image](now, always[string](fixedTTL)),
		requirements: newMemo[requirementsKey, []string](now, always[requirementsKey](fittingTTL)),
	}
}

// learn asks AWS for everything behind these launches that is due, in as few
// calls as possible. What cannot be learned, machinesOf reports for each launch.
func (s *sources) learn(ctx context.Context, launches []launch) {
	// 1. Launch configurations and launch templates.
	var configs []string
	var refs []templateRef
	for _, l := range launches {
		switch {
		case l.config != "":
			configs = append(configs, l.config)
		case len(l.types) == 0 && l.template != (templateRef{}):
			refs = append(refs, l.template)
		}
	}
	s.learnConfigs(ctx, s.configs.due(configs))
	s.learnTemplates(ctx, s.templates.due(refs))

	// 2. Images and fitting types, for those that state requirements.
	var images []string
	for _, l := range launches {
		if r, data := s.required(l); r != nil && data.image != "" {
			images = append(images, data.image)
		}
	}
	s.learnImages(ctx, s.images.due(images))
	var wanted []requirementsKey
	for _, l := range launches {
		if r, data := s.required(l); r != nil {
			if key, err := s.fitting(r, data); err == nil {
				wanted = append(wanted, key)
			}
		}
	}
	for _, key := range s.requirements.due(wanted) {
		s.learnFitting(ctx, key)
	}

	// 3. The types themselves.
	var types []string
	for _, l := range launches {
		names, _, err := s.typesOf(l)
		if err == nil {
			types = append(types, names...)
		}
	}
	s.machines.learn(ctx, types)

	// 4. Templates and images for types of which nothing is known: the image has
	// the architecture.
	var strange []launch
	for _, l := range launches {
		names, r, err := s.typesOf(l)
		if err == nil && r == nil && slices.ContainsFunc(names, s.machines.unknown) {
			strange = append(strange, l)
		}
	}
	refs, images = nil, nil
	for _, l := range strange {
		if l.template != (templateRef{}) {
			refs = append(refs, l.template)
		}
	}
	s.learnTemplates(ctx, s.templates.due(refs))
	for _, l := range strange {
		if id := s.imageOf(l); id != "" {
			images = append(images, id)
		}
	}
	s.learnImages(ctx, s.images.due(images))
}

// imageOf is the machine image of a launch, empty if it is not known.
func (s *sources) imageOf(l launch) string {
	var data templateData
	if l.config != "" {
		data, _ = s.configs.get(l.config)
	} else if l.template != (templateRef{}) {
		data, _ = s.templates.get(l.template)
	}
	return data.image
}

// capacityTypeOf is how the machines of a launch are bought, empty if that is not known.
func (s *sources) capacityTypeOf(l launch) string {
	data, err := s.templates.get(l.template)
	if l.config != "" {
		data, err = s.configs.get(l.config)
	}
	switch {
	case err != nil:
		return ""
	case data.spot:
		return provider.Spot
	}
	return provider.OnDemand
}

// required are the requirements of a launch, nil if it names types; and its
// template.
func (s *sources) required(l launch) (*ec2types.InstanceRequirementsRequest, templateData) {
	if l.config != "" || len(l.types) > 0 {
		return nil, templateData{}
	}
	data, err := s.templates.get(l.template)
	if err != nil {
		return nil, templateData{}
	}
	if l.requirements != nil {
		return l.requirements, data
	}
	return data.requirements, data
}

func (s *sources) fitting(r *ec2types.InstanceRequirementsRequest, data templateData) (requirementsKey, error) {
	known, _ := s.images.get(data.image)
	return keyOf(known, r)
}

// typesOf are the instance types of a launch, and its requirements if that is
// what it states.
func (s *sources) typesOf(l launch) ([]string, *ec2types.InstanceRequirementsRequest, error) {
	if len(l.types) > 0 {
		return l.types, nil, nil
	}
	if l.config != "" {
		data, err := s.configs.get(l.config)
		return []string{data.instanceType}, nil, err
	}
	own, err := s.templates.get(l.template)
	if err != nil {
		return nil, nil, err
	}
	r, data := s.required(l)
	if r == nil {
		if own.instanceType == "" {
			return nil, nil, fmt.Errorf("%s names neither an instance type nor instance requirements", l.template)
		}
		return []string{own.instanceType}, nil, nil
	}
	key, err := s.fitting(r, data)
	if err != nil {
		return nil, r, err
	}
	names, err := s.requirements.get(key)
	return names, r, err
}

// gap is what is not known of the machines of a launch: the types of which
// nothing is known, if it is them, and why.
type gap struct {
	types []string
	err   error
}

// machinesOf are the machines of which AWS picks one. Of a type that is not
// known it has the name, the image's architecture and the least that the requirements
// allow; unknown amounts are 0.
func (s *sources) machinesOf(l launch) ([]machine, gap, error) {
	names, r, err := s.typesOf(l)
	if err != nil && r == nil {
		return nil, gap{}, err
	}
	var missing gap
	var out []machine
	if err != nil { // which types meet the requirements is not known
		missing.err = err
		out = append(out, s.strange(l, r, ""))
	}
	for _, name := range names {
		m, err := s.machines.of(name)
		if err != nil {
			m = s.strange(l, r, name)
			missing.types, missing.err = append(missing.types, name), err
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, gap{},
			errors.New("no instance type meets the instance requirements in this region: loosen them, in the " +
				"launch template or the mixed instances policy")
	}
	return out, missing, nil
}

// strange is a machine of an unknown type, as far as its launch says.
func (s *sources) strange(l launch, r *ec2types.InstanceRequirementsRequest, name string) machine {
	m := machine{source: "not known"}
	if r != nil {
		m = atLeast(r)
	}
	m.Type = name
	id := s.imageOf(l)
	known, _ := s.images.get(id)
	if m.Arch = known.kubernetesArch(); m.Arch != "" {
		m.archSource = "image " + id
	}
	return m
}

func (s *sources) learnConfigs(ctx context.Context, names []string) {
	slices.Sort(names)
	for batch := range slices.Chunk(names, configsPerCall) {
		found := map[string]templateData{}
		in := &autoscaling.DescribeLaunchConfigurationsInput{LaunchConfigurationNames: batch}
		var err error
		for {
			var page *autoscaling.DescribeLaunchConfigurationsOutput
			if page, err = s.asg.DescribeLaunchConfigurations(ctx, in); err != nil {
				break
			}
			for _, c := range page.LaunchConfigurations {
				found[aws.ToString(c.LaunchConfigurationName)] = templateData{
					instanceType: aws.ToString(c.InstanceType), image: aws.ToString(c.ImageId),
					spot: aws.ToString(c.SpotPrice) != "",
				}
			}
			if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
				break
			}
		}
		for _, name := range batch {
			switch data := found[name]; {
			case data.instanceType != "":
				s.configs.put(name, data)
			case err != nil:
				s.configs.fail(name, fmt.Errorf("describe the launch configuration %q: %w", name, err))
			default:
				s.configs.fail(name, fmt.Errorf("there is no launch configuration %q with an instance type", name))
			}
		}
	}
}

// learnTemplates asks once per launch template, for all versions that are due.
func (s *sources) learnTemplates(ctx context.Context, refs []templateRef) {
	byTemplate := map[templateRef][]templateRef{}
	for _, r := range refs {
		of := templateRef{id: r.id}
		if r.id == "" {
			of.name = r.name
		}
		byTemplate[of] = append(byTemplate[of], r)
	}
	for _, of := range slices.SortedFunc(maps.Keys(byTemplate), func(a, b templateRef) int {
		return strings.Compare(a.id+a.name, b.id+b.name)
	}) {
		wanted := byTemplate[of]
		err := s.learnVersions(ctx, of, wanted)
		if !spoiled(err, len(wanted)) {
			continue
		}
		// One version that does not exist spoils the call: ask for each alone.
		for i := range wanted {
			_ = s.learnVersions(ctx, of, wanted[i:i+1]) // its failure is remembered
		}
	}
}

// learnVersions asks for versions of one launch template, and remembers what
// came of each.
func (s *sources) learnVersions(ctx context.Context, of templateRef, wanted []templateRef) error {
	in := &ec2.DescribeLaunchTemplateVersionsInput{}
	if of.id != "" {
		in.LaunchTemplateId = aws.String(of.id)
	} else {
		in.LaunchTemplateName = aws.String(of.name)
	}
	for _, r := range wanted {
		if !slices.Contains(in.Versions, r.version) {
			in.Versions = append(in.Versions, r.version)
		}
	}
	slices.Sort(in.Versions)
	found, err := s.versions(ctx, in)
	if spoiled(err, len(wanted)) {
		return err
	}
	for _, r := range wanted {
		data, ok := found[r.version]
		switch {
		case err != nil:
			s.templates.fail(r, fmt.Errorf("describe %s: %w", r, err))
		case !ok:
			s.templates.fail(r, fmt.Errorf("there is no %s", r))
		default:
			s.templates.put(r, data)
		}
	}
	return err
}

// spoiled reports whether one of several things that were asked for at once is missing;
// the answer does not say which.
func spoiled(err error, several int) bool {
	switch codeOf(err) {
	case "InvalidLaunchTemplateId.VersionNotFound", "InvalidAMIID.NotFound":
		return several > 1
	}
	return false
}

// versions are those of one launch template, under the names they were asked by.
func (s *sources) versions(
	ctx context.Context, in *ec2.DescribeLaunchTemplateVersionsInput,
) (map[string]templateData, error) {
	found := map[string]templateData{}
	newest := int64(-1)
	for {
		page, err := s.ec2.DescribeLaunchTemplateVersions(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, v := range page.LaunchTemplateVersions {
			data, err := templateDataOf(v.LaunchTemplateData)
			if err != nil {
				return nil, err
			}
			number := aws.ToInt64(v.VersionNumber)
			data.version = strconv.FormatInt(number, 10)
			found[data.version] = data
			if aws.ToBool(v.DefaultVersion) {
				found[versionDefault] = data
			}
			// The latest is among those asked for if its name was.
			if number > newest && slices.Contains(in.Versions, versionLatest) {
				newest, found[versionLatest] = number, data
			}
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return found, nil
		}
	}
}

func templateDataOf(d *ec2types.ResponseLaunchTemplateData) (templateData, error) {
	if d == nil {
		return templateData{}, nil
	}
	out := templateData{instanceType: string(d.InstanceType), image: aws.ToString(d.ImageId),
		spot: d.InstanceMarketOptions != nil && d.InstanceMarketOptions.MarketType == ec2types.MarketTypeSpot}
	var err error
	if d.InstanceRequirements != nil {
		out.requirements, err = requestOf(d.InstanceRequirements)
	}
	return out, err
}
