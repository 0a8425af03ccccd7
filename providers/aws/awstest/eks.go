package awstest

import (
	"fmt"
	"slices"
)

// This file is EKS's DescribeNodegroup:
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeNodegroup.html
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html

type describeNodegroupResult struct {
	Nodegroup *jsonNodegroup `json:"nodegroup,omitempty"`
}

type jsonNodegroup struct {
	NodegroupName  string            `json:"nodegroupName"`
	NodegroupArn   string            `json:"nodegroupArn"`
	ClusterName    string            `json:"clusterName"`
	Version        string            `json:"version,omitempty"`
	ReleaseVersion string            `json:"releaseVersion,omitempty"`
	CreatedAt      float64           `json:"createdAt"`
	ModifiedAt     float64           `json:"modifiedAt"`
	Status         string            `json:"status"`
	CapacityType   string            `json:"capacityType,omitempty"`
	AMIType        string            `json:"amiType,omitempty"`
	DiskSize       *int              `json:"diskSize,omitempty"`
	InstanceTypes  []string          `json:"instanceTypes,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Taints         []Taint           `json:"taints,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	ScalingConfig  *jsonScaling      `json:"scalingConfig,omitempty"`
	Resources      jsonResources     `json:"resources"`
	Health         jsonHealth        `json:"health"`
}

type jsonScaling struct {
	MinSize     int `json:"minSize"`
	MaxSize     int `json:"maxSize"`
	DesiredSize int `json:"desiredSize"`
}

type jsonResources struct {
	AutoScalingGroups []jsonName `json:"autoScalingGroups"`
}

type jsonName struct {
	Name string `json:"name"`
}

type jsonHealth struct {
	Issues []string `json:"issues"`
}

func (c *Cloud) describeNodegroup(q *query) (any, *refusal) {
	cluster, name := q.params.Get("cluster"), q.params.Get("nodegroup")
	of := func(n Nodegroup) bool { return n.Cluster == cluster }
	if !slices.ContainsFunc(c.spec.Nodegroups, of) {
		return nil, noSuchCluster(cluster)
	}
	i := slices.IndexFunc(c.spec.Nodegroups, func(n Nodegroup) bool { return of(n) && n.Name == name })
	if i < 0 {
		return nil, noSuchNodegroup(name)
	}
	n := c.spec.Nodegroups[i]
	since := float64(c.born.Unix())
	x := &jsonNodegroup{
		NodegroupName: n.Name, ClusterName: n.Cluster, Version: n.Version, ReleaseVersion: n.Release,
		NodegroupArn: fmt.Sprintf("arn:aws:eks:%s:%s:nodegroup/%s/%s/00000000-0000-0000-0000-000000000000",
			q.region, q.account, n.Cluster, n.Name),
		CreatedAt: since, ModifiedAt: since, Status: "ACTIVE", CapacityType: n.CapacityType, AMIType: n.AMIType,
		InstanceTypes: n.InstanceTypes, Labels: n.Labels, Taints: n.Taints, Tags: n.Tags,
		Health: jsonHealth{Issues: []string{}},
	}
	if n.Status != "" {
		x.Status = n.Status
	}
	if n.DiskSize > 0 {
		x.DiskSize = &n.DiskSize
	}
	for _, name := range n.Groups {
		x.Resources.AutoScalingGroups = append(x.Resources.AutoScalingGroups, jsonName{name})
		if g := c.groups[name]; g != nil && x.ScalingConfig == nil {
			x.ScalingConfig = &jsonScaling{g.Min, g.Max, g.desired}
		}
	}
	return describeNodegroupResult{x}, nil
}
