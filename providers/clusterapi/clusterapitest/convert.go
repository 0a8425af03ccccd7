package clusterapitest

import "strings"

// convert shows an object in a version: the one that is stored is v1beta2.
func convert(o Object, r Resource, version string) Object {
	setText(o, strings.TrimPrefix(r.Group+"/"+version, "/"), "apiVersion")
	if r.Group != Group || version != "v1beta1" {
		return o
	}
	reference(o, "spec", "template", "spec", "infrastructureRef")
	reference(o, "spec", "infrastructureRef")
	status, _ := o["status"].(Object)
	if status == nil {
		return o
	}
	// Conditions changed places: those of the old form were the only ones.
	if deprecated, ok := get(o, "status", "deprecated", "v1beta1").(Object); ok {
		for _, field := range []string{"failureReason", "failureMessage", "conditions"} {
			if value, ok := deprecated[field]; ok {
				defer set(status, value, field)
			}
		}
		delete(status, "deprecated")
	}
	if conditions, ok := status["conditions"]; ok {
		set(status, conditions, "v1beta2", "conditions")
		delete(status, "conditions")
	}
	if node := getText(o, "status", "nodeRef", "name"); node != "" {
		status["nodeRef"] = Object{"apiVersion": "v1", "kind": "Node", "name": node}
	}
	return o
}

// reference gives a reference its version back.
func reference(o Object, path ...string) {
	ref, ok := get(o, path...).(Object)
	if !ok || getText(ref, "apiGroup") == "" {
		return
	}
	ref["apiVersion"] = getText(ref, "apiGroup") + "/v1beta1"
	ref["namespace"] = getText(o, "metadata", "namespace")
	delete(ref, "apiGroup")
}
