package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// The clusters in docs/examples, on which the README's first command works.
var examples = map[string]func() *example{
	"shop/cluster.yaml": shop, "gpu/cluster.yaml": gpus, "large/cluster.json.gz": large,
}

// TestExamples: the files are what the functions below make. `go test ./cmd/plimsoll -run Examples -rewrite`
// writes them.
func TestExamples(t *testing.T) {
	for name, made := range examples {
		file := filepath.Join("..", "..", "docs", "examples", filepath.FromSlash(name))
		c := made().cluster()
		if rewriting() {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := writeCluster(t.Context(), c, file, nil); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, 0o644); err != nil { //nolint:gosec // an example is for everybody
				t.Fatal(err)
			}
		}
		plain, packed := strings.CutSuffix(name, ".gz")
		form := clusterfile.YAML
		if filepath.Ext(plain) == ".json" {
			form = clusterfile.JSON
		}
		var want bytes.Buffer
		if err := clusterfile.Write(&want, c, form); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err == nil && packed {
			got, err = unpacked(got)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Errorf("%s is stale; go test ./cmd/plimsoll -run Examples -rewrite writes it:\n%.2000s", file, diff)
		}
	}
}

func unpacked(text []byte) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}

// example is a cluster that is made by a few lines.
type example struct {
	*testkit.Cluster
	unneeded map[string]time.Time
	agent    *corev1.Pod
	agentUID string
}

func newExample() *example {
	e := &example{Cluster: testkit.New(), unneeded: map[string]time.Time{}}
	e.agent = testkit.Pod("kube-system", "log-agent", "100m", "200Mi", map[string]string{"app": "log-agent"})
	e.agentUID = string(e.DaemonSet("log-agent", e.agent))
	e.agent.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "log-agent",
		UID: types.UID(e.agentUID), Controller: new(true)}}
	for _, name := range []string{"kube-system", "shop", "ml"} {
		e.Namespaces[name] = map[string]string{corev1.LabelMetadataName: name}
	}
	return e
}

// shape is a kind of machine.
type shape struct {
	kind, cpu, memory string
	price             float64
	gpus              string
	taints            []corev1.Taint
}

func (e *example) node(name, zone string, s shape) *corev1.Node {
	n := testkit.Node(name, s.cpu, s.memory, map[string]string{
		corev1.LabelTopologyZone: zone, corev1.LabelInstanceTypeStable: s.kind, corev1.LabelArchStable: "amd64",
	}, s.taints...)
	if s.gpus != "" {
		n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse(s.gpus)
	}
	return n
}

// group adds a group with nodes that are all alike and a week old.
func (e *example) group(id, zone string, limits [2]int, s shape, nodes int) (names []string) {
	g := e.Group(id, limits[0], limits[1], e.node("", zone, s))
	g.PricePerHour = &s.price
	for i := range nodes {
		n := e.node(fmt.Sprintf("%s-%d", id, i+1), zone, s)
		n.CreationTimestamp.Time = e.Now.Add(-7 * 24 * time.Hour)
		e.AddNode(n, id)
		e.agent.CreationTimestamp = n.CreationTimestamp
		e.BoundAs(e.agent, 1, n.Name, model.FromDaemonSet, types.UID(e.agentUID))
		names = append(names, n.Name)
	}
	return names
}

// Bound adds pods that have run for two days.
func (e *example) Bound(like *corev1.Pod, count int, node string) {
	like.CreationTimestamp.Time = e.Now.Add(-48 * time.Hour)
	e.Cluster.Bound(like, count, node)
}

// waiting adds pods that have waited for so long.
func (e *example) waiting(like *corev1.Pod, count int, since time.Duration) {
	like.CreationTimestamp.Time = e.Now.Add(-since)
	e.Pending(like, count)
}

func app(namespace, name, cpu, memory string) *corev1.Pod {
	return testkit.Pod(namespace, name, cpu, memory, map[string]string{"app": name})
}

func (e *example) cluster() *clusterfile.Cluster {
	inventory := e.Inventory()
	c := &clusterfile.Cluster{
		Time: e.Now, Version: "example", Inventory: &inventory,
		Memory: model.Memory{Written: e.Now.Add(-10 * time.Second), Unneeded: e.unneeded},
	}
	for _, k := range observe.Kinds() {
		c.Listed = append(c.Listed, k.Resource)
	}
	for _, obj := range e.Objects() {
		if cut := observe.Cut(obj); cut != nil {
			c.Objects = append(c.Objects, cut)
		}
	}
	return c
}

// shop is a small web shop in three zones: a sale begins, a report is too large for every node, and one node
// is not needed any more.
func shop() *example {
	e := newExample()
	general := shape{kind: "general-4", cpu: "3920m", memory: "15Gi", price: 0.20}
	web, api := app("shop", "web", "500m", "1Gi"), app("shop", "api", "900m", "2Gi")
	testkit.SpreadOver(api, corev1.LabelTopologyZone, 1, map[string]string{"app": "api"})
	for _, zone := range []string{"a", "b", "c"} {
		for _, node := range e.group("general-"+zone, "zone-"+zone, [2]int{1, 4}, general, 1) {
			e.Bound(web, 2, node)
			e.Bound(api, 2, node)
		}
	}
	// Two databases, each with a node of its own, and a node whose pods have gone.
	memory := e.group("memory", "zone-a", [2]int{0, 3}, shape{kind: "memory-4", cpu: "3920m", memory: "30Gi", price: 0.27,
		taints: []corev1.Taint{{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}}}, 3)
	db := app("shop", "db", "3", "24Gi")
	db.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	e.Bound(db, 1, memory[0])
	e.Bound(db, 1, memory[1])
	e.unneeded[memory[2]] = e.Now.Add(-time.Hour)
	// The sale.
	e.waiting(api, 18, 40*time.Second)
	e.waiting(web, 10, 40*time.Second)
	// 12 cores on a node that has not four.
	e.waiting(app("shop", "report", "12", "8Gi"), 1, 26*time.Minute)
	return e
}

// gpus is a cluster for training and inference: the trainers' group is at its maximum.
func gpus() *example {
	e := newExample()
	gpu := []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}
	general := shape{kind: "general-8", cpu: "7910m", memory: "30Gi", price: 0.40}
	for _, node := range e.group("system", "zone-a", [2]int{2, 5}, general, 2) {
		e.Bound(app("ml", "queue", "2", "4Gi"), 2, node)
	}
	on := func(p *corev1.Pod, n string) *corev1.Pod {
		p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse(n)
		p.Spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
		return p
	}
	train := on(app("ml", "train", "90", "900Gi"), "8")
	for _, node := range e.group("big-gpu", "zone-b", [2]int{0, 4},
		shape{kind: "gpu-8", cpu: "95", memory: "1100Gi", price: 32.77, gpus: "8", taints: gpu}, 3) {
		e.Bound(train, 1, node)
	}
	infer := on(app("ml", "infer", "3", "12Gi"), "1")
	for _, node := range e.group("small-gpu", "zone-a", [2]int{0, 20},
		shape{kind: "gpu-1", cpu: "7910m", memory: "30Gi", price: 0.98, gpus: "1", taints: gpu}, 4) {
		e.Bound(infer, 1, node)
	}
	e.waiting(train, 3, 9*time.Minute)
	e.waiting(infer, 5, 30*time.Second)
	forgotten := on(app("ml", "notebook", "2", "8Gi"), "1")
	forgotten.Spec.Tolerations = nil
	e.waiting(forgotten, 2, 3*time.Hour)
	return e
}

// large has 500 nodes in nine groups over three zones, some of them hardly used, and 1,200 pods that wait.
func large() *example {
	e := newExample()
	kinds := []shape{
		{kind: "general-16", cpu: "15890m", memory: "60Gi", price: 0.80},
		{kind: "compute-16", cpu: "15890m", memory: "29Gi", price: 0.68},
		{kind: "memory-16", cpu: "15890m", memory: "122Gi", price: 1.06},
	}
	sizes := [][2]string{{"250m", "512Mi"}, {"500m", "2Gi"}, {"1", "1Gi"}, {"1500m", "6Gi"}, {"2", "16Gi"}}
	service := func(i int) *corev1.Pod {
		size := sizes[i%len(sizes)]
		return app("shop", fmt.Sprintf("service-%02d", i), size[0], size[1])
	}
	for g := range 9 {
		kind, zone := kinds[g/3], string(rune('a'+g%3))
		names := e.group(strings.TrimSuffix(kind.kind, "-16")+"-"+zone, "zone-"+zone, [2]int{1, 80}, kind, 55+(g+5)/9)
		for i, node := range names {
			most := 40
			if i%9 == 0 {
				most = 2 // hardly used
				e.unneeded[node] = e.Now.Add(-time.Duration(i) * time.Minute)
			}
			left := model.ResourcesOf(e.node("", "", kind).Status.Allocatable)
			left = left.Plus(model.ResourcesOf(e.agent.Spec.Containers[0].Resources.Requests), -1)
			for j := range most {
				p := service((i*7 + j*3 + g) % 60)
				then := left.Plus(model.ResourcesOf(p.Spec.Containers[0].Resources.Requests), -1)
				if then.MilliCPU >= 0 && then.Memory >= 0 {
					left = then
					e.Bound(p, 1, node)
				}
			}
		}
	}
	for i := range 8 {
		p := service(60 + i)
		if i%2 == 0 {
			testkit.SpreadOver(p, corev1.LabelTopologyZone, 1, map[string]string{"app": p.Name})
		}
		e.waiting(p, 150, time.Minute)
	}
	return e
}
