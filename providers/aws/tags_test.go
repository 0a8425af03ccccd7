package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/provider"
)

func ptr[T any](v T) *T { return &v }

func TestTags(t *testing.T) {
	got := parseTags(map[string]string{
		tagLabel + "team":                              "a",
		tagLabel + "example.com/empty":                 "",
		tagTaint + "dedicated":                         "gpu:NoSchedule",
		tagTaint + "bare":                              ":NoExecute",
		tagResource + "nvidia.com/gpu":                 "2",
		tagResource + "ephemeral-storage":              "100Gi",
		tagOption + "scaledownutilizationthreshold":    "0.7",
		tagOption + "scaledowngpuutilizationthreshold": "0.2",
		tagOption + "ScaleDownUnneededTime":            "20m",
		tagOption + "scaledownunreadytime":             "1h",
		tagOption + "maxnodeprovisiontime":             "30m",
		tagOption + "maxnodestartuptime":               "9m",
		tagOption + "ignoredaemonsetsutilization":      "true",
		"eks:cluster-name":                             "prod",
		"Name":                                         "whatever: %%",
		"k8s.io/cluster-autoscaler/enabled":            "true",
	})
	want := tagFacts{
		labels: map[string]string{"team": "a", "example.com/empty": ""},
		taints: []corev1.Taint{{Key: "bare", Effect: "NoExecute"}, {Key: "dedicated", Value: "gpu", Effect: "NoSchedule"}},
		resources: map[corev1.ResourceName]amount{
			"nvidia.com/gpu": {resource.MustParse("2"), "2"}, "ephemeral-storage": {resource.MustParse("100Gi"), "100Gi"},
		},
		options: provider.Options{
			ScaleDownUtilizationThreshold: ptr(0.7), ScaleDownGPUUtilizationThreshold: ptr(0.2),
			ScaleDownUnneededTime: ptr(20 * time.Minute),
			ScaleDownUnreadyTime:  ptr(time.Hour), MaxNodeProvisionTime: ptr(30 * time.Minute),
			MaxNodeStartupTime: ptr(9 * time.Minute), IgnoreDaemonSetsUtilization: ptr(true),
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tagFacts{}, badTag{}, amount{})); diff != "" {
		t.Error(diff)
	}
}

// TestAMalformedTagIsNamedAndHarmless: each alone, beside a good one that still
// holds.
func TestAMalformedTagIsNamedAndHarmless(t *testing.T) {
	for key, value := range map[string]string{
		tagTaint + "k1": "NoSchedule",   // no colon
		tagTaint + "k2": "v:noschedule", // not an effect
		tagTaint + "k3": "a:b:NoSchedule",
		tagTaint + "k4": "",
		tagTaint:        "v:NoSchedule",
		tagTaint + "node.kubernetes.io/not-ready":   ":NoSchedule",
		tagTaint + "ToBeDeletedByClusterAutoscaler": "1:NoSchedule",
		tagLabel:                        "x",
		tagLabel + "a b":                "x",
		tagLabel + "long":               strings.Repeat("x", 64),
		tagLabel + corev1.LabelHostname: "h",
		tagResource + "cpu":             "many",
		tagResource + "memory":          "-1Gi",
		tagResource:                     "1",
		tagOption + "scaledownutilizationthreshold":    "70%",
		tagOption + "scaledowngpuutilizationthreshold": "NaN",
		tagOption + "scaledownunneededtime":            "10",
		tagOption + "scaledownunreadytime":             "-1m",
		tagOption + "ignoredaemonsetsutilization":      "perhaps",
		tagOption + "scaledownunneeded":                "10m",
		tagTemplate + "lable/team":                     "a",
	} {
		got := parseTags(map[string]string{key: value, tagLabel + "good": "yes"})
		if len(got.bad) != 1 || got.bad[0].key != key || got.bad[0].value != value || got.bad[0].why == "" {
			t.Errorf("%s=%q: %+v", key, value, got.bad)
		}
		if len(got.labels) != 1 || len(got.taints)+len(got.resources) > 0 || got.options != (provider.Options{}) {
			t.Errorf("%s=%q is not harmless: %+v", key, value, got)
		}
	}
}

func FuzzTags(f *testing.F) {
	f.Add(tagLabel+"team", "a")
	f.Add(tagTaint+"k", "a:b:NoSchedule")
	f.Add(tagResource+"cpu", "1e999999999")
	f.Add(tagOption+"scaledownunneededtime", "5m")
	f.Add("eks:cluster-name", "x")
	f.Fuzz(func(t *testing.T, key, value string) {
		got := parseTags(map[string]string{key: value})
		n := len(got.labels) + len(got.taints) + len(got.resources) + len(got.bad)
		if got.options != (provider.Options{}) {
			n++
		}
		if want := strings.HasPrefix(key, tagTemplate); (n == 1) != want || n > 1 {
			t.Errorf("%q=%q: %+v", key, value, got)
		}
		for _, taint := range got.taints {
			if checkTaint(taint) != nil {
				t.Errorf("%q=%q: taint %+v", key, value, taint)
			}
		}
	})
}
