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
	"time"

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
)

const (
	startTimeout  = 3 * time.Minute
	documentation = "../../docs/gardener-pools.md"
)

// The one control plane of all tests, and its administrator's client.
var (
	control *controlplane.ControlPlane
	admin   client.WithWatch
)

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	ctrllog.SetLogger(logr.Discard()) // each controller has a log of its own
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if control, err = controlplane.Start(ctx, controlplane.Config{WithoutKwok: true, Log: log}); err != nil {
		return 1, fmt.Errorf("start the control plane: %w", err)
	}
	defer func() { err = errors.Join(err, control.Stop()) }()
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	if admin, err = client.NewWithWatch(control.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		return 1, fmt.Errorf("make the administrator's client: %w", err)
	}
	if err := prepare(ctx); err != nil {
		return 1, fmt.Errorf("prepare the control plane: %w", err)
	}
	return m.Run(), nil
}

// prepare registers the kinds, and gives the controller the rights that its
// documentation names.
func prepare(ctx context.Context) error {
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
	if err := established(ctx); err != nil {
		return err
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

// established waits until all definitions are served.
func established(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		var list apiextensionsv1.CustomResourceDefinitionList
		if err := admin.List(ctx, &list); err != nil {
			return false, err
		}
		for _, d := range list.Items {
			ok := false
			for _, c := range d.Status.Conditions {
				ok = ok || c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			}
			if !ok {
				return false, nil
			}
		}
		return true, nil
	})
}

// poll asks until the answer is yes, an error, or ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
