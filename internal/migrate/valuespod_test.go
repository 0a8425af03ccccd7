package migrate

import (
	"slices"
	"strings"
	"testing"
)

// TestNamesAreNotTaken: while the two releases are side by side, Helm refuses an
// object that the other one has.
func TestNamesAreNotTaken(t *testing.T) {
	got, err := in(t, "", "autoDiscovery: {clusterName: a}\nfullnameOverride: cluster-autoscaler\nnameOverride: ca\n")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got.Text), "Override") {
		t.Errorf("a name is carried over:\n%s", got.Text)
	}
	for _, name := range []string{"fullnameOverride", "nameOverride"} {
		if !slices.ContainsFunc(got.Notes.Changed, func(n string) bool {
			return strings.HasPrefix(n, name+" is dropped: ") && strings.Contains(n, "differ")
		}) {
			t.Errorf("%s is not told:\n%s", name, got.Notes)
		}
	}
}

// TestLabelsOfTheSelector: those by which Plimsoll's chart finds its pods are not
// anybody else's to set.
func TestLabelsOfTheSelector(t *testing.T) {
	got, err := in(t, "", "autoDiscovery: {clusterName: a}\npodLabels: {app.kubernetes.io/name: ca, "+
		"app.kubernetes.io/instance: ca, app.kubernetes.io/component: ca, team: platform}\n")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got.Text), "podLabels:\n  team: platform\n") ||
		strings.Contains(string(got.Text), "app.kubernetes.io") {
		t.Errorf("labels are\n%s", got.Text)
	}
	for _, label := range []string{"name", "instance", "component"} {
		if !strings.Contains(got.Notes.String(), "podLabels.app.kubernetes.io/"+label+" is dropped: ") {
			t.Errorf("%s is not told:\n%s", label, got.Notes)
		}
	}
}

// TestNullIsNoValue: it is neither the text <nil> nor an empty one.
func TestNullIsNoValue(t *testing.T) {
	got, err := in(t, "", `
autoDiscovery: {clusterName: a}
extraEnv: {FOO: null, BAR: b, LIST: [1, null]}
nodeSelector: {pool: null}
podAnnotations: {a: null}
resources: {limits: null, requests: {cpu: 1}}
affinity: {nodeAffinity: null}
tolerations: [{key: a, value: null}]
rbac: {serviceAccount: {annotations: {a: null}}}
topologySpreadConstraints: [null, {maxSkew: 1, matchLabelKeys: []}]
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"FOO", "nil", "null", "pool", `""`, "limits", "nodeAffinity"} {
		if strings.Contains(string(got.Text), no) {
			t.Errorf("%q is in\n%s", no, got.Text)
		}
	}
	for _, want := range []string{"name: BAR\n  value: b\n", "cpu: 1\n", "- key: a\n", "- matchLabelKeys: []\n"} {
		if !strings.Contains(string(got.Text), want) {
			t.Errorf("%q is not in\n%s", want, got.Text)
		}
	}
	for _, path := range []string{
		"extraEnv.FOO", "nodeSelector.pool", "podAnnotations.a", "extraEnv.LIST[1]", "topologySpreadConstraints[0]",
	} {
		if !strings.Contains(got.Notes.String(), path+" is dropped: null") {
			t.Errorf("%s is not told:\n%s", path, got.Notes)
		}
	}
}

// TestIntervalsOfPrometheus: one of several units is an interval, too.
func TestIntervalsOfPrometheus(t *testing.T) {
	got, err := in(t, "", "autoDiscovery: {clusterName: a}\nserviceMonitor: {enabled: true, interval: 1m30s}\n")
	if err != nil || !strings.Contains(string(got.Text), "interval: 1m30s\n") {
		t.Errorf("%v\n%s", err, got.Text)
	}
}
