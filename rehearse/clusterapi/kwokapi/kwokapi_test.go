package kwokapi

import "testing"

// Cluster API finds a kind's version through this label, and its definition by the
// name of plural and group.
func TestDefinitionsKeepTheContract(t *testing.T) {
	definitions, err := Definitions()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, definition := range definitions {
		kinds[definition.Spec.Names.Kind] = true
		if got := definition.Labels["cluster.x-k8s.io/v1beta2"]; got != definition.Spec.Versions[0].Name {
			t.Errorf("%s: the label names version %q", definition.Name, got)
		}
		if want := definition.Spec.Names.Plural + "." + definition.Spec.Group; definition.Name != want {
			t.Errorf("the definition of %s is called %s", want, definition.Name)
		}
	}
	for _, kind := range []string{MachineKind, MachineTemplateKind, MachinePoolKind, ControlPlaneKind} {
		if !kinds[kind] {
			t.Errorf("there is no definition of %s", kind)
		}
	}
}
