package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// groupsPerCall is how many groups AWS describes at once.
const groupsPerCall = 100

// reading is one description of a group that the operator means.
type reading struct {
	asgtypes.AutoScalingGroup
	// spec is its --nodes, nil if it was discovered.
	spec *groupSpec
}

// readAll describes every group that is meant, sorted by name, and names those
// of --nodes that are not there. A page that fails fails the whole.
func (p *Provider) readAll(ctx context.Context) ([]reading, []string, error) {
	found := map[string]asgtypes.AutoScalingGroup{}
	take := func(g asgtypes.AutoScalingGroup) { found[deref(g.AutoScalingGroupName)] = g }

	// 1. Those named by --nodes.
	var names, missing []string
	for _, spec := range p.settings.explicit {
		names = append(names, spec.name)
	}
	for batch := range slices.Chunk(names, groupsPerCall) {
		if err := p.pages(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: batch}, take); err != nil {
			return nil, nil, fmt.Errorf("describe the Auto Scaling groups of --nodes: %w", err)
		}
	}
	for _, name := range names {
		if _, ok := found[name]; !ok {
			missing = append(missing, name)
		}
	}

	// 2. Those found by their tags, by one way or another.
	for _, sel := range p.settings.discovery {
		in := &autoscaling.DescribeAutoScalingGroupsInput{Filters: sel.filters()}
		if err := p.pages(ctx, in, take); err != nil {
			return nil, nil, fmt.Errorf("find the Auto Scaling groups with the tags %v: %w", slices.Sorted(maps.Keys(sel)), err)
		}
	}

	var out []reading
	for _, g := range found {
		if r, ok := p.meant(g); ok {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b reading) int {
		return cmp.Compare(deref(a.AutoScalingGroupName), deref(b.AutoScalingGroupName))
	})
	return out, missing, nil
}

// readOne describes one group, and reports whether it is there and meant.
func (p *Provider) readOne(ctx context.Context, name string) (reading, bool, error) {
	var out reading
	var ok bool
	err := p.pages(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}},
		func(g asgtypes.AutoScalingGroup) {
			if deref(g.AutoScalingGroupName) == name {
				out, ok = p.meant(g)
			}
		})
	return out, ok, err
}

// meant reports whether a group is the operator's choice. --nodes comes first.
func (p *Provider) meant(g asgtypes.AutoScalingGroup) (reading, bool) {
	for i := range p.settings.explicit {
		if p.settings.explicit[i].name == deref(g.AutoScalingGroupName) {
			return reading{g, &p.settings.explicit[i]}, true
		}
	}
	tags := tagsOf(g)
	return reading{AutoScalingGroup: g}, slices.ContainsFunc(p.settings.discovery, func(s selector) bool {
		return s.matches(tags)
	})
}

func (p *Provider) pages(
	ctx context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, take func(asgtypes.AutoScalingGroup),
) error {
	in.MaxRecords = aws.Int32(groupsPerCall)
	for {
		page, err := p.asg.DescribeAutoScalingGroups(ctx, in)
		if err != nil {
			return err
		}
		for _, g := range page.AutoScalingGroups {
			take(g)
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return nil
		}
	}
}
