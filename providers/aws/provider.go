package aws

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Provider is the contract over Auto Scaling groups. The groups themselves are
// read again at each call; what stands behind them is remembered for a time. No
// lock is held over a call.
type Provider struct {
	settings     settings
	region       string
	asg          *autoscaling.Client
	eks          *eks.Client
	sources      *sources
	learning     *errand
	prices       *prices       // nil if they are not asked for
	reservations *reservations // nil if they are not asked for
	// interruptions are nil if there is no queue of them.
	interruptions *interruptions
	nodegroups    *managedNodegroups
	memory        *memory
	news          provider.News
	now           func() time.Time
	log           *slog.Logger
}

var _ provider.Provider = (*Provider)(nil)

// New reads the configuration and finds region and credentials by the SDK's own
// chain: environment, shared files, the tokens of IRSA and of pod identity, the
// instance's profile. Endpoints are the SDK's too, AWS_ENDPOINT_URL and its
// kin among them. It calls none of the services: what is wrong with the rights
// shows at the first Inventory.
func New(ctx context.Context, cfg Config, log *slog.Logger, reg Registerer) (*Provider, error) {
	s, err := cfg.read()
	if err != nil {
		return nil, fmt.Errorf("aws provider: %w", err)
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithEC2IMDSRegion())
	if err != nil {
		return nil, fmt.Errorf(
			"aws provider: find region and credentials: %w; set AWS_REGION if the pod cannot ask the instance", err,
		)
	}
	if loaded.Region == "" {
		return nil, fmt.Errorf("aws provider: no region is configured: set AWS_REGION")
	}
	return newProvider(loaded, s, log, reg, time.Now)
}

func newProvider(
	sdk aws.Config, s settings, log *slog.Logger, reg Registerer, now func() time.Time,
) (*Provider, error) {
	m, err := newMetrics(reg)
	if err != nil {
		return nil, err
	}
	sdk.APIOptions = append(sdk.APIOptions, m.timed)
	if s.version != "" {
		sdk.APIOptions = append(sdk.APIOptions, middleware.AddUserAgentKeyValue("plimsoll", s.version))
	}
	p := &Provider{
		settings: s, region: sdk.Region, now: now, log: log,
		asg: autoscaling.NewFromConfig(sdk), eks: eks.NewFromConfig(sdk), memory: newMemory(now()),
		learning: &errand{now: now},
	}
	machines := ec2.NewFromConfig(sdk)
	p.sources = newSources(p.asg, machines, s.staticTypes, now)
	if s.prices {
		p.prices = newPrices(sdk, machines, now)
	}
	if s.reservations != nil {
		p.reservations = newReservations(machines, s.reservations, now)
	}
	if s.queue != "" {
		p.interruptions = newInterruptions(sdk, s, log, now)
		p.interruptions.counted = m.received
	}
	p.nodegroups = newManagedNodegroups(s.nodegroupTTL, now, m.looked, p.describeNodegroup)
	return p, nil
}

// describeNodegroup asks EKS for one managed node group.
func (p *Provider) describeNodegroup(ctx context.Context, key nodegroupKey) (nodegroup, error) {
	out, err := p.eks.DescribeNodegroup(ctx, describeRequest(key))
	if err != nil {
		return nodegroup{}, err
	}
	if out.Nodegroup == nil {
		return nodegroup{}, fmt.Errorf("describe the EKS node group %s: the answer has none in it", key)
	}
	return nodegroupFrom(out.Nodegroup), nil
}

func describeRequest(key nodegroupKey) *eks.DescribeNodegroupInput {
	return &eks.DescribeNodegroupInput{ClusterName: aws.String(key.cluster), NodegroupName: aws.String(key.name)}
}
