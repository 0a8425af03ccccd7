package v1alpha1

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// TestCopiesShareNothing: what is done to a copy is not done to the original.
func TestCopiesShareNothing(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), serializer.NewCodecFactory(scheme)).NilChance(0.1)
	for range 50 {
		for _, o := range []runtime.Object{
			&MachineDeployment{}, &MachineSet{}, &Machine{}, &MachineClass{},
			&MachineDeploymentList{}, &MachineSetList{}, &MachineList{}, &MachineClassList{},
		} {
			fill.Fill(o)
			before, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			twin := o.DeepCopyObject()
			if diff := cmp.Diff(o, twin); diff != "" {
				t.Fatalf("%T: the copy is another one: %s", o, diff)
			}
			if path, shared := sharing(reflect.ValueOf(o), reflect.ValueOf(twin), ""); shared {
				t.Fatalf("%T: a copy shares %s with its original", o, path)
			}
			after, err := json.Marshal(o)
			if err != nil || string(before) != string(after) {
				t.Fatalf("%T: copying has changed it (%v)", o, err)
			}
		}
	}
}

// sharing finds memory that two values have in common.
func sharing(a, b reflect.Value, path string) (string, bool) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() || a.Kind() == reflect.Slice && a.Len() == 0 {
			return "", false
		}
		// Locations of times are one for all.
		if a.Type().String() == "*time.Location" {
			return "", false
		}
		if a.Pointer() == b.Pointer() {
			return path, true
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		return sharing(a.Elem(), b.Elem(), path)
	case reflect.Struct:
		if a.Type().String() == "resource.Quantity" {
			return "", false // its own copy
		}
		for i := range a.NumField() {
			if at, shared := sharing(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); shared {
				return at, true
			}
		}
	case reflect.Slice:
		for i := range a.Len() {
			if at, shared := sharing(a.Index(i), b.Index(i), path); shared {
				return at, true
			}
		}
	}
	return "", false
}

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
