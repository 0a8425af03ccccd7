package awstest

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/yaml"
)

// Spec is an account as it is at the start. Its JSON form is that of the file
// which ReadSpec reads.
type Spec struct {
	// Region and Account are us-east-1 and 123456789012 if empty.
	Region  string `json:"region,omitempty"`
	Account string `json:"account,omitempty"`
	// Timing is how fast things happen, unless a group has its own.
	Timing               Timing                `json:"timing,omitzero"`
	Groups               []Group               `json:"groups,omitempty"`
	LaunchConfigurations []LaunchConfiguration `json:"launchConfigurations,omitempty"`
	LaunchTemplates      []LaunchTemplate      `json:"launchTemplates,omitempty"`
	Images               []Image               `json:"images,omitempty"`
	// InstanceTypes are added to the built-in ones, or replace them by name.
	InstanceTypes []InstanceType `json:"instanceTypes,omitempty"`
	// Prices of a type that is not among them are not known to AWS.
	Prices []Price `json:"prices,omitempty"`
	// Reservations are capacity reservations. No instance is taken for one that runs in them.
	Reservations []Reservation `json:"reservations,omitempty"`
	Nodegroups   []Nodegroup   `json:"nodegroups,omitempty"`
	StockOuts    []StockOut    `json:"stockOuts,omitempty"`
	// Queues are the names of queues of SQS.
	Queues []string `json:"queues,omitempty"`
	Faults []Fault  `json:"faults,omitempty"`
}

// Group is an Auto Scaling group.
type Group struct {
	Name    string `json:"name"`
	Min     int    `json:"min"`
	Max     int    `json:"max"`
	Desired int    `json:"desired"`
	// Zones are <region>a, b and c if empty. There is one subnet in each.
	Zones []string          `json:"zones,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"`

	// What is launched: one of the three.
	LaunchConfiguration string          `json:"launchConfiguration,omitempty"`
	LaunchTemplate      *TemplateRef    `json:"launchTemplate,omitempty"`
	MixedInstances      *MixedInstances `json:"mixedInstances,omitempty"`

	// Suspended are processes of Auto Scaling; Launch, Terminate and
	// ReplaceUnhealthy have an effect here.
	Suspended []string `json:"suspended,omitempty"`
	// Status is "Delete in progress" or empty.
	Status string `json:"status,omitempty"`
	// Distribution is balanced-best-effort, if empty, or balanced-only.
	Distribution string `json:"distribution,omitempty"`
	// TerminationPolicies: OldestInstance and NewestInstance have an effect;
	// Default ends the oldest instance of the fullest zone.
	TerminationPolicies []string `json:"terminationPolicies,omitempty"`
	ProtectNew          bool     `json:"protectNew,omitempty"`
	Timing              *Timing  `json:"timing,omitempty"`
	// Instances are there at the start. Without any, Desired are, in service.
	Instances []Instance `json:"instances,omitempty"`
}

// Instance is an instance of a group.
type Instance struct {
	ID           string       `json:"id"`
	Zone         string       `json:"zone"`
	Type         string       `json:"type"`
	State        string       `json:"state"`
	Unhealthy    bool         `json:"unhealthy,omitempty"`
	Protected    bool         `json:"protected,omitempty"`
	Weight       string       `json:"weight,omitempty"`
	Launched     time.Time    `json:"launched,omitzero"`
	Template     *TemplateRef `json:"template,omitempty"`
	LaunchConfig string       `json:"launchConfig,omitempty"`
}

// TemplateRef names a launch template, by ID or by name, and a version of it.
type TemplateRef struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// MixedInstances is a mixed instances policy.
type MixedInstances struct {
	Template  TemplateRef `json:"template"`
	Overrides []Override  `json:"overrides,omitempty"`
	// OnDemandPercentage above the base is 100 if nil; at 0 the group is one of
	// spot instances, and its failures are worded so.
	OnDemandPercentage *int `json:"onDemandPercentage,omitempty"`
	OnDemandBase       int  `json:"onDemandBase,omitempty"`
}

// Override is one choice of a mixed instances policy.
type Override struct {
	InstanceType string        `json:"instanceType,omitempty"`
	Weight       string        `json:"weight,omitempty"`
	Requirements *Requirements `json:"requirements,omitempty"`
	Template     *TemplateRef  `json:"template,omitempty"`
}

// LaunchConfiguration is a launch configuration.
type LaunchConfiguration struct {
	Name         string `json:"name"`
	InstanceType string `json:"instanceType"`
	ImageID      string `json:"imageID,omitempty"`
	SpotPrice    string `json:"spotPrice,omitempty"`
}

// LaunchTemplate is a launch template with all of its versions.
type LaunchTemplate struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Default is the number of the default version, 1 if 0.
	Default  int               `json:"default,omitempty"`
	Versions []TemplateVersion `json:"versions"`
}

// TemplateVersion is one version. Number is its place, from 1, if 0.
type TemplateVersion struct {
	Number       int           `json:"number,omitempty"`
	InstanceType string        `json:"instanceType,omitempty"`
	ImageID      string        `json:"imageID,omitempty"`
	Requirements *Requirements `json:"requirements,omitempty"`
	Spot         bool          `json:"spot,omitempty"`
	VolumeGiB    int           `json:"volumeGiB,omitempty"`
}

// Image is an AMI.
type Image struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Architecture is x86_64 and Virtualization hvm, if empty.
	Architecture   string `json:"architecture,omitempty"`
	Virtualization string `json:"virtualization,omitempty"`
}

// Nodegroup is an EKS managed node group.
type Nodegroup struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	// Status is ACTIVE if empty.
	Status       string            `json:"status,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Taints       []Taint           `json:"taints,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
	AMIType      string            `json:"amiType,omitempty"`
	CapacityType string            `json:"capacityType,omitempty"`
	// DiskSize is absent from the answer if 0, as with a launch template.
	DiskSize      int      `json:"diskSize,omitempty"`
	Version       string   `json:"version,omitempty"`
	Release       string   `json:"release,omitempty"`
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	// Groups are the names of its Auto Scaling groups.
	Groups []string `json:"groups,omitempty"`
}

// Taint is a taint in the words of EKS. A nil Value is absent from the answer.
type Taint struct {
	Key    string  `json:"key"`
	Value  *string `json:"value,omitempty"`
	Effect string  `json:"effect"`
}

// StockOut makes launches fail: those of a group, a type and a zone, where
// empty means any. The first that matches a launch decides.
type StockOut struct {
	Group        string `json:"group,omitempty"`
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	// Left is how many launches still succeed.
	Left int `json:"left,omitempty"`
	// Why is Capacity if empty. Message, if set, is said instead.
	Why     Shortage `json:"why,omitempty"`
	Message string   `json:"message,omitempty"`
}

// Shortage is why AWS cannot launch.
type Shortage string

// The shortages; words.go has AWS's words for each.
const (
	capacity  Shortage = "capacity"   // the zone has no such machine now
	VCPULimit Shortage = "vcpu-limit" // the account's quota is used up
	NotInZone Shortage = "not-in-zone"
	SpotPool  Shortage = "spot" // no spot capacity matches
)

// Timing is how long each step of an instance's life takes (see life.go).
type Timing struct {
	// Decide is from a difference in capacity until Auto Scaling acts on it.
	Decide time.Duration
	// Launch is from then until the instance has an id and is Pending.
	Launch time.Duration
	// Boot is from then until it is InService.
	Boot time.Duration
	// End is from Terminating until it is gone.
	End time.Duration
	// Retry is from a launch that failed until the next attempt, a minute if 0.
	Retry time.Duration
	// PendingWait and TerminatingWait are lifecycle hooks, if not 0.
	PendingWait, TerminatingWait time.Duration
	// Linger is how long an ended instance is still listed as Terminated.
	Linger time.Duration
}

func (t *Timing) fields() map[string]*time.Duration {
	return map[string]*time.Duration{
		"decide": &t.Decide, "launch": &t.Launch, "boot": &t.Boot, "end": &t.End, "retry": &t.Retry,
		"pendingWait": &t.PendingWait, "terminatingWait": &t.TerminatingWait, "linger": &t.Linger,
	}
}

// MarshalJSON writes durations as Go does, "1m30s".
func (t Timing) MarshalJSON() ([]byte, error) {
	out := map[string]string{}
	for name, d := range t.fields() {
		if *d != 0 {
			out[name] = d.String()
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Timing) UnmarshalJSON(text []byte) error {
	var in map[string]string
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("read a timing, which is a map of durations such as 30s: %w", err)
	}
	fields := t.fields()
	for name, value := range in {
		d, err := time.ParseDuration(value)
		if fields[name] == nil || err != nil || d < 0 {
			return fmt.Errorf("read a timing: %q: %q is not one of its durations", name, value)
		}
		*fields[name] = d
	}
	return nil
}

// ReadSpec reads a YAML or JSON file. A field that it does not know is an error.
func ReadSpec(path string) (Spec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, fmt.Errorf("read the simulated AWS: %w", err)
	}
	var spec Spec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		return Spec{}, fmt.Errorf("read the simulated AWS from %s: %w", path, err)
	}
	return spec, nil
}
