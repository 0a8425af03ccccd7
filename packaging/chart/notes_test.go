package chart

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

var (
	statusCommand = regexp.MustCompile(`(?m)^   (.*)plimsoll status (.*)$`)
	nameless      = regexp.MustCompile(`<[^>]*>`)
)

// TestNotesShowTheStatus: the command that the notes print reads the very ConfigMap that
// this Plimsoll writes, in the cluster in which it writes it: by a kubeconfig if, and only
// if, that is how the pod gets there.
func TestNotesShowTheStatus(t *testing.T) {
	elsewhere := map[string]string{
		"aws":                       "cloudProvider: aws, autoDiscovery: {clusterName: c}",
		"kwok":                      "cloudProvider: kwok",
		"clusterapi":                "cloudProvider: clusterapi",
		"clusterapi by kubeconfig":  "cloudProvider: clusterapi, clusterAPIMode: incluster-kubeconfig, clusterAPIKubeconfigSecret: s",
		"clusterapi from the other": "cloudProvider: clusterapi, clusterAPIMode: kubeconfig-incluster, clusterAPIKubeconfigSecret: s",
		"clusterapi from outside":   "cloudProvider: clusterapi, clusterAPIMode: kubeconfig-kubeconfig, clusterAPIKubeconfigSecret: s, clusterAPIConfigMapsNamespace: other",
		"clusterapi by one":         "cloudProvider: clusterapi, clusterAPIMode: single-kubeconfig, clusterAPIKubeconfigSecret: s",
		"gardener":                  "cloudProvider: gardener",
		"gardener from the seed":    "cloudProvider: gardener, gardener: {targetKubeconfigSecret: s}",
		"gardener from the shoot":   "cloudProvider: gardener, gardener: {controlKubeconfigSecret: s}",
	}
	for where, values := range elsewhere {
		for _, mode := range []string{"act", "observe"} {
			for _, extra := range []string{"", "status-config-map-name: mine", "status-config-map-name_1: mine"} {
				t.Run(where+", "+mode+", "+extra, func(t *testing.T) {
					r, err := load(t).Render(Release{Name: "r", Namespace: "ours"},
						parse(t, "{"+values+", mode: "+mode+", extraArgs: {"+extra+"}}"))
					if err != nil {
						t.Fatal(err)
					}
					found := statusCommand.FindAllStringSubmatch(r.Notes, -1)
					if len(found) != 1 {
						t.Fatalf("%d commands show the status:\n%s", len(found), r.Notes)
					}
					set := pflag.NewFlagSet("status", pflag.ContinueOnError)
					namespace := set.String("namespace", "kube-system", "")
					name := set.String("status-config-map-name", "cluster-autoscaler-status", "")
					kubeconfig := set.String("kubeconfig", "", "")
					if err := set.Parse(strings.Fields(nameless.ReplaceAllString(found[0][2], "theirs"))); err != nil {
						t.Fatalf("plimsoll status %s: %v", found[0][2], err)
					}
					d := objects(t, r)["deployment.yaml"].(*appsv1.Deployment)
					flags, _ := told(t, d)
					if *namespace != flags.Cluster.Namespace || *name != flags.Report.StatusConfigMap {
						t.Errorf("it shows %s/%s, and %s/%s is written",
							*namespace, *name, flags.Cluster.Namespace, flags.Report.StatusConfigMap)
					}
					away := flags.Cluster.Kubeconfig != "" || slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Env,
						func(e corev1.EnvVar) bool { return e.Name == "TARGET_KUBECONFIG" })
					if (*kubeconfig != "") != away {
						t.Errorf("the pod has another cluster's kubeconfig: %t; and the command is %s", away, found[0][0])
					}
					if inside := "kubectl -n ours exec deployment/" + d.Name + " -- /"; (found[0][1] == inside) == away {
						t.Errorf("the pod has another cluster's kubeconfig: %t; and the command is %s", away, found[0][0])
					}
				})
			}
		}
	}
}

// TestNotesEndAnother: the notes tell how another autoscaler is ended, and never end this
// one.
func TestNotesEndAnother(t *testing.T) {
	const end = "kubectl -n kube-system scale deployment cluster-autoscaler --replicas=0"
	for _, c := range []struct {
		release Release
		values  string
		want    bool
	}{
		{Default, "", true},
		{Default, ", fullnameOverride: cluster-autoscaler", false},
		{Release{"cluster-autoscaler", "kube-system"}, ", nameOverride: autoscaler", false},
		{Release{"plimsoll", "ours"}, ", fullnameOverride: cluster-autoscaler", true},
		{Default, ", fullnameOverride: autoscaler", true},
		{Default, ", mode: observe", false}, // it may go on
	} {
		r, err := load(t).Render(c.release, parse(t, "{cloudProvider: kwok"+c.values+"}"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Notes, end) != c.want {
			t.Errorf("%v%s: that %q is told, want %t:\n%s", c.release, c.values, end, c.want, r.Notes)
		}
		if acts := !strings.Contains(c.values, "observe"); strings.Contains(r.Notes, "One autoscaler only") != acts {
			t.Errorf("%v%s: the notes do not tell that one may act:\n%s", c.release, c.values, r.Notes)
		}
	}
}
