package eksanywhere

import (
	"bytes"
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// What users are told to give the controller is what it is rehearsed with.
func TestRightsAreThoseOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/eks-anywhere.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("\n## Rights\n"))
	_, text, _ = bytes.Cut(text, []byte("```yaml\n"))
	text, _, found := bytes.Cut(text, []byte("```"))
	if !found || !bytes.Equal(text, rights) {
		t.Errorf("rights.yaml is not the text of docs/eks-anywhere.md:\n%s", text)
	}
	if !bytes.Contains(rights, []byte("name: plimsoll-eks-anywhere, namespace: "+Namespace)) {
		t.Errorf("the rights are not those of %s", ControllerUser)
	}
}

func TestDefinitionIsOfTheKind(t *testing.T) {
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &d); err != nil {
		t.Fatal(err)
	}
	if d.Spec.Group != ClusterKind.Group || d.Spec.Names.Kind != ClusterKind.Kind ||
		d.Spec.Versions[0].Name != ClusterKind.Version {
		t.Errorf("it defines %s %s, not %s", d.Spec.Group, d.Spec.Names.Kind, ClusterKind)
	}
}
