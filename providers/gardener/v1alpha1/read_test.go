package v1alpha1

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// TestReadsWhatIsWrittenThere: objects as machine-controller-manager and Gardener write
// them, with all that is not read here.
func TestReadsWhatIsWrittenThere(t *testing.T) {
	var o map[string]any
	if err := json.Unmarshal([]byte(`{
		"metadata": {"name": "m", "creationTimestamp": null, "labels": {"node": "n1"}},
		"spec": {"class": {"kind": "MachineClass", "name": "c"}, "drainTimeout": "2h0m0s", "healthTimeout": "10m0s", "maxEvictRetries": 10, "nodeConditions": "KernelDeadlock", "providerID": "aws:///a/i-1", "somethingNew": {"a": [1]},
			"nodeTemplate": {"metadata": {"creationTimestamp": null, "labels": {"a": "b"}}, "spec": {"taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": null}]}}},
		"status": {"currentStatus": {"lastUpdateTime": "2030-01-01T00:00:00Z", "phase": "Running", "preserveExpiryTime": "2030-01-02T00:00:00Z"},
			"lastOperation": {"description": "d", "errorCode": "ResourceExhausted", "state": "Failed", "type": "Create", "lastUpdateTime": null},
			"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2030-01-01T00:00:00Z"}], "addresses": [{"type": "Hostname", "address": "h"}]}
	}`), &o); err != nil {
		t.Fatal(err)
	}
	var m Machine
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &m); err != nil {
		t.Fatal(err)
	}
	if m.Spec.DrainTimeout.Hours() != 2 || *m.Spec.MaxEvictRetries != 10 || len(m.Spec.NodeTemplate.Spec.Taints) != 1 ||
		m.Status.CurrentStatus.PreserveExpiryTime.IsZero() || m.Status.LastOperation.ErrorCode != CodeResourceExhausted {
		t.Errorf("%+v", m)
	}
	var d MachineDeployment
	o = nil
	if err := json.Unmarshal([]byte(`{"metadata": {"name": "d"}, "spec": {"replicas": 3, "selector": {"matchLabels": {"name": "d"}}, "poolMaximum": 4,
		"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}}, "template": {"metadata": {"labels": {"name": "d"}}, "spec": {"class": {"kind": "MachineClass", "name": "c"}}}},
		"status": {"conditions": [{"type": "Frozen", "status": "True", "lastUpdateTime": "2030-01-01T00:00:00Z"}], "failedMachines": [{"name": "x", "lastOperation": {"state": "Failed"}}]}}`), &o); err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &d); err != nil {
		t.Fatal(err)
	}
	if d.Spec.Replicas != 3 || *d.Spec.PoolMaximum != 4 || d.Spec.PoolMinimum != nil ||
		d.Spec.Strategy.RollingUpdate.MaxSurge.StrVal != "10%" || d.Status.FailedMachines[0].Name != "x" {
		t.Errorf("%+v", d)
	}
}
