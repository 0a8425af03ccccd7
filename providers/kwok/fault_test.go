package kwok

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
)

const faultNamespace = "autoscaler"

// broken is a template file of one group, zone z1, with the fault, if it is not
// empty, and with as many machines at the start.
func broken(f fault, desired int) string {
	annotations := fmt.Sprintf("%s: web, %s: %q", annotationGroup, annotationDesired, fmt.Sprint(desired))
	if f != noFault {
		annotations += fmt.Sprintf(", %s: %s", annotationFault, f)
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {annotations: {%s}, labels: {%s: z1}}\nstatus: "+
		"{allocatable: {cpu: 4, memory: 16Gi}}\n",
		annotations, corev1.LabelTopologyZone)
}

func newBroken(t *testing.T, s *apiServer, f fault) *Provider {
	t.Helper()
	return newProvider(t, s, Config{TemplatesPath: templatesFile(t, broken(f, 0)), Namespace: faultNamespace})
}

// A group whose machines have no node keeps the whole contract.
func TestConformsWithoutNodes(t *testing.T) {
	lacks := maps.Clone(lacks)
	lacks["P9/OnlyWhatHasNoNodeIsEndedForThat"] = "none has a node"
	path := templatesFile(t,
		strings.Replace(twoGroups, "max-count: \"12\"}", "max-count: \"12\", "+annotationFault+": never-registers}", 1))
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		s := newAPIServer(t)
		p := newProvider(t, s, Config{TemplatesPath: path, Namespace: faultNamespace})
		return providertest.Subject{
			Provider: p, Group: "group", Other: "other", Door: doorWithoutNodes{door{s, p}}, Lacks: lacks,
		}
	})
}

// doorWithoutNodes is the way to the machines of "group", which have no node;
// those of "other" have.
type doorWithoutNodes struct{ door }

func (d doorWithoutNodes) SetTarget(id provider.GroupID, n int) error {
	if id != "group" {
		return d.door.SetTarget(id, n)
	}
	data := d.machines(faultNamespace)
	if data == nil {
		data = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(data))[min(n, len(data)):] {
		delete(data, name)
	}
	for len(data) < n {
		text, err := json.Marshal(machine{Group: string(id), Fault: neverRegisters, Created: time.Now()})
		if err != nil {
			return err
		}
		data[fmt.Sprintf("by-hand-%d", len(data))] = string(text)
	}
	d.setMachines(data)
	return nil
}

// Recover makes a machine that failed one that only lacks its node.
func (d doorWithoutNodes) Recover(id provider.InstanceID) error {
	data := d.machines(faultNamespace)
	data[string(id)] = strings.Replace(data[string(id)], string(failsToStart), string(neverRegisters), 1)
	d.setMachines(data)
	return nil
}

func (d doorWithoutNodes) Instances(id provider.GroupID) []provider.InstanceID {
	if id != "group" {
		return d.door.Instances(id)
	}
	var ids []provider.InstanceID
	for _, name := range slices.Sorted(maps.Keys(d.machines(faultNamespace))) {
		ids = append(ids, provider.InstanceID(name))
	}
	return ids
}

func (d doorWithoutNodes) Break(op provider.Op, group provider.GroupID, how providertest.Breakage) <-chan struct{} {
	methods := map[provider.Op][]string{
		provider.OpGrow: {http.MethodPost, http.MethodPut}, provider.OpRemove: {http.MethodPut, http.MethodDelete},
	}[op]
	if group != "group" || methods == nil {
		return d.door.Break(op, group, how)
	}
	met := make(chan struct{}, 100)
	d.setMishap(func(r *http.Request, _ *corev1.Node) mishap {
		if !slices.Contains(methods, r.Method) || !strings.Contains(r.URL.Path, "/configmaps") {
			return mishap{}
		}
		if how == providertest.Refused {
			return mishap{status: apierrors.NewForbidden(corev1.Resource("configmaps"), machinesConfigMap, errors.New("no"))}
		}
		return mishap{hold: true, held: met, after: how == providertest.Lost}
	})
	return met
}

// Machines without a node are instances and are counted, over restarts and
// whatever the template says by then; what the template says now applies to
// those that are made now. With the last of them the ConfigMap goes.
func TestMachinesWithoutANode(t *testing.T) {
	for _, f := range []fault{neverRegisters, failsToStart} {
		t.Run(string(f), func(t *testing.T) {
			s := newAPIServer(t)
			grown, err := newBroken(t, s, f).Grow(t.Context(), provider.GrowRequest{Group: "web", To: 3})
			if err != nil || grown.Target != 3 || len(grown.Created) != 3 {
				t.Fatalf("Grow: %+v, %v", grown, err)
			}
			p := newBroken(t, s, noFault)
			mended, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", From: 3, To: 4})
			if err != nil || len(s.all()) != 1 {
				t.Fatalf("Grow without the fault: %+v, %v; nodes %v", mended, err, s.names())
			}
			g := groupOf(t, p, "web")
			if g.Target != 4 || len(g.Instances) != 4 {
				t.Fatalf("group %+v", g)
			}
			for _, i := range g.Instances {
				if !slices.Contains(grown.Created, i.ID) {
					continue
				}
				want := provider.Instance{
					ID: i.ID, ProviderID: "kwok:" + string(i.ID), State: provider.Creating, Created: i.Created, Zone: "z1",
				}
				if f == failsToStart {
					want.Err = &provider.Error{Op: provider.OpGrow, Group: "web", Kind: provider.NoCapacity, Code: "FaultInjected",
						Zone: "z1", Message: i.Err.Message}
				}
				if diff := cmp.Diff(want, i); diff != "" || i.Created.IsZero() || time.Since(i.Created) > time.Minute {
					t.Errorf("instance (-want +got):\n%s", diff)
				}
			}

			ids := []provider.InstanceID{g.Instances[0].ID, g.Instances[1].ID, g.Instances[2].ID, g.Instances[3].ID}
			removed, err := p.Remove(t.Context(), provider.RemoveRequest{Group: "web", Instances: ids[:2]})
			if err != nil || removed.Target != 2 {
				t.Errorf("Remove of two: %+v, %v", removed, err)
			}
			removed, err = p.Remove(t.Context(), provider.RemoveRequest{Group: "web", Instances: ids})
			if err != nil || removed.Target != 0 || len(s.all()) != 0 || s.machines(faultNamespace) != nil {
				t.Errorf("Remove of all: %+v, %v; left are %v and %v", removed, err, s.names(), s.machines(faultNamespace))
			}
		})
	}
}

// A node that never becomes ready is this provider's own, and KWOK's
// controller, which looks for the value "fake", does not touch it.
func TestNodesThatAreNeverReady(t *testing.T) {
	s := newAPIServer(t)
	p := newBroken(t, s, neverReady)
	grown, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 1})
	if err != nil {
		t.Fatal(err)
	}
	n := s.all()[0]
	if n.Annotations[annotationFake] != "unattended" || len(n.Status.Conditions) != 1 ||
		n.Status.Conditions[0].Type != corev1.NodeReady || n.Status.Conditions[0].Status != corev1.ConditionFalse ||
		n.Status.Conditions[0].Reason != "FaultInjected" {
		t.Errorf("node %+v", n)
	}
	g := groupOf(t, newBroken(t, s, noFault), "web")
	if g.Target != 1 || g.Instances[0].State != provider.Running || g.Instances[0].NodeName != n.Name ||
		g.Instances[0].Err != nil {
		t.Errorf("group %+v", g)
	}
	if n := groupOf(t, p, "web").Template.Node; n.Annotations[annotationFake] != "fake" || len(n.Status.Conditions) != 0 {
		t.Errorf("the fault is in the template: %+v", n)
	}
	if _, err := p.Remove(t.Context(), provider.RemoveRequest{Group: "web", Instances: grown.Created}); err != nil ||
		len(s.all()) != 0 {
		t.Errorf("Remove: %v, nodes %v", err, s.names())
	}
}

// A fault says nothing of what the node would be: the group, drawn name
// included, and its template stay the same.
func TestAFaultMakesNoOtherGroup(t *testing.T) {
	template := func(annotations string) group {
		nodes, err := parseTemplates("t", fmt.Appendf(nil, "apiVersion: v1\nkind: Node\nmetadata: {annotations: "+
			"{%s}}\nstatus: {allocatable: {cpu: 4, memory: 16Gi}}\n", annotations))
		if err != nil {
			t.Fatal(err)
		}
		return mustBuild(t, source{name: "t", nodes: nodes})[0]
	}
	plain, faulty := template(""), template(annotationFault+": never-ready")
	if plain.name != faulty.name || plain.template.Version != faulty.template.Version || faulty.fault != neverReady {
		t.Errorf("%s %s and %s %s", plain.name, plain.template.Version, faulty.name, faulty.template.Version)
	}
}

// The start makes what is desired, the fault included; the end takes it along.
func TestStartAndCloseWithoutNodes(t *testing.T) {
	s := newAPIServer(t)
	cfg := Config{TemplatesPath: templatesFile(t, broken(neverRegisters, 3)), Namespace: faultNamespace}
	for range 2 {
		if err := newProvider(t, s, cfg).Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(s.machines(faultNamespace)); n != 3 || len(s.all()) != 0 {
			t.Fatalf("%d machines and the nodes %v, want 3 machines", n, s.names())
		}
	}
	kept := cfg
	kept.KeepNodes = true
	if err := newProvider(t, s, kept).Close(t.Context()); err != nil || len(s.machines(faultNamespace)) != 3 {
		t.Errorf("machines were to be kept: %v, %v", s.machines(faultNamespace), err)
	}
	if err := newProvider(t, s, cfg).Close(t.Context()); err != nil || s.machines(faultNamespace) != nil {
		t.Errorf("machines after the end: %v, %v", s.machines(faultNamespace), err)
	}
}

// One ConfigMap serves all groups, and scale-ups of many at once all come through.
func TestManyGroupsWithoutNodesGrowAtOnce(t *testing.T) {
	const groups = 12
	var text strings.Builder
	for i := range groups {
		fmt.Fprintf(&text, "---\n%s",
			strings.Replace(broken(neverRegisters, 0), "name: web", fmt.Sprintf("name: web-%d", i), 1))
	}
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, text.String()), Namespace: faultNamespace})
	for round := range 3 {
		var wg sync.WaitGroup
		for i := range groups {
			wg.Go(func() {
				id := provider.GroupID(fmt.Sprintf("web-%d", i))
				if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: id, From: 2 * round, To: 2*round + 2}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if n := len(s.machines(faultNamespace)); n != groups*6 {
		t.Errorf("%d machines, want %d", n, groups*6)
	}
}

// If another client grows the group between the read and the write, the scale-up is a conflict, and nothing is written.
func TestAGrowthThatCameFirst(t *testing.T) {
	s := newAPIServer(t)
	p := newBroken(t, s, neverRegisters)
	var once sync.Once
	s.setMishap(func(r *http.Request, _ *corev1.Node) mishap {
		if r.Method != http.MethodPost {
			return mishap{}
		}
		return mishap{before: func() {
			once.Do(func() {
				s.setMachines(map[string]string{
					"web-theirs": `{"group":"web","fault":"never-registers","created":"2026-01-02T03:04:05Z"}`,
				})
			})
		}}
	})
	result, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 2})
	if e, _ := errors.AsType[*provider.Error](err); e == nil || e.Kind != provider.Conflict || e.MayHaveHappened ||
		result.Target != 0 {
		t.Errorf("Grow: %+v, %v", result, err)
	}
	if diff := cmp.Diff([]string{"web-theirs"}, slices.Collect(maps.Keys(s.machines(faultNamespace)))); diff != "" {
		t.Errorf("machines:\n%s", diff)
	}
}

// An entry of the ConfigMap that is no machine is an error of that entry, and never makes the group smaller.
func TestAConfigMapThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"group":"web","fault":"never-registers","created":"today"}`:                         `data[web-x]: not a machine`,
		`{"group":"web","fault":"never-registers","created":"2026-01-02T03:04:05Z","size":1}`: `data[web-x]: not a machine`,
		`{"fault":"never-registers","created":"2026-01-02T03:04:05Z"}`:                        `data[web-x]: group`,
		`{"group":"web","fault":"never-ready","created":"2026-01-02T03:04:05Z"}`:              `data[web-x]: fault: "never-ready"`,
		`{"group":"web","fault":"never-registers"}`:                                           `data[web-x]: created`,
	} {
		s := newAPIServer(t)
		s.setMachines(map[string]string{"web-x": text})
		inv, err := newBroken(t, s, noFault).Inventory(t.Context())
		if err == nil || !strings.Contains(err.Error(), "ConfigMap autoscaler/kwok-provider-machines: "+want) ||
			!strings.Contains(err.Error(), "delete the entry") {
			t.Errorf("%s: %+v, %v, want an error with %s", text, inv, err, want)
		}
	}

	s := newAPIServer(t)
	for _, m := range []mishap{
		{status: apierrors.NewForbidden(corev1.Resource("configmaps"), machinesConfigMap, errors.New("no"))},
		{body: `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}`},
		{body: `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "kwok-provider-machines"}}`},
	} {
		p := newBroken(t, s, noFault)
		s.setMishap(func(r *http.Request, _ *corev1.Node) mishap {
			if strings.HasSuffix(r.URL.Path, machinesConfigMap) {
				return m
			}
			return mishap{}
		})
		if inv, err := p.Inventory(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "ConfigMap autoscaler/kwok-provider-machines") {
			t.Errorf("%+v: %+v, %v", m, inv, err)
		}
		s.setMishap(nil)
	}
}

// Machines without a node need a place to be remembered; to learn that at the
// first scale-up would be too late.
func TestAFaultNeedsANamespace(t *testing.T) {
	for f, wrong := range map[fault]bool{neverRegisters: true, failsToStart: true, neverReady: false, noFault: false} {
		s := newAPIServer(t)
		client, meta := s.clients(t)
		path := templatesFile(t, broken(f, 0))
		_, err := New(t.Context(), client, meta, Config{TemplatesPath: path}, slog.New(slog.DiscardHandler))
		if (err != nil) != wrong ||
			wrong && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "POD_NAMESPACE")) {
			t.Errorf("%q: %v", f, err)
		}
	}
}
