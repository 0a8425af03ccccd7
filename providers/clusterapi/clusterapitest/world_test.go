package clusterapitest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// clock is one that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// ask sends a request and reads the answer.
func ask(t *testing.T, method, url, body string) (int, kubetest.Object) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	o, err := kubetest.Decode(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer.StatusCode, o
}

func names(objects []kubetest.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, kubetest.Text(o, "metadata", "name"))
	}
	return out
}

const base = "/apis/cluster.x-k8s.io/v1beta2/namespaces/n/"

func TestVersionsAndConflicts(t *testing.T) {
	w := New(time.Now)
	w.Apply(NewGroup("MachineDeployment", "n", "d", "c", 2))
	url := kubetest.Serve(t, w) + base + "machinedeployments/d"
	_, d := ask(t, "GET", url, "")
	version := kubetest.Text(d, "metadata", "resourceVersion")
	scale := func(version string, n int) (int, kubetest.Object) {
		return ask(t, "PUT", url+"/scale",
			fmt.Sprintf(`{"metadata": {"name": "d", "resourceVersion": %q}, "spec": {"replicas": %d}}`, version, n))
	}
	if code, o := scale(version, 4); code != 200 || kubetest.Int(o, "spec", "replicas") != 4 {
		t.Fatalf("%d %v", code, o)
	}
	if code, _ := scale(version, 5); code != 409 {
		t.Errorf("a write of an old version: %d", code)
	}
	if code, _ := scale("", 0); code != 200 {
		t.Errorf("a write of no version: %d", code)
	}
	if code, o := ask(t, "GET", url+"/scale", ""); code != 200 || kubetest.Get(o, "spec", "replicas") != nil {
		t.Errorf("zero replicas show as %v, and the type leaves them out", kubetest.Get(o, "spec", "replicas"))
	}
	if code, _ := ask(t, "PATCH", url+"/scale", `{"spec": {"replicas": 3}}`); code != 200 {
		t.Errorf("a patch: %d", code)
	}
	_, again := ask(t, "GET", url, "")
	if kubetest.Int(again, "spec", "replicas") != 3 || kubetest.Int(again, "metadata", "generation") != 4 ||
		kubetest.Int(again, "status", "observedGeneration") != 4 {
		t.Errorf("%v", again)
	}
	for path, want := range map[string]int{
		"machinedeployments/none": 404, "machinedeployments/d/nothing": 404, "machines/d/scale": 404, "nothings": 404,
	} {
		if code, o := ask(t, "GET", strings.TrimSuffix(url, "machinedeployments/d")+path, ""); code != want ||
			kubetest.Text(o, "kind") != "Status" {
			t.Errorf("%s: %d %v", path, code, o)
		}
	}
}

// The order in which Machines go: those on their way out are counted first,
// marked ones next, then those without a node.
func TestWhoGoes(t *testing.T) {
	c := &clock{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	w := New(c.now)
	w.Apply(NewGroup("MachineSet", "n", "s", "c", 4))
	w.Settle()
	w.SetTiming(Timing{Boot: time.Minute, End: time.Minute})
	all := names(w.Machines("MachineSet", "n", "s"))
	scale := func(n int) {
		if err := w.Edit("MachineSet", "n", "s", func(o kubetest.Object) {
			kubetest.Set(o, int64(n), "spec", "replicas")
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Edit("Machine", "n", all[3], func(o kubetest.Object) {
		kubetest.Set(o, "yes", "metadata", "annotations", DeleteMachine)
	}); err != nil {
		t.Fatal(err)
	}
	scale(5) // the fifth has no node yet
	fresh := names(w.Machines("MachineSet", "n", "s"))[4]
	deleting := func() []string {
		var out []string
		for _, m := range w.Machines("MachineSet", "n", "s") {
			if kubetest.Text(m, "metadata", "deletionTimestamp") != "" {
				out = append(out, kubetest.Text(m, "metadata", "name"))
			}
		}
		return out
	}
	scale(4)
	if got := deleting(); !slices.Equal(got, []string{all[3]}) {
		t.Errorf("of %v the marked %s was to go, and %v did", all, all[3], got)
	}
	scale(4) // which changes nothing: the one on its way out is counted
	if got := deleting(); len(got) != 1 {
		t.Errorf("%v go", got)
	}
	scale(3)
	if got := deleting(); !slices.Contains(got, fresh) || len(got) != 2 {
		t.Errorf("%s, which has no node, was to go next: %v", fresh, got)
	}
	c.at = c.at.Add(2 * time.Minute)
	if got := names(w.Machines("MachineSet", "n", "s")); !slices.Equal(got, all[:3]) {
		t.Errorf("%v are left of %v", got, all)
	}
}

func TestMachinesGetTheirNodesAfterAWhile(t *testing.T) {
	c := &clock{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	w := New(c.now)
	w.SetTiming(Timing{Observe: time.Second, Boot: time.Minute})
	w.Apply(NewGroup("MachineDeployment", "n", "d", "c", 1))
	if got := w.Machines("MachineDeployment", "n", "d"); len(got) != 0 {
		t.Fatalf("at once: %v", got)
	}
	c.at = c.at.Add(time.Second)
	got := w.Machines("MachineDeployment", "n", "d")
	for range 3 { // a change is seen a second after it
		c.at = c.at.Add(time.Second)
		got = w.Machines("MachineDeployment", "n", "d")
	}
	if len(got) != 1 || kubetest.Text(got[0], "status", "nodeRef", "name") != "" {
		t.Fatalf("after some seconds: %v", got)
	}
	c.at = c.at.Add(time.Minute)
	if got = w.Machines("MachineDeployment", "n", "d"); kubetest.Text(got[0], "status", "nodeRef", "name") == "" ||
		kubetest.Text(got[0], "spec", "providerID") == "" {
		t.Errorf("after a minute: %v", got)
	}
}

// v1beta1 shows the same object in its own words.
func TestConversion(t *testing.T) {
	w := New(time.Now, "v1beta1", "v1beta2")
	w.Apply(NewGroup("MachineSet", "n", "s", "c", 1))
	w.Settle()
	name := names(w.List("Machine"))[0]
	if err := w.Edit("Machine", "n", name, func(o kubetest.Object) {
		kubetest.Set(o, "CreateError", "status", "deprecated", "v1beta1", "failureReason")
		kubetest.Set(o, []any{kubetest.Object{"type": "Ready"}}, "status", "conditions")
	}); err != nil {
		t.Fatal(err)
	}
	url := kubetest.Serve(t, w)
	_, old := ask(t, "GET", url+"/apis/cluster.x-k8s.io/v1beta1/namespaces/n/machines/"+name, "")
	if kubetest.Text(old, "status", "failureReason") != "CreateError" || kubetest.Get(old, "status", "v1beta2",
		"conditions") == nil || kubetest.Text(old, "status", "nodeRef", "kind") != "Node" ||
		kubetest.Text(old, "spec", "infrastructureRef", "apiVersion") == "" ||
		kubetest.Text(old, "apiVersion") != "cluster.x-k8s.io/v1beta1" {
		t.Errorf("%v", old)
	}
	_, now := ask(t, "GET", url+base+"machines/"+name, "")
	if kubetest.Text(now, "status", "deprecated", "v1beta1", "failureReason") != "CreateError" ||
		kubetest.Text(now, "spec", "infrastructureRef", "apiGroup") == "" {
		t.Errorf("%v", now)
	}
	// What is written in one version is there in the other, and loses nothing.
	kubetest.Set(old, "x", "metadata", "annotations", "a")
	body, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	if code, o := ask(
		t, "PUT", url+"/apis/cluster.x-k8s.io/v1beta1/namespaces/n/machines/"+name, string(body),
	); code != 200 {
		t.Fatalf("%d %v", code, o)
	}
	_, now = ask(t, "GET", url+base+"machines/"+name, "")
	if kubetest.Text(now, "metadata", "annotations", "a") != "x" ||
		kubetest.Text(now, "status", "deprecated", "v1beta1", "failureReason") != "CreateError" {
		t.Errorf("%v", now)
	}
}

func TestRights(t *testing.T) {
	w := New(time.Now)
	w.Apply(NewGroup("MachineDeployment", "n", "d", "c", 1), NewGroup("MachineSet", "n", "s", "c", 1))
	w.SetRights(ChartRights("n")...)
	url := kubetest.Serve(t, w)
	for path, want := range map[string]int{
		"/namespaces/n/machinedeployments": 200, "/machinedeployments": 403, "/namespaces/m/machinedeployments": 403,
		"/namespaces/n/clusters/c":                 403,
		"/namespaces/n/machinedeployments/d/scale": 200, "/namespaces/n/machinesets/s/scale": 403,
	} {
		if code, o := ask(t, "GET", url+"/apis/cluster.x-k8s.io/v1beta2"+path, ""); code != want {
			t.Errorf("%s: %d %v", path, code, o)
		}
	}
	if code, _ := ask(t, "DELETE", url+base+"machinedeployments/d", ""); code != 403 {
		t.Errorf("a deletion: %d", code)
	}
}

func TestWatch(t *testing.T) {
	w := New(time.Now)
	w.SetTiming(Timing{Observe: time.Hour})
	w.Apply(NewGroup("MachineSet", "n", "s", "c", 0))
	url := kubetest.Serve(t, w)
	_, list := ask(t, "GET", url+base+"machinesets?limit=1", "")
	r, err := http.NewRequestWithContext(t.Context(), "GET",
		url+base+"machinesets?watch=1&resourceVersion="+kubetest.Text(list, "metadata", "resourceVersion"), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	w.Apply(NewGroup("MachineSet", "elsewhere", "s", "c", 0))
	if err := w.Edit("MachineSet", "n", "s", func(o kubetest.Object) {
		kubetest.Set(o, int64(0), "status", "replicas")
	}); err != nil {
		t.Fatal(err)
	}
	w.Drop("MachineSet", "n", "s")
	lines := bufio.NewScanner(answer.Body)
	for _, want := range []string{"MODIFIED", "DELETED"} {
		var e kubetest.Object
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &e) != nil || kubetest.Text(e, "type") != want ||
			kubetest.Text(e, "object", "metadata", "namespace") != "n" {
			t.Errorf("%s, want %s", lines.Text(), want)
		}
	}
}

func TestDiscovery(t *testing.T) {
	w := New(time.Now, "v1beta2", "v1beta1")
	w.Serve(Templates())
	url := kubetest.Serve(t, w)
	_, group := ask(t, "GET", url+"/apis/cluster.x-k8s.io", "")
	if kubetest.Text(group, "preferredVersion", "version") != "v1beta2" ||
		len(kubetest.Get(group, "versions").([]any)) != 2 {
		t.Errorf("%v", group)
	}
	_, kinds := ask(t, "GET", url+"/apis/infrastructure.cluster.x-k8s.io/v1beta1", "")
	if first := kubetest.Get(kinds, "resources").([]any)[0].(kubetest.Object); first["name"] != "testmachinetemplates" ||
		first["kind"] != "TestMachineTemplate" {
		t.Errorf("%v", kinds)
	}
	if _, all := ask(t, "GET", url+"/apis", ""); len(kubetest.Get(all, "groups").([]any)) != 2 {
		t.Errorf("%v", all)
	}
	if code, _ := ask(t, "GET", url+"/apis/nothing.example.com", ""); code != 404 {
		t.Errorf("of an unknown group: %d", code)
	}
}
