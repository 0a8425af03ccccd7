package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
)

const (
	leaseName   = "cluster-autoscaler"
	setUpWithin = 3 * time.Minute

	pollEvery = 50 * time.Millisecond
	logHead   = 20 // lines
	logTail   = 40
)

// world is what one script has of the control plane.
type world struct {
	*rig
	namespace string
	dir       string // the script's own folder
	cloud     autoscaler.Cloud
	groups    []*corev1.Node // of kwok
	plimsolls []*plimsoll    // in the order of their first start
	// unattended are the nodes that the script made unready.
	unattended []string
	// elsewhere ends what the script made outside of its namespace, the last first.
	elsewhere []func(context.Context) error
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// setUp gives a script its namespace and its folder, and takes both back at its
// end.
func setUp(t *testing.T, env *testscript.Env, r *rig) error {
	w := &world{rig: r, dir: env.WorkDir, namespace: strings.ReplaceAll(filepath.Base(t.Name()), "_", "-")}
	r.forgetCreated()
	w.cloud = autoscaler.Kwok(filepath.Join(w.dir, templatesFile))
	if r.aws != nil {
		r.aws.setUp(w, env)
	}
	env.Values[worldKey{}] = w
	env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("KUBECONFIG", r.plane.PlimsollKubeconfig())
	env.Setenv("NAMESPACE", w.namespace)

	ctx, cancel := context.WithTimeout(t.Context(), setUpWithin)
	defer cancel()
	client := r.plane.Client().CoreV1()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	if _, err := client.Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the script's namespace: %w", err)
	}
	env.Defer(func() {
		w.endGuards(t)
		if t.Failed() {
			w.tellLogs(t)
			if r.capi != nil {
				r.capi.tellMachines(t, w.namespace)
			}
		}
		if err := w.tearDown(t.Failed()); err != nil {
			t.Error("clean up after the script:", err)
		}
	})
	err := poll(ctx, func() (bool, string) {
		_, err := client.ServiceAccounts(w.namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprintf("the namespace's service account: %v", err)
	})
	if err == nil && r.capi != nil {
		err = r.capi.setUp(ctx, w, env)
	}
	return err
}

// tellLogs prints the logs of all that the script started, without their middle if
// they are long.
func (w *world) tellLogs(t *testing.T) {
	for _, p := range w.plimsolls {
		data, err := os.ReadFile(p.log)
		if err != nil {
			t.Log(err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		if left := len(lines) - logHead - logTail; left > 0 {
			lines = slices.Concat(lines[:logHead], []string{fmt.Sprintf("(%d lines more)", left)}, lines[logHead+left:])
		}
		t.Logf("%s's log:\n%s", p.name, strings.Join(lines, "\n"))
	}
}

// tearDown leaves the control plane as it was before the script. In a script
// that passed, the clean end of Plimsoll is part of what is tested.
func (w *world) tearDown(failed bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := w.plane.Client()
	var errs []error
	// 1. The pods, before Plimsoll: they would be pending again. A namespace that
	// ends takes no new ones.
	if err := client.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
		errs = append(errs, err)
	}
	for _, end := range slices.Backward(w.elsewhere) {
		errs = append(errs, end(ctx))
	}
	noPods := func() (bool, string) {
		all, err := w.pods.Pods(w.namespace).List(labels.Everything())
		if err == nil && len(all) == 0 {
			return true, ""
		}
		err = client.CoreV1().Pods(w.namespace).DeleteCollection(ctx,
			metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{})
		return false, fmt.Sprintf("%d pods are left (%v)", len(all), err)
	}
	if err := poll(ctx, noPods); err != nil {
		errs = append(errs, err)
	}
	// 2. Plimsoll.
	for _, p := range w.plimsolls {
		if !w.running(p) {
			continue
		}
		if code, err := w.end(p); err != nil {
			errs = append(errs, err)
		} else if code != 0 && !failed {
			errs = append(errs, fmt.Errorf("%s ended with exit code %d when it was asked to end", p.name, code))
		}
	}
	// 3. What is left of nodes, the lease, and what Plimsoll remembers: it may have
	// been killed.
	if err := w.releaseNodes(ctx); err != nil {
		errs = append(errs, err)
	}
	if err := client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		errs = append(errs, err)
	}
	if err := client.CoordinationV1().Leases(metav1.NamespaceSystem).
		Delete(ctx, leaseName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		errs = append(errs, err)
	}
	if err := w.rig.forget(ctx); err != nil {
		errs = append(errs, err)
	}
	noNodes := func() (bool, string) {
		n := len(w.nodesOf(""))
		return n == 0, fmt.Sprintf("%d nodes are left", n)
	}
	return errors.Join(append(errs, poll(ctx, noNodes))...)
}

// releaseNodes takes away what the script keeps nodes with that are to go.
func (w *world) releaseNodes(ctx context.Context) error {
	all, err := w.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	var errs []error
	for _, node := range all {
		if len(node.Finalizers) > 0 {
			_, err := w.plane.Client().CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			errs = append(errs, ignoreNotFound(err))
		}
	}
	return errors.Join(errs...)
}

// poll waits for a condition, which also says how things stand.
func poll(ctx context.Context, condition func() (done bool, state string)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		done, state := condition()
		if done {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %s", state)
		}
	}
}

// plimsollNamed finds a Plimsoll of this script.
func (w *world) plimsollNamed(name string) (*plimsoll, error) {
	at := slices.IndexFunc(w.plimsolls, func(p *plimsoll) bool { return p.name == name })
	if at < 0 {
		return nil, fmt.Errorf("this script has started no %q", name)
	}
	return w.plimsolls[at], nil
}
