package eks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheDefaultCluster(t *testing.T) {
	c, err := Read("")
	if err != nil {
		t.Fatal(err)
	}
	account := c.Account()
	if len(account.Groups) != 5 || len(account.Nodegroups) != 5 || account.Timing.Boot != 10*time.Second {
		t.Errorf("got %+v", account)
	}
	zones := map[string]bool{}
	for _, g := range account.Groups {
		for _, zone := range g.Zones {
			zones[zone] = true
		}
		if g.Desired != 0 {
			t.Errorf("%s begins with %d", g.Name, g.Desired)
		}
	}
	if len(zones) != 3 {
		t.Errorf("the zones are %v", zones)
	}
	const tags = "k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/rehearsal"
	if c.DiscoveryFlag() != "--node-group-auto-discovery=asg:tag="+tags {
		t.Errorf("got %s", c.DiscoveryFlag())
	}
}

func TestAnAccountIsWhatEKSMakes(t *testing.T) {
	account := Cluster{
		Name: "prod", Region: "us-east-1", BootDelay: metav1.Duration{Duration: time.Minute},
		Nodegroups: []Nodegroup{{
			Name: "w", InstanceTypes: []string{"m5.large", "m5.xlarge"}, CapacityType: "SPOT", Min: 2, Max: 5,
			Labels: map[string]string{"k": "v"}, ASGTags: map[string]string{"mine": "1"},
		}},
		StockOuts: []StockOut{{Nodegroup: "w", Zone: "us-east-1a", Left: 3}},
	}.Account()
	g := account.Groups[0]
	if g.Name != "eks-w" || g.Min != 2 || g.Max != 5 || g.Desired != 2 || !slices.Equal(g.Zones, []string{"us-east-1a"}) {
		t.Errorf("the Auto Scaling group is %+v", g)
	}
	for key, want := range map[string]string{
		"eks:cluster-name": "prod", "eks:nodegroup-name": "w", "k8s.io/cluster-autoscaler/enabled": "true",
		"k8s.io/cluster-autoscaler/prod": "owned", "mine": "1",
	} {
		if g.Tags[key] != want {
			t.Errorf("the tag %s is %q, want %q", key, g.Tags[key], want)
		}
	}
	if m := g.MixedInstances; len(m.Overrides) != 2 || m.OnDemandPercentage == nil || *m.OnDemandPercentage != 0 ||
		m.Template.ID != account.LaunchTemplates[0].ID {
		t.Errorf("the policy is %+v", m)
	}
	if n := account.Nodegroups[0]; n.Cluster != "prod" || n.DiskSize != 20 || n.Groups[0] != "eks-w" ||
		n.Labels["k"] != "v" {
		t.Errorf("the node group is %+v", n)
	}
	if s := account.StockOuts[0]; s.Group != "eks-w" || s.Zone != "us-east-1a" || s.Left != 3 {
		t.Errorf("the stock-out is %+v", s)
	}
}

func TestClustersThatCannotBe(t *testing.T) {
	many := "nodegroups: [{name: w, instanceTypes: [m5.large], max: 1, asgTags: {"
	for i := range 46 {
		many += fmt.Sprintf("t%d: x, ", i)
	}
	for text, want := range map[string]string{
		"nodegroups: [{name: w, max: 1}]":                                                              `node group "w": it names no instanceTypes`,
		"nodegroups: [{name: w, max: 1, instanceTypes: [m9.tiny]}]":                                    `no instance type "m9.tiny"`,
		"nodegroups: [{name: w, max: 1, instanceTypes: [m5.large], capacityType: CHEAP}]":              `capacityType is "CHEAP"`,
		"nodegroups: [{name: w, max: 1, instanceTypes: [m5.large], taints: [{key: k, effect: Some}]}]": `the taint "k" has the effect "Some"`,
		"nodegroups: [{name: w, min: 2, max: 1, instanceTypes: [m5.large]}]":                           "min 2, max 1",
		"nodegroups: [{name: w, max: 1, instanceTypes: [m5.large]}, {name: w, max: 1}]":                `"eks-w"`,
		"nodegroups: []\nstockOuts: [{nodegroup: m}]":                                                  `the node group "m"`,
		"nodegroups: []\nzones: 3":                                                                     "zones",
		many + "}}]":                                                                                   "would have 51 tags",
	} {
		file := filepath.Join(t.TempDir(), "eks.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	if _, err := Read("/no/such/file"); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("got %v", err)
	}
}

// TestTheExampleInTheDocs reads the file that docs/aws.md shows.
func TestTheExampleInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\ncluster: ")
	example, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("docs/aws.md shows no cluster")
	}
	file := filepath.Join(t.TempDir(), "eks.yaml")
	if err := os.WriteFile(file, []byte("cluster: "+example), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(file)
	if err != nil || len(c.Nodegroups) != 1 || len(c.StockOuts) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}
