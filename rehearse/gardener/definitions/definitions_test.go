package definitions

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestAll(t *testing.T) {
	var short, scaled []string
	for _, d := range All(true) {
		served := d.Spec.Versions[0]
		if d.Name != d.Spec.Names.Plural+".machine.sapcloud.io" || served.Name != "v1alpha1" ||
			d.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("got %+v", d.Spec)
		}
		short = append(short, d.Spec.Names.ShortNames...)
		if served.Subresources != nil && served.Subresources.Scale != nil {
			scaled = append(scaled, d.Spec.Names.Kind)
		}
		if status := served.Subresources != nil &&
			served.Subresources.Status != nil; status != (d.Spec.Names.Kind != "MachineClass") {
			t.Errorf("%s, a status: %t", d.Name, status)
		}
	}
	if !slices.Equal(short, []string{"mcc", "mc", "mcs", "mcd"}) ||
		!slices.Equal(scaled, []string{"MachineSet", "MachineDeployment"}) {
		t.Errorf("got %v; %v have a scale", short, scaled)
	}
}

func TestPoolsAreASetting(t *testing.T) {
	for _, pools := range []bool{true, false} {
		all := All(pools)
		spec := all[len(all)-1].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		_, minimum := spec.Properties["poolMinimum"]
		_, maximum := spec.Properties["poolMaximum"]
		if minimum != pools || maximum != pools || !slices.Equal(spec.Required, []string{"template"}) {
			t.Errorf("with pools %t: %t, %t, required %v", pools, minimum, maximum, spec.Required)
		}
	}
}
