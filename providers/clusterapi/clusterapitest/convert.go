package clusterapitest

import (
	"strings"

	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// convert shows an object in a version: the one that is stored is v1beta2.
func convert(o kubetest.Object, r kubetest.Resource, version string) kubetest.Object {
	kubetest.Set(o, strings.TrimPrefix(r.Group+"/"+version, "/"), "apiVersion")
	if r.Group != Group || version != "v1beta1" {
		return o
	}
	reference(o, "spec", "template", "spec", "infrastructureRef")
	reference(o, "spec", "infrastructureRef")
	status, _ := o["status"].(kubetest.Object)
	if status == nil {
		return o
	}
	// Conditions changed places: those of the old form were the only ones.
	if deprecated, ok := kubetest.Get(o, "status", "deprecated", "v1beta1").(kubetest.Object); ok {
		for _, field := range []string{"failureReason", "failureMessage", "conditions"} {
			if value, ok := deprecated[field]; ok {
				defer kubetest.Set(status, value, field)
			}
		}
		delete(status, "deprecated")
	}
	if conditions, ok := status["conditions"]; ok {
		kubetest.Set(status, conditions, "v1beta2", "conditions")
		delete(status, "conditions")
	}
	if node := kubetest.Text(o, "status", "nodeRef", "name"); node != "" {
		status["nodeRef"] = kubetest.Object{"apiVersion": "v1", "kind": "Node", "name": node}
	}
	return o
}

// reference gives a reference its version back.
func reference(o kubetest.Object, path ...string) {
	ref, ok := kubetest.Get(o, path...).(kubetest.Object)
	if !ok || kubetest.Text(ref, "apiGroup") == "" {
		return
	}
	ref["apiVersion"] = kubetest.Text(ref, "apiGroup") + "/v1beta1"
	ref["namespace"] = kubetest.Text(o, "metadata", "namespace")
	delete(ref, "apiGroup")
}

// take takes of what is sent only that which a client may write; spec of v1beta1
// has other names for some of it.
func take(stored, sent kubetest.Object, r kubetest.Resource) kubetest.Object {
	if r.Group != Group {
		return sent
	}
	for _, field := range []string{"annotations", "labels", "finalizers"} {
		kubetest.Set(stored, kubetest.Get(sent, "metadata", field), "metadata", field)
	}
	if replicas, ok := kubetest.Get(sent, "spec", "replicas").(int64); ok {
		kubetest.Set(stored, replicas, "spec", "replicas")
	}
	return stored
}
