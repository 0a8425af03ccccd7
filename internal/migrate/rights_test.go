package migrate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// TestRightsAreThoseThatAreProven: what is asked for here is what the service account of the rehearsal has, where each
// right is proven to be needed.
func TestRightsAreThoseThatAreProven(t *testing.T) {
	manifests := filepath.Join("..", "..", "rehearse", "controlplane", "manifests", "plimsoll.yaml")
	documents, err := parse(readFile(t, manifests))
	if err != nil {
		t.Fatal(err)
	}
	var proven, asked []string
	for _, d := range documents {
		var r rbacv1.ClusterRole
		if d["kind"] != "ClusterRole" && d["kind"] != "Role" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d, &r); err != nil {
			t.Fatal(err)
		}
		for _, rule := range r.Rules {
			names := slices.DeleteFunc(slices.Clone(rule.ResourceNames), func(n string) bool {
				return strings.HasPrefix(n, "kwok-")
			})
			if len(rule.ResourceNames) > 0 && len(names) == 0 {
				continue // the kwok provider's own
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					proven = append(proven, fmt.Sprint(d["kind"], rule.APIGroups, resource, names, verb))
				}
			}
		}
	}
	add := func(kind string, needs []need) {
		for _, n := range needs {
			for verb := range strings.FieldsSeq(n.verbs) {
				names := strings.Fields(n.name)
				asked = append(asked, fmt.Sprint(kind, []string{n.group}, n.resource, names, verb))
			}
		}
	}
	add("ClusterRole", clusterNeeds)
	add("Role", namespaceNeeds(config.Defaults()))
	slices.Sort(proven)
	slices.Sort(asked)
	if diff := cmp.Diff(slices.Compact(proven), asked); diff != "" {
		t.Errorf("-proven +asked for:\n%s", diff)
	}
}
