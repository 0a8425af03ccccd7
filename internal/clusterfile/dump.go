package clusterfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// The document with what is no Kubernetes object.
const (
	dumpGroup   = "plimsoll.dev"
	dumpVersion = dumpGroup + "/v1alpha1"
	dumpKind    = "Dump"
)

// dump is that document.
type dump struct {
	typeMeta     `json:",inline"`
	Time         time.Time           `json:"time"`
	Version      string              `json:"version,omitempty"`
	Flags        map[string]string   `json:"flags,omitempty"`
	Anonymized   bool                `json:"anonymized,omitempty"`
	Listed       []string            `json:"listed,omitempty"`
	Unread       map[string]string   `json:"unread,omitempty"`
	Inventory    *provider.Inventory `json:"inventory,omitempty"`
	InventoryErr string              `json:"inventoryError,omitempty"`
	// Memory is as the status ConfigMap has it, and Written when it was written there.
	Memory  json.RawMessage `json:"memory,omitempty"`
	Written time.Time       `json:"memoryWritten,omitzero"`
}

// readDump reads the document and its memory.
func readDump(data []byte) (parsed, error) {
	var d dump
	if err := exactly(data, &d); err != nil {
		return parsed{}, fmt.Errorf("%s: %w", dumpKind, err)
	}
	if d.Inventory != nil {
		if err := checkGroups("inventory.", d.Inventory); err != nil {
			return parsed{}, fmt.Errorf("%s: %w", dumpKind, err)
		}
	}
	switch {
	case d.Time.IsZero():
		return parsed{}, fmt.Errorf("%s: time: missing", dumpKind)
	case d.Inventory != nil && d.Inventory.AsOf.IsZero():
		return parsed{}, fmt.Errorf("%s: inventory.asOf: missing: when the cloud was read", dumpKind)
	case d.Inventory != nil && d.Inventory.AsOf.After(d.Time):
		return parsed{}, fmt.Errorf("%s: inventory.asOf: %s is after the time of the dump, %s", dumpKind,
			d.Inventory.AsOf.Format(time.RFC3339), d.Time.Format(time.RFC3339))
	}
	out := parsed{dump: &d, groups: d.Inventory}
	if len(d.Memory) > 0 {
		memory, err := status.ParseMemory(string(d.Memory), d.Written)
		if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return parsed{}, fmt.Errorf("%s: %s: %s", dumpKind, below("memory", typed.Field), spelling.Mistyped(typed))
		}
		if err != nil {
			return parsed{}, fmt.Errorf("%s: memory: %w", dumpKind, err)
		}
		out.memory = &memory
	}
	return out, nil
}

// dumpOf is the document of a cluster.
func dumpOf(c *Cluster) (dump, error) {
	d := dump{
		typeMeta: typeMeta{dumpVersion, dumpKind}, Time: c.Time, Version: c.Version, Flags: c.Flags,
		Anonymized: c.Anonymized, Listed: c.Listed, Unread: c.Unread, Inventory: cutGroups(c.Inventory),
		InventoryErr: c.InventoryErr, Written: c.Memory.Written,
	}
	text, err := status.MemoryText(c.Memory)
	if err != nil {
		return dump{}, fmt.Errorf("write the memory: %w", err)
	}
	d.Memory = json.RawMessage(text)
	return d, nil
}

// cutGroups cuts the templates down as other nodes and pods are: a static pod may have an environment.
func cutGroups(in *provider.Inventory) *provider.Inventory {
	if in == nil {
		return nil
	}
	out := *in
	out.Groups = slices.Clone(in.Groups)
	for i := range out.Groups {
		if out.Groups[i].Template == nil {
			continue
		}
		t := *out.Groups[i].Template
		if out.Groups[i].Template = &t; t.Node != nil {
			t.Node = observe.Cut(t.Node).(*corev1.Node)
		}
		if t.CSINode != nil {
			t.CSINode = observe.Cut(t.CSINode).(*storagev1.CSINode)
		}
		t.Pods = slices.Clone(t.Pods)
		for j, pod := range t.Pods {
			t.Pods[j], _ = observe.Cut(pod).(*corev1.Pod)
		}
		t.Pods = slices.DeleteFunc(t.Pods, func(p *corev1.Pod) bool { return p == nil })
	}
	return &out
}
