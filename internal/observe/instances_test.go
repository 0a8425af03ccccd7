package observe

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// A cloud cannot know which features kubelets declare: a template that says nothing of
// them is as the newest node of its group, or else has what any node has. One that
// says something is believed.
func TestFeaturesOfTemplates(t *testing.T) {
	declares := func(name string, features ...string) *corev1.Node {
		n := testNode(name)
		n.Status.DeclaredFeatures = features
		return n
	}
	withTemplate := func(id string, template *corev1.Node, nodes ...string) provider.Group {
		g := group(id, len(nodes), nodes...)
		g.Template = &provider.Template{Node: template}
		return g
	}
	cloud := &sky{read: says(
		withTemplate("nodes", testNode(""), "a"), withTemplate("none", testNode("")), withTemplate("old", testNode(""), "b"),
		withTemplate("said", declares("", "z")),
	)}
	objects := []runtime.Object{declares("a", "x"), declares("b"), declares("c", "y")}
	world(t, cloud, objects, func(t *testing.T, _ *fake.Clientset, o *Observer) {
		seen := mustSync(t, o)
		for i, want := range [][]string{{"x"}, {"x", "y"}, nil, {"z"}} {
			got := seen.Contents.Shapes[seen.Templates[i].Shape].Node.Status.DeclaredFeatures
			if !slices.Equal(got, want) {
				t.Errorf("group %s: %v, want %v", seen.Inventory.Groups[i].ID, got, want)
			}
		}
	})
}
