package crds

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

func TestDefinitionIsUpstreams(t *testing.T) {
	definition, err := Definition("machinedeployments.cluster.x-k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, version := range definition.Spec.Versions {
		if version.Served {
			served = append(served, version.Name)
		}
	}
	if definition.Name != "machinedeployments.cluster.x-k8s.io" || !slices.Contains(served, "v1beta1") ||
		!slices.Contains(served, "v1beta2") {
		t.Errorf("got %s with the versions %v", definition.Name, served)
	}
	if _, err := Definition("unknown.cluster.x-k8s.io"); !errors.Is(err, errNoFiles) {
		t.Errorf("an unknown definition: got %v", err)
	}
}

func TestWebhooksOfMachineDeployments(t *testing.T) {
	mutating, validating, err := Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(mutating, func(w admissionregistrationv1.MutatingWebhook) bool {
		return w.Name == "default.machinedeployment.cluster.x-k8s.io"
	}) {
		t.Error("there is no defaulting webhook of MachineDeployments")
	}
	if !slices.ContainsFunc(validating, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return w.Name == "validation.machinedeployment.cluster.x-k8s.io"
	}) {
		t.Error("there is no validating webhook of MachineDeployments")
	}
}

func TestFilesComeFromTheBinaryThenFromTheModule(t *testing.T) {
	root := filepath.Join(t.TempDir(), "cluster-api@v1.2.3")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	carried := fstest.MapFS{
		"upstream/cluster-api@v1.2.3/both": {Data: []byte("binary")},
		"upstream/cluster-api@v1.2.2/old":  {Data: []byte("old")},
	}
	for name, text := range map[string]string{"both": "module", "one": "module"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"both": "binary", "one": "module"} {
		if data, err := readFrom(carried, root, name); err != nil || string(data) != want {
			t.Errorf("%s: got %q, %v; want %q", name, data, err, want)
		}
	}
	if _, err := readFrom(carried, root, "old"); !errors.Is(err, errNoFiles) ||
		!strings.Contains(err.Error(), "make build") {
		t.Errorf("a file of another version: got %v", err)
	}
}
