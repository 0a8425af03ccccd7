package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

const (
	observeAccount = "plimsoll-observe" // its roles, its lease and its process have the same name
	observeStatus  = "plimsoll-observe-status"
	observeDocs    = "../../docs/observe.md"
	observeWithin  = 3 * time.Minute
)

// TestObserve runs an observer under the rights that docs/observe.md gives, and no
// other ones, first alone, then beside a Plimsoll that acts. It tells each growth and
// removal once, sees that the other one does what it would have done, and the API
// server's audit log has no write of it but those of its lease and its status.
func TestObserve(t *testing.T) {
	t.Parallel() // on a control plane of its own
	o := startObserving(t)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()

	// 1. Alone: pods wait for two nodes. That is one growth, however often it looks.
	o.launch(t, observeAccount, o.kubeconfig(t), "--mode=observe", "--scale-down-unneeded-time=1s")
	web, err := os.ReadFile("testdata/observe/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.rig.plane.Create(ctx, web); err != nil {
		t.Fatal(err)
	}
	o.holds(t, map[string]float64{
		`plimsoll_shadow_calls_total{verb="Grow"}`: 1, `plimsoll_shadow_bought_nodes_total{node_group="web"}`: 2,
		`plimsoll_shadow_wanted_nodes{node_group="web"}`: 2, `plimsoll_shadow_waiting_pods{node_group="web"}`: 16,
	})
	o.looks(t, 3)
	o.holds(t, map[string]float64{
		`plimsoll_shadow_calls_total{verb="Grow"}`: 1, `plimsoll_shadow_bought_nodes_total{node_group="web"}`: 2,
		`cluster_autoscaler_scaled_up_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name=""}`: 0,
	})
	if n := len(o.rig.nodesOf("")); n != 0 {
		t.Errorf("%d nodes are there, and none was bought", n)
	}

	// 2. Another one acts, at the same time, on a lease of its own.
	o.launch(t, "acting", o.rig.plane.PlimsollKubeconfig(), "--scale-down-unneeded-time=4s",
		"--scale-down-delay-after-add=1s", "--node-delete-delay-after-taint=0s")
	o.holds(t, map[string]float64{
		`plimsoll_shadow_others_bought_nodes_total{here="wanted",node_group="web"}`: 2,
		`plimsoll_shadow_wanted_nodes{node_group="web"}`:                            0,
		`plimsoll_shadow_calls_total{verb="Grow"}`:                                  1,
		`cluster_autoscaler_nodes_count{state="ready"}`:                             2,
	})

	// 3. Nothing needs the nodes any more.
	scale := []byte(`{"spec":{"replicas":0}}`)
	if _, err := o.rig.plane.Client().AppsV1().Deployments("default").
		Patch(ctx, "web", types.MergePatchType, scale, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	o.holds(t, map[string]float64{
		`plimsoll_shadow_removed_nodes_total{node_group="web"}`:                      2,
		`plimsoll_shadow_others_removed_nodes_total{here="wanted",node_group="web"}`: 2,
		`plimsoll_shadow_calls_total{verb="Grow"}`:                                   1,
	})

	// 4. A person sees which of the two is which.
	if text := o.status(t, observeStatus); !strings.Contains(text, "Message: observe mode: nothing is bought") {
		t.Errorf("the observer's status:\n%s", text)
	}
	if text := o.status(t, statusConfigMap); strings.Contains(text, "observe mode") {
		t.Errorf("the status of the one that acts:\n%s", text)
	}
	for _, line := range []string{
		`msg="would begin" verb=Grow group=web from=0 to=2 max=10 new_nodes=2 for_pods=16`,
		`msg="others bought nodes" group=web nodes=`, // both at once, or one after the other
		`msg="no more nodes are needed" group=web would_have_bought=2 others_bought=2`,
		`msg="would begin" verb=Taint group=web node=web-`, `then="remove its instance"`,
		`msg="others removed a node, or it is gone" node=web-`,
	} {
		if !strings.Contains(o.log(t), line) {
			t.Errorf("the observer's log has no %s:\n%s", line, o.log(t))
		}
	}

	// 5. It ends as it was, without cleaning up after the provider; the other one
	// cleans up.
	for _, name := range []string{observeAccount, "acting"} {
		if state, err := o.rig.plane.Processes().End(name); err != nil || state.ExitCode() != 0 {
			t.Errorf("%s ended with %v, %v", name, state, err)
		}
	}
	o.checkAudit(t)
}

// observation is a control plane with an audit log, and who is in it.
type observation struct {
	rig *rig
	dir string
	at  *plimsoll // the observer's metrics
}

func startObserving(t *testing.T) *observation {
	t.Helper()
	policy, err := os.ReadFile("testdata/observe/audit-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := &observation{rig: ownRig(t, controlplane.Config{AuditPolicy: policy}, kwokWorld), dir: t.TempDir()}
	t.Cleanup(func() {
		if t.Failed() && o.at != nil {
			t.Logf("the observer's log:\n%s", o.log(t))
		}
	})
	return o
}

// documentedRights are the objects that docs/observe.md has a person apply.
func documentedRights(t *testing.T) []byte {
	t.Helper()
	page, err := os.ReadFile(observeDocs)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 2 {
		t.Fatalf("%s has %d blocks of YAML, want those of the rights for all, and for kwok", observeDocs, len(blocks))
	}
	return bytes.Join([][]byte{blocks[0][1], blocks[1][1]}, []byte("---\n"))
}

// kubeconfig grants the documented rights, and gives the account that has them.
func (o *observation) kubeconfig(t *testing.T) string {
	t.Helper()
	if err := o.rig.plane.Create(t.Context(), documentedRights(t)); err != nil {
		t.Fatal(err)
	}
	return o.rig.kubeconfigOf(t, observeAccount)
}

// launch starts a Plimsoll, and returns when it has read the cluster.
func (o *observation) launch(t *testing.T, name, kubeconfig string, flags ...string) {
	t.Helper()
	port, err := controlplane.FreePort(nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := filepath.Abs("testdata/observe/groups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := &plimsoll{name: name, address: fmt.Sprintf("127.0.0.1:%d", port), log: filepath.Join(o.dir, name+".log")}
	process := autoscaler.Setting{
		Binary: binary, Kubeconfig: kubeconfig, Cloud: autoscaler.Kwok(templates), Address: p.address,
		Flags: append([]string{"--scan-interval=" + scanInterval.String()}, flags...),
	}.Process()
	process.Name, process.Log = name, p.log
	if err := o.rig.plane.Launch(process); err != nil {
		t.Fatal(err)
	}
	if name == observeAccount {
		o.at = p
	}
	ctx, cancel := context.WithTimeout(t.Context(), observeWithin)
	defer cancel()
	if err := o.rig.plane.Processes().WaitReady(ctx, name); err != nil {
		t.Fatal(err)
	}
}

// holds waits until the observer's metrics are these.
func (o *observation) holds(t *testing.T, want map[string]float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), observeWithin)
	defer cancel()
	err := poll(ctx, func() (bool, string) {
		samples, err := o.at.metrics()
		if err != nil {
			return false, err.Error()
		}
		var not []string
		for name, value := range want {
			if got, there := samples[name]; !there || got != value {
				not = append(not, fmt.Sprintf("%s is %v (there: %t), want %v", name, got, there, value))
			}
		}
		slices.Sort(not)
		return len(not) == 0, strings.Join(not, "; ")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// looks waits until the observer has looked that many times more.
func (o *observation) looks(t *testing.T, times float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), observeWithin)
	defer cancel()
	if err := o.at.looks(ctx, times); err != nil {
		t.Fatal(err)
	}
}

func (o *observation) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(o.at.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// status is what the command prints of a status ConfigMap.
func (o *observation) status(t *testing.T, configMap string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, "status", "--kubeconfig="+o.rig.plane.AdminKubeconfig(),
		"--status-config-map-name="+configMap).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// auditEvent is what matters here of an Event of audit.k8s.io/v1.
type auditEvent struct {
	Verb, RequestURI string
	ObjectRef        *struct{ Resource, Subresource, Namespace, Name, APIGroup string }
	ResponseStatus   struct{ Code int }
}

// checkAudit reads all that the observer has asked the API server for: it has written
// its own lease and its own ConfigMap, was refused nothing, and used each right.
func (o *observation) checkAudit(t *testing.T) {
	t.Helper()
	file, err := os.Open(o.rig.plane.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	used, wrote := map[string]bool{}, map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if e.ObjectRef == nil {
			continue // versions of the API
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		used[e.Verb+" "+e.ObjectRef.APIGroup+" "+resource] = true
		if e.ResponseStatus.Code == http.StatusForbidden {
			t.Errorf("it was refused: %s %s", e.Verb, e.RequestURI)
		}
		if !slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
			wrote[resource+" "+e.ObjectRef.Namespace+"/"+e.ObjectRef.Name]++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	// 1. Writes.
	for _, own := range []string{"leases kube-system/" + observeAccount, "configmaps kube-system/" + observeStatus} {
		if wrote[own] == 0 {
			t.Errorf("it has never written %s", own)
		}
		delete(wrote, own)
	}
	for what, times := range wrote {
		t.Errorf("it has written %s, %d times", what, times)
	}
	// 2. Rights. A list comes as a stream, by the right to watch: that to list is for
	// servers that refuse it.
	rbac := o.rig.plane.Client().RbacV1()
	wide, err := rbac.ClusterRoles().Get(t.Context(), observeAccount, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := wide.Rules
	for _, name := range []string{observeAccount, observeAccount + "-kwok"} {
		role, err := rbac.Roles(metav1.NamespaceSystem).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rules = slices.Concat(rules, role.Rules)
	}
	for _, right := range rightsOf(rules) {
		if !used[right] && !strings.HasPrefix(right, "list ") {
			t.Errorf("the right to %s is granted and not used", right)
		}
	}
}

// rightsOf are the verbs, groups and resources of rules.
func rightsOf(rules []rbacv1.PolicyRule) []string {
	var out []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					out = append(out, verb+" "+group+" "+resource)
				}
			}
		}
	}
	return out
}
