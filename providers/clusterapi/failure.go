package clusterapi

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// failure is why a Machine does not come. One that was met is from the last try of its
// infrastructure's controllers, which go on trying. Any other is for good.
type failure struct {
	reason, message string
	met             bool
}

// readFailure looks wherever the two versions report a failure for good. A
// Machine that is only slow has none: for these there is the time that a node may take.
func readFailure(o *unstructured.Unstructured) *failure {
	// 1. The fields that were made for it. In v1beta2 they live on as
	// deprecated ones, without a phase Failed beside them.
	for _, at := range [][]string{{"status"}, {"status", "deprecated", "v1beta1"}} {
		reason := text(o, append(slices.Clone(at), "failureReason")...)
		message := text(o, append(slices.Clone(at), "failureMessage")...)
		if reason != "" || message != "" {
			return &failure{reason: cmp.Or(reason, "Failed"), message: message}
		}
	}
	met := text(o, "status", "phase") != "Failed"
	// 2. The conditions of v1beta1, which know errors from delays.
	for _, at := range [][]string{{"status", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"}} {
		for _, c := range conditions(o, at...) {
			if c.status == "False" && c.severity == "Error" &&
				slices.Contains([]string{"InfrastructureReady", "BootstrapReady"}, c.kind) {
				return &failure{c.reason, c.message, met}
			}
		}
	}
	// 3. Those of v1beta2, of which only the reason tells.
	for _, at := range [][]string{{"status", "conditions"}, {"status", "v1beta2", "conditions"}} {
		for _, c := range conditions(o, at...) {
			if c.status == "False" && slices.Contains(terminal, c.reason) &&
				slices.Contains([]string{"InfrastructureReady", "BootstrapConfigReady"}, c.kind) {
				return &failure{c.reason, c.message, met}
			}
		}
	}
	if !met {
		return &failure{reason: "Failed"}
	}
	return nil
}

// retried is about how often the controllers of infrastructures try again: at once at
// first, and by then less and less often. The time of the next try is unknown.
const retried = time.Minute

// retry is how often it is tried again to make a Machine that failed so, zero if it is not,
// or if a person or the cloud's stock must mend it first.
func (f *failure) retry(kind provider.Kind) time.Duration {
	if f.met && f.reason != "ObjectDeleted" && (kind == provider.Transient || kind == provider.Throttled) {
		return retried
	}
	return 0
}

// terminal are reasons of conditions that mean an error and not a delay: those of
// Cluster API itself, and of providers that are known to report their refusals so.
var terminal = []string{
	"InvalidConfiguration", "InsufficientResources", "CreateError", "ObjectDeleted",
	"InstanceProvisionFailed", "VMProvisionFailed", "ProvisionFailed", "ProvisioningFailed",
}

// Words of a failure by what they mean, the first that fits. They are looked for
// in reason and message, in small letters and without spaces.
var failureWords = []struct {
	kind  provider.Kind
	words []string
}{
	// Before the quotas: a limit of requests is one that time mends.
	{provider.Throttled, []string{"requestlimitexceeded", "ratelimit", "rateexceeded", "throttl", "toomanyrequests"}},
	{provider.Quota, []string{"quota", "limitexceeded", "vcpulimit", "toomanyinstances"}},
	{provider.NoCapacity, []string{
		"insufficientinstancecapacity", "insufficientcapacity", "insufficientresources", "insufficienthostcapacity",
		"outofcapacity", "nocapacity", "outofstock", "skunotavailable", "allocationfailed", "nohostsavailable",
		"noavailablehardware", "notenoughresources",
	}},
	{provider.Denied, []string{"unauthorizedoperation", "accessdenied", "forbidden", "permissiondenied"}},
	{provider.BadConfig, []string{
		"invalidconfiguration", "unsupportedchange", "invalidparameter", "invalidvalue", "doesnotexist",
	}},
}

func (f *failure) asError() *provider.Error {
	e := &provider.Error{Op: provider.OpGrow, Kind: provider.Transient, Code: f.reason, Message: f.message}
	if e.Message == "" {
		e.Message = "Cluster API reports that the Machine has failed, and not why"
	}
	said := strings.ReplaceAll(strings.ToLower(f.reason+" "+f.message), " ", "")
	for _, each := range failureWords {
		if slices.ContainsFunc(each.words, func(w string) bool { return strings.Contains(said, w) }) {
			e.Kind = each.kind
			break
		}
	}
	return e
}
