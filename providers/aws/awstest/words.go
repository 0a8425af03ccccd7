package awstest

import (
	"fmt"
	"net/http"
	"strings"
)

// This file has AWS's own words: the codes, the status and the messages of its
// errors, each with the page or the report that it is from. What begins with
// "awstest:" is ours, where none was found.

// refusal is an error of AWS, before it is put into a service's form.
type refusal struct {
	status  int
	code    string
	message string
}

func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "ValidationError", fmt.Sprintf(format, args...)}
}

// notSimulated refuses what a client asked for and this server cannot do.
func notSimulated(format string, args ...any) *refusal {
	return &refusal{
		http.StatusBadRequest, "AwstestNotSimulated", "awstest: not simulated: " + fmt.Sprintf(format, args...),
	}
}

// Auto Scaling: API_SetDesiredCapacity, API_TerminateInstanceInAutoScalingGroup
// and CommonErrors of https://docs.aws.amazon.com/autoscaling/ec2/APIReference/
// have the codes.

// https://github.com/kubernetes/autoscaler/issues/943 has the text.
func aboveMax(value, limit int) *refusal {
	return invalid("New SetDesiredCapacity value %d is above max value %d for the AutoScalingGroup.", value, limit)
}

func belowMin(value, limit int) *refusal {
	return invalid("New SetDesiredCapacity value %d is below min value %d for the AutoScalingGroup.", value, limit)
}

// https://github.com/aws/aws-sdk-go/issues/1151
func noSuchGroup() *refusal { return invalid("AutoScalingGroup name not found - null") }

// https://github.com/yaybu/touchdown/issues/51
func noSuchInstance(id string) *refusal {
	return invalid("Instance Id not found - No managed instance found for instance ID: %s", id)
}

// https://github.com/buildkite/elastic-ci-stack-for-aws/issues/1261
func atMinimum(limit int) *refusal {
	return invalid("Currently, desiredSize equals minSize (%d). Terminating instance without replacement will violate "+
		"group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.",
		limit)
}

// The code is of https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_SetDesiredCapacity.html
func pendingDelete(group string) *refusal {
	return &refusal{
		http.StatusBadRequest, "ScalingActivityInProgress", "awstest: the AutoScalingGroup " + group + " is being deleted",
	}
}

// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_DescribeAutoScalingGroups.html
func badToken() *refusal {
	return &refusal{http.StatusBadRequest, "InvalidNextToken", "awstest: this NextToken is not of this request"}
}

// The form in which AWS tells a limit of its model:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/CommonErrors.html (ValidationError)
func tooLarge(value any, name, what string, limit int) *refusal {
	return invalid("1 validation error detected: Value '%v' at '%s' failed to satisfy constraint: Member must have %s "+
		"less than or equal to %d", value, name, what, limit)
}

func missing(name string) *refusal {
	return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null",
		name)
}

// EC2: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// has the codes.

// https://github.com/getmoto/moto/pull/5477
func noSuchTemplateName(name string) *refusal {
	return &refusal{http.StatusBadRequest, "InvalidLaunchTemplateName.NotFoundException",
		"The specified launch template, with template name " + name + ", does not exist."}
}

func noSuchTemplateID(id string) *refusal {
	return &refusal{http.StatusBadRequest, "InvalidLaunchTemplateId.NotFound",
		"The specified launch template, with template ID " + id + ", does not exist."}
}

// https://github.com/eksctl-io/eksctl/issues/7786
func noSuchVersion(version, id string) *refusal {
	return &refusal{http.StatusBadRequest, "InvalidLaunchTemplateId.VersionNotFound",
		"Could not find the specified version " + version + " for the launch template with ID " + id + "."}
}

// https://github.com/localstack/localstack/issues/8606
func noTemplateNamed() *refusal {
	return &refusal{http.StatusBadRequest, "MissingParameter",
		"To describe the launch template data for all your launch templates, for 'versions' specify '$Latest', '$Default', " +
			"or both, and omit the launch template's ID and name."}
}

// https://github.com/scylladb/scylla-cluster-tests/issues/12419
func noSuchTypes(names []string) *refusal {
	return &refusal{http.StatusBadRequest, "InvalidInstanceType",
		"The following supplied instance types do not exist: [" + strings.Join(names, ", ") + "]"}
}

// https://github.com/cartography-cncf/cartography/issues/721
func noSuchImages(ids []string) *refusal {
	return &refusal{
		http.StatusBadRequest, "InvalidAMIID.NotFound", "The image id '[" + strings.Join(ids, ", ") + "]' does not exist",
	}
}

func badPaginationToken() *refusal {
	return &refusal{http.StatusBadRequest, "InvalidPaginationToken", "awstest: this NextToken is not of this request"}
}

func badValue(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "InvalidParameterValue", fmt.Sprintf(format, args...)}
}

// EKS: https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeNodegroup.html
// has the codes and their status.

// https://github.com/aws-samples/eks-workshop-v2/issues/915
func noSuchNodegroup(name string) *refusal {
	return &refusal{http.StatusNotFound, "ResourceNotFoundException", "No node group found for name: " + name + "."}
}

// https://github.com/terraform-aws-modules/terraform-aws-eks/issues/793
func noSuchCluster(name string) *refusal {
	return &refusal{http.StatusNotFound, "ResourceNotFoundException", "No cluster found for name: " + name + "."}
}

// Requests of which the signature's scope is not right:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
func unsigned() *refusal {
	return &refusal{http.StatusForbidden, "MissingAuthenticationToken", "Missing Authentication Token"}
}

func wrongScope(format string, args ...any) *refusal {
	return &refusal{http.StatusForbidden, "SignatureDoesNotMatch", fmt.Sprintf(format, args...)}
}

// Scaling activities: https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-capacity.html
// and ts-as-instancelaunchfailure.html tell of them.
func (s StockOut) words(machine, zone string, others []string, mixed, spot bool) string {
	if s.Message != "" {
		return s.Message
	}
	code, text := "", ""
	switch s.Why {
	case VCPULimit: // https://github.com/scrapoxy/scrapoxy/issues/202
		code, text = "VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of 32 allows "+
			"for the instance bucket that the specified instance type belongs to. Please visit "+
			"http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit."
	case NotInZone: // https://github.com/mludvig/aws-ethereum-miner/issues/23
		code, text = "InvalidFleetConfiguration", fmt.Sprintf(
			"Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", machine, zone,
		)
	// https://github.com/cortexlabs/cortex/issues/1258, https://github.com/aws/aws-parallelcluster/issues/1944
	case SpotPool:
		code, text = "InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request."
	default: // https://github.com/2i2c-org/infrastructure/issues/3334
		code = "InsufficientInstanceCapacity"
		text = fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
			"Our system will be working on provisioning additional capacity.", machine, zone)
		if len(others) > 0 {
			text += fmt.Sprintf(" You can currently get %s capacity by not specifying an Availability Zone in your request or "+
				"choosing %s.", machine, strings.Join(others, ", "))
		}
	}
	switch { // https://github.com/mludvig/aws-ethereum-miner/issues/23
	case mixed && spot:
		text = "Could not launch Spot Instances. " + code + " - " + text
	case mixed:
		text = "Could not launch On-Demand Instances. " + code + " - " + text
	}
	return text + " Launching EC2 instance failed."
}
