package clusterapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/provider"
)

func fromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(body); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestReadFailure(t *testing.T) {
	for name, c := range map[string]struct{ status, want string }{
		"nothing yet":                       {`{phase: Pending}`, ""},
		"v1beta1, as it was":                {`{phase: Failed, failureReason: CreateError, failureMessage: refused}`, "CreateError"},
		"v1beta1, a message alone":          {`{phase: Provisioning, failureMessage: refused}`, "Failed"},
		"v1beta2, without a phase":          {`{phase: Provisioning, deprecated: {v1beta1: {failureReason: InvalidConfiguration}}}`, "InvalidConfiguration"},
		"a phase alone":                     {`{phase: Failed}`, "Failed"},
		"an error of the infrastructure":    {`{conditions: [{type: InfrastructureReady, status: "False", severity: Error, reason: InstanceProvisionFailed}]}`, "InstanceProvisionFailed"},
		"a delay of the infrastructure":     {`{conditions: [{type: InfrastructureReady, status: "False", severity: Info, reason: WaitingForBootstrapData}]}`, ""},
		"a warning of the infrastructure":   {`{conditions: [{type: InfrastructureReady, status: "False", severity: Warning, reason: CloningFailed}]}`, ""},
		"an error of bootstrap, deprecated": {`{deprecated: {v1beta1: {conditions: [{type: BootstrapReady, status: "False", severity: Error, reason: Broken}]}}}`, "Broken"},
		"v1beta2, a terminal reason":        {`{conditions: [{type: InfrastructureReady, status: "False", reason: ObjectDeleted}]}`, "ObjectDeleted"},
		"v1beta2 beside v1beta1":            {`{v1beta2: {conditions: [{type: BootstrapConfigReady, status: "False", reason: InvalidConfiguration}]}}`, "InvalidConfiguration"},
		"v1beta2, not ready yet":            {`{conditions: [{type: InfrastructureReady, status: "False", reason: NotReady}]}`, ""},
		"another condition":                 {`{conditions: [{type: HealthCheckSucceeded, status: "False", severity: Error, reason: CreateError}]}`, ""},
		"it worked":                         {`{conditions: [{type: InfrastructureReady, status: "True", reason: CreateError}]}`, ""},
		"conditions that are none":          {`{conditions: [1, two, {}]}`, ""},
	} {
		f := readFailure(fromYAML(t, "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, status: "+c.status+"}"))
		if got := f; (got == nil) != (c.want == "") || got != nil && got.reason != c.want {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// TestWhichFailuresAreTriedAgain: a condition is what the infrastructure's controller met
// last, and it goes on trying, unless a person or the stock must mend it; what stands in the
// fields for failures is over.
func TestWhichFailuresAreTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		again  bool
	}{
		"an error of the moment":        {`{conditions: [{type: InfrastructureReady, status: "False", severity: Error, reason: InstanceProvisionFailed, message: "RequestError: send request failed"}]}`, true},
		"v1beta2":                       {`{conditions: [{type: InfrastructureReady, status: "False", reason: InstanceProvisionFailed}]}`, true},
		"throttled":                     {`{conditions: [{type: InfrastructureReady, status: "False", reason: VMProvisionFailed, message: "Throttling: Rate exceeded"}]}`, true},
		"sold out":                      {`{conditions: [{type: InfrastructureReady, status: "False", reason: InstanceProvisionFailed, message: InsufficientInstanceCapacity}]}`, false},
		"a configuration":               {`{conditions: [{type: InfrastructureReady, status: "False", reason: InvalidConfiguration}]}`, false},
		"its infrastructure is no more": {`{conditions: [{type: InfrastructureReady, status: "False", reason: ObjectDeleted}]}`, false},
		"for good":                      {`{phase: Failed, failureReason: CreateError, failureMessage: refused}`, false},
		"a phase alone":                 {`{phase: Failed}`, false},
		"both":                          {`{failureReason: CreateError, conditions: [{type: InfrastructureReady, status: "False", severity: Error, reason: InstanceProvisionFailed}]}`, false},
		"beside the phase":              {`{phase: Failed, conditions: [{type: InfrastructureReady, status: "False", severity: Error, reason: InstanceProvisionFailed}]}`, false},
	} {
		m := readMachine(fromYAML(t,
			"{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m}, status: "+c.status+"}"), keys{})
		in := standingOf([]*machine{&m}, nil, 1).instanceOf(&m)
		if in.Err == nil || (in.Retry > 0) != c.again {
			t.Errorf("%s: %+v, tried again after %s", name, in.Err, in.Retry)
		}
	}
}

func TestKindOfFailure(t *testing.T) {
	for _, c := range []struct {
		reason, message string
		want            provider.Kind
	}{
		{"CreateError", "InsufficientInstanceCapacity: We currently do not have sufficient capacity", provider.NoCapacity},
		{"InsufficientResources", "", provider.NoCapacity},
		{"CreateError", "ZonalAllocationFailed", provider.NoCapacity},
		{"CreateError", "Quota 'CPUS' exceeded", provider.Quota},
		{"CreateError", "VcpuLimitExceeded: you have requested more vCPU capacity than your limit", provider.Quota},
		{"CreateError", "RequestLimitExceeded: Request limit exceeded.", provider.Throttled},
		{"CreateError", "Throttling: Rate exceeded", provider.Throttled},
		{"CreateError", "TooManyRequests", provider.Throttled},
		{"CreateError", "googleapi: Error 403: rateLimitExceeded", provider.Throttled},
		{"CreateError", "InstanceLimitExceeded", provider.Quota},
		{"InvalidConfiguration", "no such image", provider.BadConfig},
		{"CreateError", "UnauthorizedOperation", provider.Denied},
		{"Failed", "", provider.Transient},
	} {
		e := (&failure{reason: c.reason, message: c.message}).asError()
		if e.Kind != c.want || e.Code != c.reason || e.Message == "" {
			t.Errorf("%s, %s: %+v", c.reason, c.message, e)
		}
	}
}
