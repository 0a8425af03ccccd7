package clusterapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/provider"
)

func TestParseGroupID(t *testing.T) {
	for id, want := range map[provider.GroupID]bool{
		"MachineDeployment/eksa-system/c1-md-0": true, "MachineSet/n/s": true, "MachinePool/n/p": true,
		"": false, "MachineDeployment": false, "MachineDeployment/n": false, "MachineDeployment/n/": false,
		"MachineDeployment//d": false,
		"Machine/n/m":          false, "Cluster/n/c": false, "MachineDeployment/n/d/x": false,
	} {
		k, namespace, name, ok := parseGroupID(id)
		if ok != want || ok && groupID(k, namespace, name) != id {
			t.Errorf("%q: %v, %s %s %s", id, ok, k, namespace, name)
		}
	}
}

func TestParseInstanceID(t *testing.T) {
	for id, want := range map[provider.InstanceID]bool{
		"n/m": true, "": false, "m": false, "n/": false, "/m": false, "aws:///eu-west-1a/i-1": false, "a/b/c": false,
	} {
		namespace, name, ok := parseInstanceID(id)
		if ok != want || ok && instanceID(namespace, name) != id {
			t.Errorf("%q: %v, %q %q", id, ok, namespace, name)
		}
	}
}

func TestReadReference(t *testing.T) {
	for text, want := range map[string]reference{
		`{apiGroup: infra.x, kind: K, name: a}`:                    {group: "infra.x", kind: "K", name: "a", namespace: "n"},
		`{apiVersion: infra.x/v1, kind: K, name: a, namespace: m}`: {group: "infra.x", version: "v1", kind: "K", name: "a", namespace: "m"},
		`{apiVersion: infra.x/v1, kind: K, name: a}`:               {group: "infra.x", version: "v1", kind: "K", name: "a", namespace: "n"},
		`{apiVersion: a/b/c, kind: K, name: a}`:                    {kind: "K", name: "a", namespace: "n"},
		`{}`:                                                       {namespace: "n"},
	} {
		o := fromYAML(t, "{apiVersion: v1, kind: X, spec: {ref: "+text+"}}")
		if diff := cmp.Diff(want, readReference(o, "n", "spec", "ref"), cmp.AllowUnexported(reference{})); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestOwnerOf(t *testing.T) {
	for text, want := range map[string]owner{
		`[{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s}]`:                                                                        {machineSet, "s"},
		`[{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, name: c}, {apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineDeployment, name: d}]`: {machineDeployment, "d"},
		`[{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, name: c}]`:                                                                           {},
		`[{apiVersion: other.io/v1, kind: MachineSet, name: s}]`:                                                                                     {},
		`[]`: {},
	} {
		if got := ownerOf(
			fromYAML(t, "{apiVersion: v1, kind: X, metadata: {ownerReferences: "+text+"}}"), defaultAPIGroup,
		); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestReadScalable(t *testing.T) {
	o := fromYAML(t, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {namespace: n, name: p, generation: 3, labels: {cluster.x-k8s.io/cluster-name: from-label}}
spec:
  replicas: 2
  providerIDList: [a://1, a://2]
  selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}
  template: {spec: {taints: [{key: k, value: v, effect: NoSchedule, propagation: Always}, nonsense]}}
status: {replicas: 1, observedGeneration: 2, nodeRefs: [{kind: Node, name: n1}, {name: n2}, {}]}`)
	g := readScalable(machinePool, o, ofGroup)
	if g.cluster != "from-label" || *g.replicas != 2 || g.statusReplicas != 1 || g.settled {
		t.Errorf("%+v", g)
	}
	if diff := cmp.Diff([][]string{{"a://1", "a://2"}, {"n1", "n2"}}, [][]string{g.providerIDs, g.nodeNames}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]corev1.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}, {}}, append(g.templateTaints, corev1.Taint{}),
	); diff != "" {
		t.Error(diff)
	}
	if !g.selector.Matches(labels.Set{"a": "b", "c": ""}) || g.selector.Matches(labels.Set{"a": "b"}) {
		t.Errorf("selector %v", g.selector)
	}
	for _, text := range []string{
		`{}`, `{matchLabels: {}}`, `{matchLabels: 3}`, `{matchExpressions: [{key: a, operator: Never}]}`, `7`,
	} {
		if s := readSelector(fromYAML(t, "{apiVersion: v1, kind: X, spec: {selector: "+text+"}}")); s != nil {
			t.Errorf("%s selects %v", text, s)
		}
	}
}

// Fields of a wrong type read as ones that are not there.
func TestReadNonsense(t *testing.T) {
	o := fromYAML(t, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {namespace: n, name: m, labels: {a: b}}
spec: {replicas: two, clusterName: 5, providerID: [x], template: 3, providerIDList: {}, failureDomain: {}}
status: {conditions: {}, nodeRef: n1, failureReason: 7, phase: [], capacity: {cpu: [4]}, deprecated: x, nodeRefs: 3}`)
	if g := readScalable(machineDeployment, o, ofGroup); g.replicas != nil || g.cluster != "" || g.infra.kind != "" ||
		g.templateTaints != nil {
		t.Errorf("%+v", g)
	}
	if m := readMachine(o, ofGroup); m.providerID != "" || m.nodeName != "" || m.failure != nil || m.zone != "" {
		t.Errorf("%+v", m)
	}
	if got := amounts(o); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
