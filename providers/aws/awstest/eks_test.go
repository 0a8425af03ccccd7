package awstest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func (r *rig) nodegroup(cluster, name string) (*types.Nodegroup, error) {
	out, err := r.eks.DescribeNodegroup(r.Context(), &eks.DescribeNodegroupInput{
		ClusterName: &cluster, NodegroupName: &name,
	})
	if err != nil {
		return nil, err
	}
	return out.Nodegroup, nil
}

func TestNodegroups(t *testing.T) {
	value := "batch"
	many := map[string]string{}
	for i := range 60 {
		many[fmt.Sprintf("example.com/l%02d", i)] = fmt.Sprint(i)
	}
	r := newRig(t, awstest.Spec{
		LaunchTemplates: templates,
		Groups:          []awstest.Group{small("eks-a", 0, 7, 0)},
		Nodegroups: []awstest.Nodegroup{
			{Cluster: "prod", Name: "a b", Labels: many, Tags: map[string]string{"team": "x"}, AMIType: "AL2023_x86_64_STANDARD",
				CapacityType: "SPOT", DiskSize: 20,
				Version: "1.37", Release: "1.37.1-20261101", InstanceTypes: []string{"m5.large"}, Groups: []string{"eks-a"},
				Taints: []awstest.Taint{
					{Key: "dedicated", Value: &value, Effect: "NO_SCHEDULE"}, {Key: "bare", Effect: "PREFER_NO_SCHEDULE"},
				}},
			{Cluster: "test", Name: "a b", Status: "DEGRADED"},
		},
	})
	n, err := r.nodegroup("prod", "a b")
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Labels) != 60 || n.Labels["example.com/l59"] != "59" || n.Tags["team"] != "x" ||
		n.AmiType != types.AMITypesAl2023X8664Standard || n.CapacityType != types.CapacityTypesSpot ||
		*n.DiskSize != 20 || *n.Version != "1.37" || *n.ReleaseVersion != "1.37.1-20261101" ||
		n.Status != types.NodegroupStatusActive ||
		*n.ScalingConfig.MaxSize != 7 || *n.Resources.AutoScalingGroups[0].Name != "eks-a" ||
		n.InstanceTypes[0] != "m5.large" || n.CreatedAt == nil {
		t.Errorf("the node group is %+v", n)
	}
	if with, without := n.Taints[0], n.Taints[1]; *with.Value != "batch" || with.Effect != types.TaintEffectNoSchedule ||
		without.Value != nil || without.Effect != types.TaintEffectPreferNoSchedule {
		t.Errorf("the taints are %+v and %+v", with, without)
	}
	bare, err := r.nodegroup("test", "a b")
	if err != nil {
		t.Fatal(err)
	}
	if bare.Status != types.NodegroupStatusDegraded || bare.DiskSize != nil || bare.CapacityType != "" ||
		bare.Version != nil || len(bare.Labels)+len(bare.Taints) != 0 {
		t.Errorf("the bare node group is %+v", bare)
	}

	_, err = r.nodegroup("prod", "b")
	refused(t, err, "ResourceNotFoundException", "No node group found for name: b.")
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok {
		t.Errorf("the error is not typed: %v", err)
	}
	_, err = r.nodegroup("dev", "b")
	refused(t, err, "ResourceNotFoundException", "No cluster found for name: dev.")
}

func TestNodegroupErrorsAreTyped(t *testing.T) {
	r := newRig(t, awstest.Spec{Nodegroups: []awstest.Nodegroup{{Cluster: "c", Name: "n"}, {Cluster: "c", Name: "m"}}})
	is := func(target any) func(error) bool {
		return func(err error) bool { return errors.As(err, target) }
	}
	for _, c := range []struct {
		fault awstest.Fault
		code  string
		typed func(error) bool
	}{
		{awstest.Fault{Mishap: awstest.Denied}, "AccessDeniedException", is(new(*types.AccessDeniedException))},
		{awstest.Fault{Mishap: awstest.Answer, Status: 429, Code: "ThrottlingException", Message: "Rate exceeded"}, "ThrottlingException", is(new(*types.ThrottlingException))},
		{awstest.Fault{Mishap: awstest.Throttled}, "TooManyRequestsException", func(error) bool { return true }},
		{awstest.Fault{Mishap: awstest.ServerError}, "ServerException", is(new(*types.ServerException))},
		{awstest.Fault{Mishap: awstest.Unavailable}, "ServiceUnavailableException", is(new(*types.ServiceUnavailableException))},
		{awstest.Fault{Mishap: awstest.Answer, Code: "InvalidParameterException", Message: "no"}, "InvalidParameterException", is(new(*types.InvalidParameterException))},
		{awstest.Fault{Mishap: awstest.ExpiredToken}, "ExpiredTokenException", func(error) bool { return true }},
		{awstest.Fault{Mishap: awstest.BadCredentials}, "UnrecognizedClientException", func(error) bool { return true }},
	} {
		c.fault.Action, c.fault.On = "DescribeNodegroup", "c/n"
		r.cloud.Arm(c.fault)
		_, err := r.nodegroup("c", "n")
		refused(t, err, c.code, "")
		if !c.typed(err) {
			t.Errorf("%s is not typed: %v", c.code, err)
		}
		if _, err := r.nodegroup("c", "m"); err != nil {
			t.Errorf("%s of c/n meets c/m: %v", c.code, err)
		}
		r.cloud.ClearFaults()
	}
	// A node group without anything in the answer is no node group.
	r.cloud.Arm(awstest.Fault{Mishap: awstest.EmptyList})
	if n, err := r.nodegroup("c", "n"); n != nil || err != nil {
		t.Errorf("an empty answer is %+v, %v", n, err)
	}
}
