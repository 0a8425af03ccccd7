package clusterfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// The document with what is no Kubernetes object, and the one that ends the file.
const (
	dumpGroup   = "plimsoll.dev"
	dumpVersion = dumpGroup + "/v1alpha1"
	dumpKind    = "Dump"
	endKind     = "DumpEnd"
)

// dump is the first document.
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
	// Objects says how many objects of each kind follow, and that a last document does. Without it neither is asked for.
	Objects map[string]int `json:"objects,omitempty"`
}

// CutOff is the error of a dump that has fewer objects than were written.
type CutOff struct {
	File string
	// Kind is the one of which most are missing; it is empty if the last document alone is.
	Kind          string
	Written, Here int
}

func (e *CutOff) Error() string {
	what := "its last document, " + endKind + ", is missing"
	if e.Kind != "" {
		what = fmt.Sprintf("%s written, %d %s here", counted(e.Written, e.Kind), e.Here, spelling.Are(e.Here))
	}
	return fmt.Sprintf("%s: the file ends early: %s; if that is meant, take \"objects\" out of its first document",
		e.File, what)
}

// counted is a number of objects that were written.
func counted(n int, kind string) string {
	if n == 1 {
		return "1 " + kind + " was"
	}
	return fmt.Sprintf("%d %s were", n, spelling.Plural(kind))
}

// whole is an error if a dump's file has fewer objects than were written into it. here counts those that it has.
func (d *dump) whole(file string, here map[string]int) error {
	missing := &CutOff{File: file}
	for _, kind := range slices.Sorted(maps.Keys(d.Objects)) {
		if n := d.Objects[kind]; n-here[kind] > missing.Written-missing.Here {
			missing.Kind, missing.Written, missing.Here = kind, n, here[kind]
		}
	}
	if missing.Kind != "" || len(d.Objects) > 0 && here[endKind] == 0 {
		return missing
	}
	return nil
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
	case !d.Time.Before(lastTime):
		return parsed{}, fmt.Errorf("%s: time: %s: no cluster has such a time", dumpKind, d.Time.Format(time.RFC3339))
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
		InventoryErr: c.InventoryErr, Written: c.Memory.Written, Objects: map[string]int{},
	}
	for _, obj := range c.Objects {
		d.Objects[gvkOf(obj).Kind]++
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
