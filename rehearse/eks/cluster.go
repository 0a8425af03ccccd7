package eks

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// defaultCluster is the cluster of a rehearsal that describes none.
//
//go:embed default.yaml
var defaultCluster []byte

// Cluster is an EKS cluster as a person describes it. Its YAML form is that of the
// file which Read reads.
type Cluster struct {
	// Name and Region are rehearsal and eu-west-1 if empty.
	Name   string `json:"cluster,omitempty"`
	Region string `json:"region,omitempty"`
	// BootDelay is from an instance's launch until it is in service and its node
	// registers.
	BootDelay  metav1.Duration `json:"bootDelay,omitzero"`
	Nodegroups []Nodegroup     `json:"nodegroups"`
	StockOuts  []StockOut      `json:"stockOuts,omitempty"`
}

// Nodegroup is a managed node group.
type Nodegroup struct {
	Name string `json:"name"`
	// Zones are the region's zone a if empty.
	Zones         []string `json:"zones,omitempty"`
	InstanceTypes []string `json:"instanceTypes"`
	// CapacityType is ON_DEMAND, if empty, or SPOT.
	CapacityType string `json:"capacityType,omitempty"`
	// DiskSize is in GiB, 20 if 0.
	DiskSize int `json:"diskSize,omitempty"`
	Min      int `json:"min,omitempty"`
	Max      int `json:"max"`
	Desired  int `json:"desired,omitempty"`
	// Labels and Taints are those of the node group, which EKS puts on its nodes;
	// a taint's effect is NO_SCHEDULE, NO_EXECUTE or PREFER_NO_SCHEDULE.
	Labels map[string]string `json:"labels,omitempty"`
	Taints []awstest.Taint   `json:"taints,omitempty"`
	// Tags are the node group's, ASGTags the Auto Scaling group's beside those
	// that EKS sets.
	Tags    map[string]string `json:"tags,omitempty"`
	ASGTags map[string]string `json:"asgTags,omitempty"`
}

// StockOut is what AWS has not. Empty means any.
type StockOut struct {
	Nodegroup    string `json:"nodegroup,omitempty"`
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	// Left is how many launches still succeed.
	Left int `json:"left,omitempty"`
}

// MostTags is how many tags AWS takes on one Auto Scaling group:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-quotas.html
const MostTags = 50

// Read reads a cluster's file, or the default cluster if none is named.
func Read(path string) (Cluster, error) {
	text, name := defaultCluster, "the default cluster"
	if path != "" {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return Cluster{}, fmt.Errorf("read an EKS cluster: %w", err)
		}
		name = path
	}
	var c Cluster
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return Cluster{}, fmt.Errorf("read an EKS cluster from %s: %w", name, err)
	}
	if err := c.Check(); err != nil {
		return Cluster{}, fmt.Errorf("read an EKS cluster from %s: %w", name, err)
	}
	return c, nil
}

// complete gives the cluster with its defaults, sharing no slice of node groups
// with the original.
func (c Cluster) complete() Cluster {
	c.Name = cmp.Or(c.Name, "rehearsal")
	c.Region = cmp.Or(c.Region, "eu-west-1")
	c.Nodegroups = slices.Clone(c.Nodegroups)
	for i := range c.Nodegroups {
		n := &c.Nodegroups[i]
		if len(n.Zones) == 0 {
			n.Zones = []string{c.Region + "a"}
		}
		n.CapacityType = cmp.Or(n.CapacityType, onDemand)
		n.DiskSize = cmp.Or(n.DiskSize, 20)
	}
	return c
}

// Check tells everything that EKS or AWS would refuse, or never launch.
func (c Cluster) Check() error {
	c = c.complete()
	// The account knows its limits, and which instance types there are.
	cloud, err := awstest.New(c.Account(), time.Now)
	if err != nil {
		return err
	}
	account := cloud.Account()
	var errs []error
	for _, n := range c.Nodegroups {
		for _, what := range c.faultsOf(n, account) {
			errs = append(errs, fmt.Errorf("node group %q: %s", n.Name, what))
		}
	}
	for _, s := range c.StockOuts {
		if s.Nodegroup != "" && !slices.ContainsFunc(c.Nodegroups, func(n Nodegroup) bool { return n.Name == s.Nodegroup }) {
			errs = append(errs, fmt.Errorf("a stock-out is of the node group %q, which there is not", s.Nodegroup))
		}
	}
	return errors.Join(errs...)
}

// faultsOf tells what is wrong with a node group.
func (c Cluster) faultsOf(n Nodegroup, account awstest.Spec) []string {
	var wrong []string
	if len(n.InstanceTypes) == 0 {
		wrong = append(wrong, "it names no instanceTypes")
	}
	for _, name := range n.InstanceTypes {
		if _, ok := instanceType(account, name); !ok {
			wrong = append(wrong,
				fmt.Sprintf("the simulated AWS has no instance type %q; see providers/aws/awstest/catalogue.go", name))
		}
	}
	if n.CapacityType != onDemand && n.CapacityType != spot {
		wrong = append(wrong, fmt.Sprintf("its capacityType is %q, and there are %s and %s", n.CapacityType, onDemand, spot))
	}
	for _, taint := range n.Taints {
		if _, ok := effects[taint.Effect]; !ok {
			wrong = append(wrong, fmt.Sprintf(
				"the taint %q has the effect %q; EKS has NO_SCHEDULE, NO_EXECUTE and PREFER_NO_SCHEDULE", taint.Key, taint.Effect,
			))
		}
	}
	if tags := len(c.asgTags(n)); tags > MostTags {
		wrong = append(wrong, fmt.Sprintf(
			"its Auto Scaling group would have %d tags, some of them EKS's own, and AWS takes no more than %d", tags, MostTags,
		))
	}
	return wrong
}
