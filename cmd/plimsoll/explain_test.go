package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// explained runs plimsoll explain.
func explained(t *testing.T, args ...string) (out, told string, code int) {
	t.Helper()
	cmd := root()
	var o, e bytes.Buffer
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SetArgs(append([]string{"explain"}, args...))
	code = exitCode(cmd.ExecuteContext(t.Context()), &e)
	return o.String(), e.String(), code
}

// TestExplainAsksTheLeader: the leader answers where it can, and its word is final where it knows of no such thing.
// Otherwise the cluster is read, and one line says so: what if, no leader, a leader that answers nothing useful.
func TestExplainAsksTheLeader(t *testing.T) {
	status := http.StatusOK
	var asked []string
	leader := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.WriteHeader(status)
		var answer any = explain.Group{APIVersion: explain.APIVersion, Kind: "Group", Group: "theirs", Time: time.Now()}
		if status != http.StatusOK {
			answer = ui.Failure{Kind: "Failure", Message: "it does not lead"}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer leader.Close()

	c := testkit.New()
	n := testkit.Node("g-1", "4", "16Gi", map[string]string{"node-pool": "g"})
	c.AddNode(n, "")
	cluster := serveObjects(t, c.Objects(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "none"}})
	live := []string{"group", "g", "--kubernetes=" + cluster, "--kube-api-content-type=application/json"}
	for _, x := range []struct {
		name       string
		status     int
		args       []string
		out, told  string
		code, asks int
	}{
		{"the leader", 200, []string{"group", "g", "--url=" + leader.URL}, "Group theirs", "note: this is the leader's answer", 0, 1},
		{"it knows none", 404, []string{"group", "g", "--url=" + leader.URL}, "", "the leader says that it does not lead", 1, 1},
		{"a name that is given has to answer", 503, []string{"group", "g", "--url=" + leader.URL}, "", "the leader says", 1, 1},
		{"what if", 200, append(live, "--max-nodes-total=5"), "Group g", "flags say what it should decide by", 0, 0},
		{"what if, of the leader", 200, []string{"group", "g", "--url=" + leader.URL, "--max-nodes-total=5"}, "",
			"does not answer what if", 2, 0},
		{"a file, of the leader", 200, []string{"group", "g", "--url=" + leader.URL, "-f", "x"}, "", "give one of them", 2, 0},
		{"no lease", 200, live, "Group g", "note: the leader cannot be asked, and the cluster is read: there is no lease", 0, 0},
	} {
		status, asked = x.status, nil
		out, told, code := explained(t, x.args...)
		if !strings.HasPrefix(out, x.out) || x.out == "" && out != "" || !strings.Contains(told, x.told) || code != x.code ||
			len(asked) != x.asks {
			t.Errorf("%s: exit %d, asked %v\n%s%s", x.name, code, asked, out, told)
		}
	}
}

// TestSinceIsFromTheStatus: where the leader cannot be asked, its status says since when an answer is the same.
// One decision does not know.
func TestSinceIsFromTheStatus(t *testing.T) {
	c := testkit.New()
	c.AddNode(testkit.Node("g-1", "4", "16Gi", map[string]string{"node-pool": "g"}), "")
	c.Pending(testkit.Pod("shop", "huge", "6", "1Gi", nil), 1)
	cycle, err := ask.Decide(c.Observation(), model.Memory{}, testkit.Policy())
	if err != nil {
		t.Fatal(err)
	}
	name := cycle.Snapshot.Pending[0].Pods[0].Name
	digest := cycle.Snapshot.Classes[cycle.Plan.Pending[0].Class].Digest()
	for reason, want := range map[model.Reason]string{
		model.InsufficientResources: "Same verdict since 2026-01-02 03:04:05Z", model.GroupAtMax: "\nhttps://",
	} {
		said := status.Document{AutoscalerStatus: "Running", Pending: status.Pending{List: []status.PendingClass{
			{Class: digest, Reason: reason, Since: metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}}}
		text, err := said.Text()
		if err != nil {
			t.Fatal(err)
		}
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-autoscaler-status"}}
		status.Put(m, text, "", "")
		url := serveObjects(t, c.Objects(), m)
		out, told, code := explained(t, "pod", "shop/"+name, "--kubernetes="+url,
			"--kube-api-content-type=application/json")
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("the status says %s: exit %d\n%s%s", reason, code, out, told)
		}
	}
}
