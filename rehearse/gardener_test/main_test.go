// Package gardener_test proves the controller of Gardener's worker pools on a real
// API server: what a definition prunes, what rights allow, what a watch brings, and
// that replicas are never moved back.
//
// The control plane serves the kinds and no more: there is no
// machine-controller-manager, and tests play the autoscaler. The controller always
// runs with exactly the rights that docs/gardener-pools.md gives it.
package gardener_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/definitions"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

const documentation = "../../docs/gardener-pools.md"

// The one control plane of all tests, and its administrator's client.
var (
	control *controlplane.ControlPlane
	admin   client.WithWatch
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // each controller has a log of its own
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	planetest.Plane{Config: controlplane.Config{WithoutKwok: true, Log: log}, Prepare: prepare}.Main(m)
}

// prepare registers the kinds, and gives the controller the rights that its
// documentation names.
func prepare(ctx context.Context, plane *controlplane.ControlPlane) (err error) {
	control = plane
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	if admin, err = client.NewWithWatch(control.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make the administrator's client: %w", err)
	}
	for _, d := range definitions.All(true) {
		if err := admin.Create(ctx, d); err != nil {
			return fmt.Errorf("define %s: %w", d.Name, err)
		}
	}
	extensions, err := os.ReadFile("testdata/extensions.yaml")
	if err != nil {
		return err
	}
	if err := createAll(ctx, extensions); err != nil {
		return err
	}
	var all apiextensionsv1.CustomResourceDefinitionList
	if err := admin.List(ctx, &all); err != nil {
		return err
	}
	for _, d := range all.Items {
		if err := planetest.Established(ctx, admin, d.Name); err != nil {
			return err
		}
	}
	if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden"}}); err != nil {
		return err
	}
	text, err := os.ReadFile(documentation)
	if err != nil {
		return err
	}
	_, text, _ = bytes.Cut(text, []byte("\n## Rights"))
	_, text, _ = bytes.Cut(text, []byte("```yaml\n"))
	text, _, found := bytes.Cut(text, []byte("```"))
	if !found {
		return fmt.Errorf("%s names no rights", documentation)
	}
	return createAll(ctx, text)
}

// createAll creates the objects of a YAML text.
func createAll(ctx context.Context, text []byte) error {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(u); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read YAML: %w", err)
		}
		if err := admin.Create(ctx, u); err != nil {
			return fmt.Errorf("create %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
}
