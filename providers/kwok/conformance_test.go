package kwok

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
)

const twoGroups = `
apiVersion: v1
kind: Node
metadata:
  annotations: {cluster-autoscaler.kwok.nodegroup/name: group, cluster-autoscaler.kwok.nodegroup/min-count: "2", cluster-autoscaler.kwok.nodegroup/max-count: "12"}
  labels: {topology.kubernetes.io/zone: z1}
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata:
  annotations: {cluster-autoscaler.kwok.nodegroup/name: other, cluster-autoscaler.kwok.nodegroup/min-count: "1", cluster-autoscaler.kwok.nodegroup/max-count: "12", cluster-autoscaler.kwok.nodegroup/zones: "z1, z2, z3"}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
`

func templatesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "templates.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newProvider(t *testing.T, s *apiServer, cfg Config) *Provider {
	t.Helper()
	client, meta := s.clients(t)
	p, err := New(t.Context(), client, meta, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// door is the way past the provider, to the API server's store.
type door struct {
	*apiServer
	provider *Provider
}

func (d door) SetTarget(id provider.GroupID, n int) error {
	names := d.Instances(id)
	for len(names) > n {
		d.Drop("Node", "", string(names[len(names)-1]))
		names = names[:len(names)-1]
	}
	for i := len(names); i < n; i++ {
		g := d.provider.byName[string(id)]
		d.add(nodeOf(g.in(g.nextZones(census{}, 1)[0]), fmt.Sprintf("by-hand-%s-%d", id, i)))
	}
	return nil
}

func (d door) Settle() {}

func (d door) Starve(provider.GroupID) error {
	return fmt.Errorf("a node is there as soon as it is asked for")
}

// Fail takes a machine's node away, and lists the machine as one that could not be made.
func (d door) Fail(id provider.InstanceID) error {
	group := ""
	if o := d.Get("Node", "", string(id)); o != nil {
		group = read[corev1.Node](o).Annotations[annotationGroup]
		d.Drop("Node", "", string(id))
	}
	data := d.machines(faultNamespace)
	if text, ok := data[string(id)]; ok {
		m, err := parseMachine(text)
		if err != nil {
			return err
		}
		group = m.Group
	}
	if data == nil {
		data = map[string]string{}
	}
	text, err := json.Marshal(machine{Group: group, Fault: failsToStart, Created: time.Now()})
	if err != nil {
		return err
	}
	data[string(id)] = string(text)
	d.setMachines(data)
	return nil
}

// Recover gives such a machine its node.
func (d door) Recover(id provider.InstanceID) error {
	data := d.machines(faultNamespace)
	m, err := parseMachine(data[string(id)])
	if err != nil {
		return err
	}
	delete(data, string(id))
	d.setMachines(data)
	d.add(nodeOf(d.provider.byName[m.Group], string(id)))
	return nil
}

func (d door) Break(op provider.Op, group provider.GroupID, how providertest.Breakage) <-chan struct{} {
	method := map[provider.Op]string{provider.OpInventory: http.MethodGet, provider.OpCancel: http.MethodGet,
		provider.OpGrow: http.MethodPost, provider.OpRemove: http.MethodDelete}[op]
	met := make(chan struct{}, 100)
	d.setMishap(func(r *http.Request, node *corev1.Node) mishap {
		if r.Method != method || node != nil && node.Annotations[annotationGroup] != string(group) {
			return mishap{}
		}
		switch how {
		case providertest.Refused:
			return mishap{status: apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", fmt.Errorf("no"))}
		case providertest.Hanging:
			return mishap{hold: true, held: met}
		case providertest.Lost:
			return mishap{hold: true, held: met, after: true}
		case providertest.Empty:
			return mishap{
				body: `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": []}`,
			}
		}
		return mishap{body: `<html>Sign in to the airport's network</html>`}
	})
	return met
}

func (d door) Mend() { d.setMishap(nil) }

func (d door) Instances(id provider.GroupID) []provider.InstanceID {
	var ids []provider.InstanceID
	for _, n := range d.all() {
		if isOwn(n.Annotations) && n.Annotations[annotationGroup] == string(id) && n.DeletionTimestamp == nil {
			ids = append(ids, provider.InstanceID(n.Name))
		}
	}
	slices.Sort(ids)
	return ids
}

func TestConforms(t *testing.T) {
	path := templatesFile(t, twoGroups)
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		s := newAPIServer(t)
		p := newProvider(t, s, Config{TemplatesPath: path, Namespace: faultNamespace})
		return providertest.Subject{
			Provider: p, Group: "group", Other: "other", Door: door{s, p}, Lacks: lacks,
		}
	})
}

var lacks = map[string]string{
	"P4/GrowKeepsThePoolsMaximum":         "it has no pools",
	"P5/CancelTakesBackAnonymousRequests": "every unit of it has a name",
	"P5/CancelKeepsTheMinimum":            "every unit of it has a name",
	"P8/WhatCannotBeDoneIsHeld":           "there is no group that it cannot grow",
}
