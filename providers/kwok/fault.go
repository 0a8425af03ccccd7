package kwok

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// fault is what the operator wants to go wrong with each new machine of a group. The template's
// annotation cluster-autoscaler.kwok.nodegroup/fault names it. It is not part of the group's
// template node: a template with a fault and one without are the same group.
type fault string

const (
	noFault fault = ""
	// failsToStart: the cloud accepts the request, and has no such machine.
	failsToStart fault = "fails-to-start"
	// neverReady: the node exists, and nothing plays its kubelet.
	neverReady fault = "never-ready"
	// neverRegisters: the machine is there, and never has a node.
	neverRegisters fault = "never-registers"
)

const (
	codeFault = "FaultInjected"
	// unattendedValue, as the value of annotationFake, marks a node that is this
	// provider's own and that the KWOK controller leaves alone.
	unattendedValue = "unattended"
)

// parseFault reads the fault annotation; without one there is no fault.
func parseFault(annotations map[string]string) (fault, error) {
	text, ok := annotations[annotationFault]
	if !ok {
		return noFault, nil
	}
	switch f := fault(text); f {
	case failsToStart, neverReady, neverRegisters:
		return f, nil
	}
	return noFault, fmt.Errorf("metadata.annotations[%s]: %q is none of the faults that there are: %s, %s, %s",
		annotationFault, text, failsToStart, neverReady, neverRegisters)
}

// withoutNode reports whether machines with this fault never have a node. They
// are remembered in the ConfigMap of machines.
func (f fault) withoutNode() bool { return f == failsToStart || f == neverRegisters }

// story is for a person.
func (f fault) story() string {
	switch f {
	case failsToStart:
		return "its machines fail to start, as when a cloud has none left"
	case neverReady:
		return "its nodes never become ready"
	case neverRegisters:
		return "its machines never register as nodes"
	}
	return "nothing goes wrong with its machines"
}

// noticeOf says that a group is broken on purpose.
func noticeOf(sourceName string, g group) provider.Notice {
	return provider.Notice{Group: provider.GroupID(g.name), Code: codeFault, Message: fmt.Sprintf(
		"%s: %s: the annotation %s is %s: from now on %s", sourceName, g.where, annotationFault, g.fault, g.fault.story())}
}

// checkMemory refuses faults whose machines nothing would remember.
func checkMemory(sourceName string, groups []group, namespace string) error {
	if namespace != "" {
		return nil
	}
	var names []string
	for _, g := range groups {
		if g.fault.withoutNode() {
			names = append(names, fmt.Sprintf("%s (%s)", g.where, g.fault))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s: metadata.annotations[%s]: machines without a node are kept in the ConfigMap %s, and no "+
		"namespace is known for it: set %s, or take the faults away: %s",
		sourceName, annotationFault, machinesConfigMap, envNamespace, strings.Join(names, ", "))
}

// strike applies the fault to a node that is about to be created.
func (f fault) strike(node *corev1.Node) {
	if f != neverReady {
		return
	}
	now := metav1.Now()
	node.Annotations[annotationFake] = unattendedValue
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: codeFault,
		Message: "the node's template wants it never to become ready", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
}

// err is what the cloud says of a machine with this fault; nil if it has nothing
// to say.
func (f fault) err(group string, zone string) *provider.Error {
	if f != failsToStart {
		return nil
	}
	return &provider.Error{
		Op: provider.OpGrow, Group: provider.GroupID(group), Kind: provider.NoCapacity, Code: codeFault, Zone: zone,
		Message: "the group's template wants its machines to fail to start",
	}
}
