package v1alpha1

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// TestKindsAreKnown: the kinds and their lists have the group's version.
func TestKindsAreKnown(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{KindMachineDeployment, KindMachineSet, KindMachine, KindMachineClass} {
		for _, name := range []string{kind, kind + "List"} {
			if !scheme.Recognizes(GroupVersion.WithKind(name)) {
				t.Errorf("%s is not known", name)
			}
		}
	}
}
