package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

const imagesPerCall = 100

// learnImages asks what the machine images are for. One that cannot be described (a parameter of
// Systems Manager, an image of another account) leaves both open.
func (s *sources) learnImages(ctx context.Context, ids []string) {
	ids = slices.DeleteFunc(ids, func(id string) bool {
		if strings.HasPrefix(id, "ami-") {
			return false
		}
		s.images.put(id, image{})
		return true
	})
	slices.Sort(ids)
	for batch := range slices.Chunk(ids, imagesPerCall) {
		err := s.describeImages(ctx, batch)
		if !spoiled(err, len(batch)) {
			continue
		}
		// One image that does not exist spoils the call: ask for each alone.
		for i := range batch {
			_ = s.describeImages(ctx, batch[i:i+1]) // its failure is remembered
		}
	}
}

func (s *sources) describeImages(ctx context.Context, ids []string) error {
	page, err := s.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: ids})
	if spoiled(err, len(ids)) {
		return err
	}
	if err != nil {
		for _, id := range ids {
			s.images.fail(id, fmt.Errorf("describe the image %s: %w", id, err))
		}
		return err
	}
	found := map[string]image{}
	for _, i := range page.Images {
		found[aws.ToString(i.ImageId)] = image{string(i.Architecture), string(i.VirtualizationType)}
	}
	for _, id := range ids {
		s.images.put(id, found[id])
	}
	return nil
}

// learnFitting asks which types meet requirements. EC2 wants an architecture and a
// virtualisation: if unknown, both of the first, and the only one of the second that
// machines of today have.
func (s *sources) learnFitting(ctx context.Context, key requirementsKey) {
	in := &ec2.GetInstanceTypesFromInstanceRequirementsInput{
		ArchitectureTypes:   []ec2types.ArchitectureType{ec2types.ArchitectureTypeX8664, ec2types.ArchitectureTypeArm64},
		VirtualizationTypes: []ec2types.VirtualizationType{ec2types.VirtualizationTypeHvm},
	}
	if key.arch != "" {
		in.ArchitectureTypes = []ec2types.ArchitectureType{ec2types.ArchitectureType(key.arch)}
	}
	if key.virtualization != "" {
		in.VirtualizationTypes = []ec2types.VirtualizationType{ec2types.VirtualizationType(key.virtualization)}
	}
	var err error
	if in.InstanceRequirements, err = key.request(); err != nil {
		s.requirements.fail(key, err)
		return
	}
	var names []string
	for {
		page, err := s.ec2.GetInstanceTypesFromInstanceRequirements(ctx, in)
		if err != nil {
			s.requirements.fail(key, fmt.Errorf("list the instance types that meet the requirements: %w", err))
			return
		}
		for _, t := range page.InstanceTypes {
			names = append(names, aws.ToString(t.InstanceType))
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	slices.Sort(names)
	s.requirements.put(key, slices.Compact(names))
}
