package kwok

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
)

const manyNodes = `
apiVersion: v1
kind: Node
metadata:
  annotations: {cluster-autoscaler.kwok.nodegroup/name: web, cluster-autoscaler.kwok.nodegroup/desired-count: "3"}
  labels: {topology.kubernetes.io/zone: z1}
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}
`

var nodesResource = schema.GroupResource{Resource: "nodes"}

func groupOf(t *testing.T, p *Provider, id provider.GroupID) provider.Group {
	t.Helper()
	return providertest.GroupIn(t, providertest.Read(t, p), id)
}

// What arrives at the API server is what the group's template promises, and
// what the KWOK controller needs: resources in the status, no Ready condition.
func TestCreatedNodesArriveWhole(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	result, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 40})
	if err != nil || result.Target != 40 || len(result.Created) != 40 {
		t.Fatalf("Grow: %+v, %v", result, err)
	}
	g := groupOf(t, p, "web")
	for i, n := range s.all() {
		if n.Name != string(result.Created[i]) || g.Instances[i].ID != result.Created[i] {
			t.Fatalf("node %q, created %q, instance %q", n.Name, result.Created[i], g.Instances[i].ID)
		}
		want := g.Template.Node.DeepCopy()
		want.Name = n.Name
		want.Labels[corev1.LabelHostname] = n.Name
		want.Annotations[annotationMetrics] = "/metrics/nodes/" + n.Name + "/metrics/resource"
		want.Spec.ProviderID = g.Instances[i].ProviderID
		want.UID, want.ResourceVersion, want.Generation = n.UID, n.ResourceVersion, n.Generation
		want.CreationTimestamp, want.TypeMeta = n.CreationTimestamp, n.TypeMeta
		if diff := cmp.Diff(want, n); diff != "" {
			t.Fatalf("node %q (-template +created):\n%s", n.Name, diff)
		}
		if len(n.Status.Conditions) != 0 || n.Annotations[annotationFake] != "fake" ||
			n.Annotations[annotationGroup] != "web" {
			t.Fatalf("node %+v", n)
		}
		if i := g.Instances[i]; i.State != provider.Running || i.NodeName != n.Name || i.Zone != "z1" ||
			!i.Created.Equal(n.CreationTimestamp.Time) || i.ProviderID != "kwok:"+n.Name {
			t.Fatalf("instance %+v", i)
		}
	}
}

func TestCreatesRunInParallelWithinABound(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	var under, most atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	s.setMishap(func(r *http.Request, node *corev1.Node) mishap {
		if r.Method != http.MethodPost {
			return mishap{}
		}
		return mishap{before: func() {
			n := under.Add(1)
			defer under.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if n == workers {
				once.Do(func() { close(full) })
			}
			<-full // all wait for as many as there may be
		}}
	})
	if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 100}); err != nil {
		t.Fatal(err)
	}
	if most.Load() != workers {
		t.Errorf("%d creates at once, want %d", most.Load(), workers)
	}
}

func TestPartialFailureKeepsTheCountTrue(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	var creates atomic.Int64
	s.setMishap(func(r *http.Request, node *corev1.Node) mishap {
		if r.Method == http.MethodPost && creates.Add(1)%5 == 0 {
			return mishap{status: apierrors.NewInternalError(errors.New("the storage hiccups"))}
		}
		return mishap{}
	})
	result, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 50})
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || !strings.Contains(e.Message, "created 40 of 50 nodes") ||
		!strings.Contains(e.Message, "the storage hiccups") || !e.MayHaveHappened {
		t.Errorf("error %v", err)
	}
	if result.Target != 40 || len(result.Created) != 40 || groupOf(t, p, "web").Target != 40 || len(s.all()) != 40 {
		t.Errorf("result %d with %d created, target %d, %d nodes: want 40",
			result.Target, len(result.Created), groupOf(t, p, "web").Target, len(s.all()))
	}
}

// An answer of the 5xx kind leaves open whether the node is there.
func TestAServersErrorMayHideASuccess(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	s.setMishap(func(r *http.Request, node *corev1.Node) mishap {
		if r.Method == http.MethodPost {
			return mishap{status: apierrors.NewInternalError(errors.New("too late")), after: true}
		}
		return mishap{}
	})
	result, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 1})
	if e, _ := errors.AsType[*provider.Error](err); e == nil || !e.MayHaveHappened || e.Kind != provider.Unavailable ||
		result.Target != 0 {
		t.Errorf("Grow: %+v, %v", result, err)
	}
}

func TestAPartOfAListIsAnError(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	s.setMishap(func(r *http.Request, _ *corev1.Node) mishap {
		return mishap{
			body: `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "1", "continue": "more"}, "items": []}`,
		}
	})
	if inv, err := p.Inventory(t.Context()); err == nil {
		t.Errorf("a part of the list was taken for the whole: %+v", inv)
	}
}

func TestRefusalsOfAllEndTheGrowth(t *testing.T) {
	for kind, status := range map[provider.Kind]*apierrors.StatusError{
		provider.Denied:      apierrors.NewForbidden(nodesResource, "", errors.New("no right to create")),
		provider.Credentials: apierrors.NewUnauthorized("who are you"),
		provider.BadConfig:   apierrors.NewBadRequest("an admission hook says no"),
	} {
		s := newAPIServer(t)
		p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
		s.setMishap(func(r *http.Request, node *corev1.Node) mishap {
			if r.Method == http.MethodPost {
				return mishap{status: status}
			}
			return mishap{}
		})
		result, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 200})
		e, _ := errors.AsType[*provider.Error](err)
		if e == nil || e.Kind != kind || e.MayHaveHappened || e.Code != string(status.Status().Reason) || result.Target != 0 {
			t.Errorf("%s: %+v, %+v", kind, result, e)
		}
		if n := s.count("POST"); n > workers {
			t.Errorf("%s: %d creates were sent after the first was refused", kind, n)
		}
	}
}

func TestATakenNameIsDrawnAnew(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	var creates atomic.Int64
	s.setMishap(func(r *http.Request, node *corev1.Node) mishap {
		if r.Method == http.MethodPost && creates.Add(1) <= 3 {
			return mishap{status: apierrors.NewAlreadyExists(nodesResource, node.Name)}
		}
		return mishap{}
	})
	if result, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 1}); err != nil || result.Target != 1 {
		t.Errorf("Grow: %+v, %v", result, err)
	}
}

// Nodes that are not this provider's are never listed, counted or deleted.
func TestOtherNodesAreLeftAlone(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	half := aNode("only-kwok", nil)
	half.Annotations[annotationFake] = "fake"
	named := aNode("only-named", nil)
	named.Annotations[annotationGroup] = "web"
	wrong := aNode("wrong-value", nil)
	wrong.Annotations[annotationFake], wrong.Annotations[annotationGroup] = "true", "web"
	s.add(aNode("real", nil), half, named, wrong)
	if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 2}); err != nil {
		t.Fatal(err)
	}
	g := groupOf(t, p, "web")
	if g.Target != 2 || len(g.Instances) != 2 {
		t.Errorf("target %d, instances %v", g.Target, g.Instances)
	}
	others := []provider.InstanceID{"real", "only-kwok", "only-named", "wrong-value"}
	result, err := p.Remove(t.Context(), provider.RemoveRequest{Group: "web", Instances: others, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range result.Instances {
		if r.Err == nil || r.Err.Kind != provider.Conflict || !strings.Contains(r.Err.Message, string(r.ID)) {
			t.Errorf("removing %s: %v", r.ID, r.Err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"only-kwok", "only-named", "real", "wrong-value"}, s.names()); diff != "" {
		t.Errorf("nodes left at the end:\n%s", diff)
	}
	for _, n := range s.all() { // what others have put finalizers on is still there while it goes
		if n.DeletionTimestamp != nil {
			t.Errorf("%s is being deleted", n.Name)
		}
	}
	if n := s.count("DELETE"); n != 2 {
		t.Errorf("%d nodes were asked to go, of two that are this provider's", n)
	}
}

// TestTheClustersNodesNameTheirGroups: by the labels of GKE and EKS, and by the
// one that the operator names; groups that differ in those alone are similar.
func TestTheClustersNodesNameTheirGroups(t *testing.T) {
	s := newAPIServer(t)
	s.add(aNode("a", map[string]string{labelGKEPool: "gke"}), aNode("b", map[string]string{labelEKSGroup: "eks"}),
		aNode("c", map[string]string{"team": "blue"}))
	inv, err := newProvider(t, s, Config{GroupLabelKey: "team"}).Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := map[string][]string{}
	for _, g := range inv.Groups {
		own[string(g.ID)] = g.OwnLabels
	}
	if diff := cmp.Diff(
		map[string][]string{"gke-kwok": {labelGKEPool}, "eks-kwok": {labelEKSGroup}, "blue-kwok": {"team"}}, own,
	); diff != "" {
		t.Error(diff)
	}
	path := templatesFile(t, "apiVersion: v1\nkind: Node\nmetadata: {labels: {"+labelGKEPool+": gke, "+labelEKSGroup+
		": eks}}\nstatus: {allocatable: {cpu: \"4\", memory: 16Gi}}\n")
	inv, err = newProvider(t, s, Config{TemplatesPath: path}).Inventory(t.Context())
	if err != nil || len(inv.Groups) != 1 {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{labelGKEPool, labelEKSGroup}, inv.Groups[0].OwnLabels); diff != "" {
		t.Error(diff)
	}
}

// A node that was replaced by another of its name between the read and the
// delete is not deleted.
func TestRemoveDeletesTheNodeThatWasJudged(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	created, err := p.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 1})
	if err != nil {
		t.Fatal(err)
	}
	id := created.Created[0]
	s.setMishap(func(r *http.Request, node *corev1.Node) mishap {
		if r.Method == http.MethodDelete {
			s.add(node) // a new uid
		}
		return mishap{}
	})
	result, err := p.Remove(t.Context(), provider.RemoveRequest{Group: "web", Instances: []provider.InstanceID{id}})
	if err != nil || result.Instances[0].Err == nil || result.Instances[0].Err.Kind != provider.Conflict ||
		result.Target != 1 {
		t.Errorf("Remove: %+v, %v", result, err)
	}
	if len(s.all()) != 1 {
		t.Error("another node of the same name was deleted")
	}
}

func TestANodeOnItsWayOutIsDeletingAndNotCounted(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	held := nodeOf(p.byName["web"], "web-held")
	held.Finalizers = []string{"example.com/hold"}
	s.add(held)
	for range 2 {
		result, err := p.Remove(t.Context(), provider.RemoveRequest{
			Group: "web", Instances: []provider.InstanceID{"web-held"},
		})
		if err != nil || result.Instances[0].Err != nil || result.Target != 0 {
			t.Fatalf("Remove: %+v, %v", result, err)
		}
		if g := groupOf(t, p, "web"); g.Target != 0 || g.Instances[0].State != provider.Deleting {
			t.Errorf("group %+v", g)
		}
	}
	if n := s.count("DELETE"); n != 1 {
		t.Errorf("%d deletes of a node that is on its way out", n)
	}
}

func TestStartAndClose(t *testing.T) {
	s := newAPIServer(t)
	path := templatesFile(t, manyNodes)
	p := newProvider(t, s, Config{TemplatesPath: path})
	s.add(aNode("real", nil), nodeOf(p.byName["web"], "web-adopted"))
	for range 2 { // the second is the start of another process
		if err := newProvider(t, s, Config{TemplatesPath: path}).Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if g := groupOf(t, p, "web"); g.Target != 3 || len(s.all()) != 4 {
			t.Fatalf("target %d and nodes %v, want 3 of the group, the adopted one among them", g.Target, s.names())
		}
	}
	if err := newProvider(t, s, Config{TemplatesPath: path, KeepNodes: true}).Close(t.Context()); err != nil ||
		len(s.all()) != 4 {
		t.Errorf("nodes were to be kept: %v, %v", s.names(), err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"real"}, s.names()); diff != "" {
		t.Errorf("nodes after the end:\n%s", diff)
	}
}

func TestCloseTakesALateCreateToo(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	s.add(nodeOf(p.byName["web"], "web-first"))
	s.setMishap(func(r *http.Request, node *corev1.Node) mishap {
		if r.Method == http.MethodDelete && node != nil && node.Name == "web-first" {
			s.add(nodeOf(p.byName["web"], "web-late"))
		}
		return mishap{}
	})
	if err := p.Close(t.Context()); err != nil || len(s.all()) != 0 {
		t.Errorf("nodes %v, %v", s.names(), err)
	}
}

func TestCloseTellsWhatItCouldNotDelete(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	s.add(nodeOf(p.byName["web"], "web-a"), nodeOf(p.byName["web"], "web-b"))
	s.setMishap(func(r *http.Request, node *corev1.Node) mishap {
		if r.Method == http.MethodDelete && node.Name == "web-a" {
			return mishap{status: apierrors.NewInternalError(errors.New("boom"))}
		}
		return mishap{}
	})
	err := p.Close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "deleted 1 of 2 nodes") || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error %v", err)
	}
}

// Nodes of a group that no template makes any more are reported, and go at the end.
func TestNodesOfAGoneGroup(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	stray := nodeOf(p.byName["web"], "old-bcdfg")
	stray.Annotations[annotationGroup] = "old"
	s.add(stray)
	inv, err := p.Inventory(t.Context())
	if err != nil || len(inv.Groups) != 1 || inv.Groups[0].Target != 0 || len(inv.Notices) != 1 ||
		inv.Notices[0].Code != "GroupGone" || inv.Notices[0].Group != "old" {
		t.Errorf("inventory %+v, %v", inv, err)
	}
	if err := p.Close(t.Context()); err != nil || len(s.all()) != 0 {
		t.Errorf("nodes %v, %v", s.names(), err)
	}
}

// Growths of many groups at once share their reads, and each still sees its
// own earlier write.
func TestManyCallsShareOneList(t *testing.T) {
	var text strings.Builder
	for i := range 90 {
		fmt.Fprintf(&text, "---\n%s", strings.Replace(manyNodes, "name: web", fmt.Sprintf("name: web-%d", i), 1))
	}
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, text.String())})
	p.lister.window = 200 * time.Millisecond // as if all came within a moment, on any machine
	for round := range 2 {
		var wg sync.WaitGroup
		for i := range 90 {
			wg.Go(func() {
				id := provider.GroupID(fmt.Sprintf("web-%d", i))
				if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: id, From: round, To: round + 1}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if lists := s.count("GET /api/v1/nodes"); lists > 20 {
		t.Errorf("180 growths took %d LISTs", lists)
	}
	if len(s.all()) != 180 {
		t.Errorf("%d nodes, want 180", len(s.all()))
	}
}

// Who leaves a shared reading takes nothing away from the others; when all have
// left, the request ends.
func TestLeavingASharedReading(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, manyNodes)})
	p.lister.window = 200 * time.Millisecond
	impatient, leave := context.WithCancel(t.Context())
	leave()
	first := make(chan error, 1)
	go func() {
		_, err := p.Inventory(t.Context())
		first <- err
	}()
	if _, err := p.Inventory(impatient); err == nil {
		t.Error("a caller whose time is up got an inventory")
	}
	if err := <-first; err != nil {
		t.Errorf("the caller that stayed: %v", err)
	}

	held, gone := make(chan struct{}, 1), make(chan struct{})
	s.setMishap(func(r *http.Request, _ *corev1.Node) mishap {
		context.AfterFunc(r.Context(), func() { close(gone) })
		return mishap{hold: true, held: held}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-held
		cancel()
	}()
	if _, err := p.Inventory(ctx); err == nil {
		t.Error("a caller that left got an inventory")
	}
	<-gone // or the test times out: no caller waits, so the request must end
}

func TestWhereTemplatesComeFrom(t *testing.T) {
	const namespace = "autoscaler"
	config := func(text string) *corev1.ConfigMap { return &corev1.ConfigMap{Data: map[string]string{"config": text}} }
	byLabel := "readNodesFrom: configmap\nnodegroups: {fromNodeLabelKey: pool}\nconfigmap: {name: templates}\n"
	templates := &corev1.ConfigMap{
		Data: map[string]string{"templates": strings.Replace(manyNodes, "labels: {", "labels: {pool: blue, ", 1)},
	}
	onlyLabel := &corev1.ConfigMap{Data: map[string]string{"templates": "apiVersion: v1\nkind: Node\nmetadata: {labels: " +
		"{pool: blue}}\nstatus: {allocatable: {cpu: 4, memory: 16Gi}}\n"}}

	for name, c := range map[string]struct {
		file      string
		maps      map[string]*corev1.ConfigMap
		configMap string
		labelKey  string
		want      []string
		wantTaint bool
		wantErr   string
	}{
		"the file before all else": {file: manyNodes, maps: map[string]*corev1.ConfigMap{"kwok-provider-config": config("nonsense")}, want: []string{"web"}},
		"the ConfigMap before the cluster": {
			maps: map[string]*corev1.ConfigMap{"kwok-provider-config": config(byLabel), "templates": onlyLabel},
			want: []string{"blue"}, wantTaint: true,
		},
		"a ConfigMap of another name": {
			configMap: "mine", maps: map[string]*corev1.ConfigMap{"mine": config(byLabel), "templates": templates},
			want: []string{"web"}, wantTaint: true,
		},
		"the ConfigMap that reads the cluster": {maps: map[string]*corev1.ConfigMap{"kwok-provider-config": config(
			"readNodesFrom: cluster\nnodegroups: {fromNodeLabelKey: rack}\nnodes: {skipTaint: true}\n",
		)},
			want: []string{"r1"}},
		"the cluster":                         {want: []string{"drawn"}},
		"the cluster by a label":              {labelKey: "rack", want: []string{"r1-kwok"}},
		"a label that is not there":           {labelKey: "rak", wantErr: `no node has the label "rak" by which groups are to be named; the keys that do exist are kubernetes.io/hostname, kubernetes.io/os, rack`},
		"a named ConfigMap that is not there": {configMap: "mine", wantErr: `ConfigMap autoscaler/mine (named by KWOK_PROVIDER_CONFIGMAP`},
		"no templates ConfigMap":              {maps: map[string]*corev1.ConfigMap{"kwok-provider-config": config(byLabel)}, wantErr: "read the templates' ConfigMap autoscaler/templates"},
		"no config in the ConfigMap":          {maps: map[string]*corev1.ConfigMap{"kwok-provider-config": {}}, wantErr: "ConfigMap autoscaler/kwok-provider-config: data.config: missing"},
		"no templates in the ConfigMap":       {maps: map[string]*corev1.ConfigMap{"kwok-provider-config": config(byLabel), "templates": {}}, wantErr: "ConfigMap autoscaler/templates: data.templates: missing"},
		"a bad file":                          {file: "kind: Node", wantErr: "document 1: apiVersion and kind must both be set"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.add(aNode("worker", map[string]string{"rack": "r1"}))
			for name, cm := range c.maps {
				cm = cm.DeepCopy()
				cm.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
				s.put("ConfigMap", cm)
			}
			cfg := Config{Namespace: namespace, ConfigMapName: c.configMap, GroupLabelKey: c.labelKey}
			if c.file != "" {
				cfg.TemplatesPath = templatesFile(t, c.file)
			}
			client, meta := s.clients(t)
			p, err := New(t.Context(), client, meta, cfg, slog.New(slog.DiscardHandler))
			if n := s.count("POST") + s.count("DELETE") + s.count("PUT") + s.count("PATCH"); n > 0 {
				t.Errorf("making the provider wrote %d times", n)
			}
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("error %v\nwant %s", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, g := range p.groups {
				if drawn.MatchString(g.name) {
					names = append(names, "drawn")
					continue
				}
				names = append(names, g.name)
				if tainted := len(g.node.Spec.Taints) > 0; tainted != c.wantTaint {
					t.Errorf("group %s: taints %v", g.name, g.node.Spec.Taints)
				}
			}
			if diff := cmp.Diff(c.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An error names the variable that names the ConfigMap only where one does.
func TestAnErrorNamesTheVariableOfTheConfigMap(t *testing.T) {
	s := newAPIServer(t)
	s.url = "http://127.0.0.1:1" // where nothing listens
	client, meta := s.clients(t)
	for named, want := range map[string]string{
		"":     "read the ConfigMap autoscaler/kwok-provider-config: ",
		"mine": "read the ConfigMap autoscaler/mine (named by KWOK_PROVIDER_CONFIGMAP): ",
	} {
		cfg := Config{Namespace: faultNamespace, ConfigMapName: named}
		_, err := New(t.Context(), client, meta, cfg, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "POD_NAMESPACE") ||
			!strings.Contains(err.Error(), "connection refused; is that the address of the API server") {
			t.Errorf("%q: %v, want %s", named, err, want)
		}
	}
}

func TestConfigFromEnv(t *testing.T) {
	env := map[string]string{
		"KWOK_TEMPLATES_PATH": "/t", "POD_NAMESPACE": "ns", "KWOK_PROVIDER_CONFIGMAP": "cm", "KWOK_GROUP_LABEL_KEY": "rack",
	}
	want := Config{TemplatesPath: "/t", Namespace: "ns", ConfigMapName: "cm", GroupLabelKey: "rack"}
	if got := ConfigFromEnv(func(k string) string { return env[k] }); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	s := newAPIServer(t)
	client, meta := s.clients(t)
	path := t.TempDir() + "/none.yaml"
	_, err := New(t.Context(), client, meta, Config{TemplatesPath: path}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "KWOK_TEMPLATES_PATH") {
		t.Errorf("error %v", err)
	}
}
