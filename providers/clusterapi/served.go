package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

const (
	// servedFor is how long it is believed what the API server serves. An
	// upgrade of Cluster API that ends a version is noticed by the first call
	// that it refuses.
	servedFor = 10 * time.Minute
	// askAgain is the least time between two questions about an API group that
	// did not have what was looked for.
	askAgain = time.Minute
)

// knownVersions of the Cluster API are those that are read here, the best first.
var knownVersions = []string{"v1beta2", "v1beta1"}

// apiGroup is what the API server says of one of its groups: its versions, the
// preferred one first, and the resource of each kind in each version.
type apiGroup struct {
	versions  []string
	resources map[string]map[string]metav1.APIResource // by version and kind
	asked     time.Time
}

func (g apiGroup) find(version, kind string) (metav1.APIResource, bool) {
	r, ok := g.resources[version][kind]
	return r, ok
}

// directory knows what the API server serves. It asks about one API group at a
// time, with the caller's deadline, and never about all of them: an aggregated
// API that is down somewhere else is no reason to know nothing.
type directory struct {
	client *discovery.DiscoveryClient
	now    func() time.Time

	mu     sync.Mutex
	groups map[string]apiGroup
}

func newDirectory(client *discovery.DiscoveryClient, now func() time.Time) *directory {
	return &directory{client: client, now: now, groups: map[string]apiGroup{}}
}

// group is what is known of an API group, not older than maxAge.
func (d *directory) group(ctx context.Context, name string, maxAge time.Duration) (apiGroup, error) {
	d.mu.Lock()
	known, ok := d.groups[name]
	d.mu.Unlock()
	if ok && d.now().Sub(known.asked) < maxAge {
		return known, nil
	}
	fresh, err := d.ask(ctx, name)
	if err != nil {
		return apiGroup{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups[name] = fresh
	return fresh, nil
}

func (d *directory) ask(ctx context.Context, name string) (apiGroup, error) {
	out := apiGroup{asked: d.now(), resources: map[string]map[string]metav1.APIResource{}}
	var answer metav1.APIGroup
	if err := d.client.RESTClient().Get().AbsPath("/apis/" + name).Do(ctx).Into(&answer); err != nil {
		return out, fmt.Errorf("ask for the versions of the API group %s: %w", name, err)
	}
	if len(answer.Versions) == 0 {
		return out, fmt.Errorf("ask for the versions of the API group %s: the answer has none", name)
	}
	out.versions = []string{answer.PreferredVersion.Version}
	for _, v := range answer.Versions {
		if v.Version != answer.PreferredVersion.Version {
			out.versions = append(out.versions, v.Version)
		}
	}
	for _, v := range out.versions {
		list, err := d.client.ServerResourcesForGroupVersionWithContext(ctx, name+"/"+v)
		if err != nil {
			return out, fmt.Errorf("ask for the resources of %s/%s: %w", name, v, err)
		}
		out.resources[v] = map[string]metav1.APIResource{}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				out.resources[v][r.Kind] = r
			}
		}
	}
	return out, nil
}

// forget makes the next question about an API group a real one.
func (d *directory) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.groups, name)
}

// resource finds what serves a kind: in the version that is wished for, if it
// has the kind, else in the first that has it. The plural is the API server's.
func (d *directory) resource(ctx context.Context, ref reference) (schema.GroupVersionResource, bool, error) {
	// What was learned is enough if it has the kind; if not, the kind may be
	// new.
	for _, maxAge := range []time.Duration{servedFor, askAgain} {
		g, err := d.group(ctx, ref.group, maxAge)
		if err != nil {
			return schema.GroupVersionResource{}, false, err
		}
		for _, version := range slices.Concat([]string{ref.version}, g.versions) {
			if r, ok := g.find(version, ref.kind); ok {
				return schema.GroupVersionResource{Group: ref.group, Version: version, Resource: r.Name}, r.Namespaced, nil
			}
		}
	}
	return schema.GroupVersionResource{}, false, fmt.Errorf("find the kind %s in the API group %s: %w",
		ref.kind, ref.group, kube.ErrNotServed)
}

// kinds are the resources of the Cluster API, in the one version that is read.
type kinds struct {
	version   string
	resources map[kind]schema.GroupVersionResource
}

func (k kinds) has(what kind) bool { _, ok := k.resources[what]; return ok }

// kinds says which version is read, and what it has.
func (d *directory) kinds(ctx context.Context, s settings) (kinds, error) {
	g, err := d.group(ctx, s.keys.group, servedFor)
	if err != nil {
		return kinds{}, err
	}
	version, err := chooseVersion(g.versions, s.version)
	if err != nil {
		return kinds{}, fmt.Errorf("the API group %s: %w", s.keys.group, err)
	}
	out := kinds{version: version, resources: map[kind]schema.GroupVersionResource{}}
	for _, what := range []kind{machineDeployment, machineSet, machinePool, machineKind, clusterKind} {
		if r, ok := g.find(version, string(what)); ok {
			out.resources[what] = schema.GroupVersionResource{Group: s.keys.group, Version: version, Resource: r.Name}
		}
	}
	for _, what := range []kind{machineSet, machineKind} {
		if !out.has(what) {
			return kinds{}, fmt.Errorf("find %s in %s/%s: %w; is Cluster API installed in the management cluster?",
				what, s.keys.group, version, kube.ErrNotServed)
		}
	}
	return out, nil
}

// chooseVersion takes the one that the operator wants, else the best that is
// known here.
func chooseVersion(served []string, wanted string) (string, error) {
	if wanted != "" {
		if slices.Contains(served, wanted) {
			return wanted, nil
		}
		return "", fmt.Errorf("CAPI_VERSION wants %s, and %s is served", wanted, strings.Join(served, ", "))
	}
	for _, v := range knownVersions {
		if slices.Contains(served, v) {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s is served, and only %s is understood; CAPI_VERSION can force one",
		strings.Join(served, ", "), strings.Join(knownVersions, ", "))
}
