package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// defaultWithin is how long a command waits for its condition, unless it begins
// with -within=DURATION. It is long, for machines that are busy with other things.
const defaultWithin = 4 * time.Minute

// slow is from when on a command tells how long it took.
const slow = 500 * time.Millisecond

// commands are what scripts can say beside testscript's own words:
//
//	group NAME [KEY=VALUE ...]       declare a node group, see templates_test.go
//	apply FILE                       create the objects of a YAML file in the script's namespace
//	scale RESOURCE/NAME N            deployments and statefulsets
//	patch RESOURCE/NAME JSON         merge a patch into a node, or a pod, deployment, poddisruptionbudget or object of
//	                                 Cluster API's of the script's
//	plimsoll start [-as=NAME] [-revive] [FLAG ...]
//	plimsoll end [-as=NAME]          SIGTERM; it must exit with 0
//	plimsoll kill [-as=NAME]         kill -9
//	plimsoll died [-as=NAME]         wait until it has ended by itself, with an exit code that is not 0
//	log [-as=NAME] REGEXP            wait until its log has a line like that
//	metric [-as=NAME] SAMPLE N       wait until a sample, with its labels, has that value
//	cycles N                         wait until Plimsoll has looked N times more
//	idle                             wait until Plimsoll has looked twice and found nothing to do
//	bound [-diverged=MAX] [-placed] N [SELECTOR]  wait until the real scheduler has bound all of N pods, and (without
//	                                              -placed) they run; then hold Plimsoll to its divergence metric
//	pending N [SELECTOR]             wait until N pods are refused by the scheduler
//	nodes GROUP N                    wait until a group has N nodes
//	nodes -atleast GROUP N           wait until a group has N nodes or more; -atmost, or fewer
//	nodes -keep=VAR GROUP N          and keep their names, apart by |, in a variable
//	ready GROUP N                    wait until N nodes of a group are ready
//	unready SHARE [GROUP ...]        make N, or N%, of the ready nodes of each group NotReady, of all groups if none is
//	                                 named
//	recover                          let every node that unready took become ready again
//	gone RESOURCE/NAME               wait until something that can be patched is no more, nor being deleted
//	tainted [-soft] GROUP N          wait until N nodes of a group are tainted as being deleted, or as candidates for it
//	cordoned GROUP N                 wait until N nodes of a group are unschedulable
//	annotated GROUP N KEY [REGEXP]   wait until N nodes of a group have an annotation, or one like that
//	status REGEXP                    wait until `plimsoll status` shows something like that
//	planned N PENDING [FLAG ...]     wait until a plan of the live cluster ends with N nodes and PENDING pods
//	                                 without one, and that of its dump is the same
//	machines GROUP N                 wait until a group has N machines without a node
//	configmap NAME                   wait until there is no such ConfigMap in Plimsoll's namespace
//	configmap [-keep=VAR] NAME KEY REGEXP  wait until it has an entry, or an annotation, like that; keep what is in
//	                                       parentheses in a variable
//	created [-atmost] GROUP N        a group has had N nodes in all, since the script began
//	podson [-atleast | -atmost] GROUP N [SELECTOR]  wait until N pods are on nodes of a group
//	waited SECONDS [SELECTOR]        none of the pods that are there waited longer for its node
//	guard N SELECTOR                 wait until N pods are healthy; fewer at any instant until the script's end fail it
//	linger GROUP ...                 from now on pods on the nodes that these groups have end when the script says so
//	ending N SELECTOR SECONDS        wait until N pods are being deleted that may take so long to end
//	finish N [SELECTOR]              wait until N pods are being deleted, and let them end
//	daemons SELECTOR [GROUP]         wait until a pod like that runs on every node of a group, or of all
//	spread LABEL [VALUE=N ...]       wait until the pods are spread so over the nodes' label
//	event REASON REGEXP              wait for an event of Plimsoll about the script's objects
//	lease absent | free | held | steal  the leader's lease: wait until it is so, or take it as another process
//	mistake FILE REGEXP              plimsoll refuses this template file, naming it, in words like that
//	crash COMPONENT                  kill -9 a component of the control plane
//	back                             wait until every component serves again
//	nodegroup NAME [KEY=VALUE ...]   where AWS is the cloud: declare an EKS node group, see aws_test.go
//	aws VERB ...                     look at the simulated AWS or disturb it, see aws_test.go
//	workers NAME [KEY=VALUE ...]     where Cluster API makes the nodes: make a group of Machines, see workers_test.go
//	capi VERB ...                    look at Cluster API's objects or change them, see clusterapi_test.go
//
// Each waits at most a minute, or as long as -within=DURATION says, and fails
// with how things stood at the end.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"group":     command(0, (*world).cmdGroup),
	"apply":     command(1, (*world).cmdApply),
	"scale":     command(2, (*world).cmdScale),
	"patch":     command(2, (*world).cmdPatch),
	"plimsoll":  command(1, (*world).cmdPlimsoll),
	"log":       command(1, (*world).cmdLog),
	"metric":    command(2, (*world).cmdMetric),
	"cycles":    command(1, (*world).cmdCycles),
	"idle":      command(0, (*world).cmdIdle),
	"bound":     command(1, (*world).cmdBound),
	"pending":   command(1, (*world).cmdPending),
	"nodes":     command(2, (*world).cmdNodes),
	"ready":     command(2, (*world).cmdReady),
	"unready":   command(1, (*world).cmdUnready),
	"recover":   command(0, (*world).cmdRecover),
	"gone":      command(1, (*world).cmdGone),
	"tainted":   command(2, (*world).cmdTainted),
	"cordoned":  command(2, (*world).cmdCordoned),
	"annotated": command(3, (*world).cmdAnnotated),
	"status":    command(1, (*world).cmdStatus),
	"planned":   command(2, (*world).cmdPlanned),
	"machines":  command(2, (*world).cmdMachines),
	"configmap": command(1, (*world).cmdConfigMap),
	"created":   command(2, (*world).cmdCreated),
	"podson":    command(2, (*world).cmdPodsOn),
	"waited":    command(1, (*world).cmdWaited),
	"guard":     command(2, (*world).cmdGuard),
	"linger":    command(1, (*world).cmdLinger),
	"ending":    command(3, (*world).cmdEnding),
	"finish":    command(1, (*world).cmdFinish),
	"daemons":   command(1, (*world).cmdDaemons),
	"spread":    command(2, (*world).cmdSpread),
	"event":     command(2, (*world).cmdEvent),
	"lease":     command(1, (*world).cmdLease),
	"mistake":   command(2, (*world).cmdMistake),
	"crash":     command(1, (*world).cmdCrash),
	"back":      command(0, (*world).cmdBack),
	"nodegroup": command(1, (*world).cmdNodegroup),
	"aws":       command(1, (*world).cmdAWS),
	"workers":   command(1, (*world).cmdWorkers),
	"capi":      command(1, (*world).cmdCAPI),
}

// call is one line of a script.
type call struct {
	ctx    context.Context // ends when the line must be done
	script *testscript.TestScript
	args   []string
}

// option takes -NAME=VALUE, or -NAME alone, off the arguments' beginning.
func (c *call) option(name string) (string, bool) {
	if len(c.args) == 0 {
		return "", false
	}
	value, ok := strings.CutPrefix(c.args[0], "-"+name)
	if !ok || value != "" && value[0] != '=' {
		return "", false
	}
	c.args = c.args[1:]
	return strings.TrimPrefix(value, "="), true
}

func (c *call) number(at int) (int, error) {
	n, err := strconv.Atoi(c.args[at])
	if err != nil {
		return 0, fmt.Errorf("argument %d is not a number: %w", at+1, err)
	}
	return n, nil
}

func command(least int, do func(*world, *call) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		c := &call{script: ts, args: args}
		within := defaultWithin
		if text, ok := c.option("within"); ok {
			d, err := time.ParseDuration(text)
			ts.Check(err)
			within = d
		}
		var cancel context.CancelFunc
		c.ctx, cancel = context.WithTimeoutCause(context.Background(), within, fmt.Errorf("not within %s", within))
		defer cancel()
		if neg {
			ts.Fatalf("this command cannot be negated")
		}
		if len(c.args) < least {
			ts.Fatalf("this command takes at least %d arguments", least)
		}
		began := time.Now()
		err := do(worldOf(ts), c)
		if took := time.Since(began); took >= slow {
			ts.Logf("[%.1f s]", took.Seconds())
		}
		if err != nil {
			ts.Fatalf("%v", err)
		}
	}
}

// clusterScoped are the kinds that scripts apply and that are in no namespace.
var clusterScoped = map[string]bool{"Node": true, "PriorityClass": true, "StorageClass": true}

func (w *world) cmdApply(c *call) error {
	decoder := yamlutil.NewYAMLOrJSONDecoder(strings.NewReader(c.script.ReadFile(c.args[0])), 4<<10)
	for {
		var object unstructured.Unstructured
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", c.args[0], err)
		}
		if len(object.Object) == 0 {
			continue // a document of comments
		}
		if object.GetNamespace() == "" && !clusterScoped[object.GetKind()] {
			object.SetNamespace(w.namespace)
		}
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		objects := w.dynamic.Resource(resource).Namespace(object.GetNamespace())
		_, err := objects.Create(c.ctx, &object, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetNamespace() != w.namespace && object.GetKind() != "Node" {
			name := object.GetName()
			w.elsewhere = append(w.elsewhere, func(ctx context.Context) error { return deleteAll(ctx, objects, name) })
		}
		if object.GetKind() == "PodDisruptionBudget" && object.GetNamespace() == w.namespace {
			if err := w.budgetSeen(c.ctx, object.GetName()); err != nil {
				return err
			}
		}
	}
}

// deleteAll deletes an object and all that it owns, and returns when they are gone.
func deleteAll(ctx context.Context, objects dynamic.ResourceInterface, name string) error {
	last := metav1.DeletePropagationForeground
	if err := ignoreNotFound(objects.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &last})); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return isGone(ctx, objects, name)
}

// cmdScale tries again: the API server may have been killed a moment ago.
func (w *world) cmdScale(c *call) error {
	resource, name, ok := strings.Cut(c.args[0], "/")
	if !ok {
		return fmt.Errorf("want RESOURCE/NAME, not %q", c.args[0])
	}
	replicas, err := c.number(1)
	if err != nil {
		return err
	}
	scales := w.dynamic.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}).
		Namespace(w.namespace)
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	return poll(c.ctx, func() (bool, string) {
		_, err := scales.Patch(c.ctx, name, "application/merge-patch+json", patch, metav1.PatchOptions{}, "scale")
		return err == nil, fmt.Sprint(err)
	})
}

func (w *world) cmdPlimsoll(c *call) error {
	verb := c.args[0]
	c.args = c.args[1:]
	name := w.plimsollName(c)
	if verb == "start" {
		_, revive := c.option("revive")
		return w.start(c.ctx, name, revive, c.args)
	}
	p, err := w.plimsollNamed(name)
	if err != nil {
		return err
	}
	if len(c.args) > 0 {
		return fmt.Errorf("unexpected arguments %q", c.args)
	}
	switch verb {
	case "end":
		code, err := w.end(p)
		if err == nil && code != 0 {
			err = fmt.Errorf("it was asked to end, and exited with %d", code)
		}
		return err
	case "kill":
		return w.plane.Processes().Kill(name)
	case "died":
		return w.mustHaveDied(c, p)
	}
	return fmt.Errorf("plimsoll %s: want start, end, kill or died", verb)
}

// mustHaveDied waits for an end that is neither a success nor a crash.
func (w *world) mustHaveDied(c *call, p *plimsoll) error {
	err := poll(c.ctx, func() (bool, string) { return !w.running(p), p.name + " runs" })
	if err != nil {
		return err
	}
	how, err := w.diedOf(c.ctx, p)
	if err != nil {
		return err
	}
	// A panic of a Go program exits with 2.
	if how != "exit status 1" {
		return fmt.Errorf("%s ended with %q, want exit status 1", p.name, how)
	}
	return nil
}

// plimsollName is the name of the process that a command is about.
func (w *world) plimsollName(c *call) string {
	if name, ok := c.option("as"); ok {
		return name
	}
	return "plimsoll"
}

func (w *world) cmdCrash(c *call) error { return w.plane.Processes().Kill(c.args[0]) }

// cmdBack waits until the control plane is whole again, and makes what its
// controllers gave up during the outage known to them once more. A kubelet tells
// its status again and again; KWOK's nodes do so every few minutes, and the node
// controller, some of whose writes were cut off, looks at a node only when it hears
// of it. The controller of ReplicaSets waits, after many failures, for minutes.
func (w *world) cmdBack(c *call) error {
	if err := w.plane.WaitReady(c.ctx); err != nil {
		return err
	}
	client := w.plane.Client()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"rehearse.plimsoll.dev/heard":%q}}}`,
		time.Now().Format(time.RFC3339Nano))
	nodes, err := client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	sets, err := client.AppsV1().ReplicaSets("").List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for i := range nodes.Items {
		_, err := client.CoreV1().Nodes().Patch(c.ctx, nodes.Items[i].Name, types.MergePatchType, patch,
			metav1.PatchOptions{})
		errs = append(errs, err)
	}
	for i := range sets.Items {
		set := &sets.Items[i]
		_, err := client.AppsV1().ReplicaSets(set.Namespace).Patch(c.ctx, set.Name, types.MergePatchType, patch,
			metav1.PatchOptions{})
		errs = append(errs, err)
	}
	return errors.Join(slices.DeleteFunc(errs, apierrors.IsNotFound)...)
}
