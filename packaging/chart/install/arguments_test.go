package install

import (
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/packaging/chart"
)

// TestControllersTakeTheirArguments: the shipped binary knows every flag that the chart
// gives to its controllers, in each extent of what they write.
func TestControllersTakeTheirArguments(t *testing.T) {
	c, err := chart.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, writes := range []string{"everything", "limits-only", "status-only"} {
		r, err := c.Render(chart.Default, map[string]any{"controllers": map[string]any{
			"eksAnywhere": map[string]any{"enabled": true, "statusOnly": writes == "status-only"},
			"gardener":    map[string]any{"enabled": true, "writes": writes, "namespace": "shoot--a--b", "workerTypes": []any{"aws", "gcp"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"eks-anywhere-deployment.yaml", "gardener-controller-deployment.yaml"} {
			var d appsv1.Deployment
			if err := yaml.UnmarshalStrict([]byte(r.Objects[name]), &d); err != nil {
				t.Fatal(err)
			}
			// Flags are read, wrong ones refused, and then help ends it.
			args := append(d.Spec.Template.Spec.Containers[0].Args, "--help")
			out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "plimsoll controller") {
				t.Errorf("plimsoll %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		}
	}
}
