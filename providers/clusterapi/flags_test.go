package clusterapi

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// side is one of two clusters. Each has a node of every Machine, whose label tells whose
// it is.
type side struct {
	*clusterapitest.World
	url, kubeconfig string
}

const sideLabel = "side"

// sides are a management cluster, in which a group of one Machine can be read in the
// namespace of its kubeconfig alone, and a workload cluster.
func sides(t *testing.T) (management, workload side) {
	t.Helper()
	const namespace = "eksa-system"
	begin := func(name string, w *clusterapitest.World) side {
		url := kubetest.Serve(t, w)
		path := filepath.Join(t.TempDir(), name)
		text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {}}], "+
			"contexts: [{name: c, context: {cluster: c, user: u, namespace: %s}}], "+
			"clusters: [{name: c, cluster: {server: '%s'}}]}", namespace, url)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return side{w, url, path}
	}
	m, w := clusterapitest.New(time.Now), clusterapitest.New(time.Now)
	m.Apply(clusterapitest.NewCluster(namespace, "c1"),
		clusterapitest.NewGroup("MachineDeployment", namespace, "workers", "c1", 1,
			clusterapitest.MinSize, "0", clusterapitest.MaxSize, "5"))
	m.Settle()
	node := kubetest.Text(m.Machines("MachineDeployment", namespace, "workers")[0], "status", "nodeRef", "name")
	for name, world := range map[string]*clusterapitest.World{"management": m, "workload": w} {
		world.Serve(clusterapitest.Nodes())
		amounts := kubetest.Object{"cpu": "4", "memory": "16Gi", "pods": "110"}
		world.Apply(clusterapitest.NewNode(node, "test:///"+node, kubetest.Object{sideLabel: name}, amounts))
	}
	nodes := kubetest.Right{Resources: []string{"nodes"}, Verbs: []string{"get"}}
	m.SetRights(append(clusterapitest.ChartRights(namespace), nodes)...)
	return begin("management", m), begin("workload", w)
}

// flagsOf are the provider's flags on a command line.
func flagsOf(t *testing.T, args ...string) wiring.Maker {
	t.Helper()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	maker := Entry().Bind(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return maker
}

// hostOf is a process in a pod of the cluster at a URL, or with a kubeconfig.
func hostOf(pod, kubeconfig string) wiring.Host {
	return wiring.Host{
		Kubeconfig: kubeconfig, Getenv: func(string) string { return "" }, Log: slog.New(slog.DiscardHandler),
		Cluster: func() (*rest.Config, error) {
			rc := &rest.Config{Host: pod}
			if kubeconfig != "" {
				var err error
				if rc, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
					return nil, err
				}
			}
			rc.QPS = -1
			return rc, nil
		},
	}
}

// The five ways of docs/clusterapi.md: groups are those of the management cluster, and
// their nodes the workload cluster's.
func TestTwoClustersOfClusterAPI(t *testing.T) {
	management, workload := sides(t)
	for mode, c := range map[string]struct {
		// kubeconfig and cloudConfig are the flags; pod is where the pod is, if there is
		// no --kubeconfig.
		kubeconfig, cloudConfig string
		pod                     string
		nodes                   string // of which side they are
		own                     bool   // the namespace of the management cluster's kubeconfig is known
	}{
		"incluster-incluster":      {pod: management.url, nodes: "management"},
		"incluster-kubeconfig":     {pod: workload.url, cloudConfig: management.kubeconfig, nodes: "workload", own: true},
		"kubeconfig-kubeconfig":    {kubeconfig: workload.kubeconfig, cloudConfig: management.kubeconfig, nodes: "workload", own: true},
		"single-kubeconfig":        {kubeconfig: management.kubeconfig, nodes: "management", own: true},
		"the same one, as both":    {kubeconfig: management.kubeconfig, cloudConfig: management.kubeconfig, nodes: "management", own: true},
		"the other way round":      {kubeconfig: management.kubeconfig, cloudConfig: workload.kubeconfig},
		"a workload cluster alone": {kubeconfig: workload.kubeconfig},
	} {
		t.Run(mode, func(t *testing.T) {
			h := hostOf(c.pod, c.kubeconfig)
			h.Discovery = []string{"clusterapi:clusterName=c1"}
			if !c.own {
				h.Discovery[0] += ",namespace=eksa-system"
			}
			management.ForgetRequests()
			workload.ForgetRequests()
			p, err := flagsOf(t, "--cloud-config="+c.cloudConfig).Make(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			inv, err := p.Inventory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.nodes == "" { // there are no groups
				if len(inv.Groups) != 0 || len(management.Requests()) != 0 {
					t.Errorf("%d groups, and of the management cluster was asked %v", len(inv.Groups), management.Requests())
				}
				return
			}
			if len(inv.Groups) != 1 || inv.Groups[0].Template == nil {
				t.Fatalf("%+v", inv)
			}
			if got := inv.Groups[0].Template.Node.Labels[sideLabel]; got != c.nodes {
				t.Errorf("the node is the %s cluster's", got)
			}
			if c.own != slices.ContainsFunc(inv.Notices, func(n provider.Notice) bool { return n.Code == "OneNamespaceOnly" }) {
				t.Errorf("notices %+v", inv.Notices)
			}
			for _, r := range workload.Requests() {
				if !slices.Equal(strings.Fields(r), []string{"get", "nodes", inv.Groups[0].Instances[0].NodeName}) {
					t.Errorf("of the workload cluster was asked: %s", r)
				}
			}
			aboutNodes := func(r string) bool { return strings.Contains(r, "nodes") }
			if c.nodes == "workload" && slices.ContainsFunc(management.Requests(), aboutNodes) {
				t.Errorf("of the management cluster was asked: %v", management.Requests())
			}
		})
	}
}

// kubeconfig-incluster: the management cluster is the pod's own, and never that of
// --kubeconfig. Here is no pod, so that there is none.
func TestTheManagementClusterOfThePod(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, workload := sides(t)
	h := hostOf(workload.url, workload.kubeconfig)
	const authoritative = "--clusterapi-cloud-config-authoritative"
	says := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v", err)
		}
	}
	_, err := flagsOf(t, authoritative).Make(t.Context(), h)
	says(err, "find the management cluster (--cloud-config, or the pod's own service account)")
	none := "--cloud-config=" + filepath.Join(t.TempDir(), "none")
	_, err = flagsOf(t, authoritative, none).Make(t.Context(), h)
	says(err, "read the kubeconfig of the management cluster (--cloud-config)")
	if got := workload.Requests(); len(got) != 0 {
		t.Errorf("the workload cluster was asked: %v", got)
	}
}
