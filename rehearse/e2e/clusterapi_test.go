package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	worlds "github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// TestClusterAPIScripts runs the scripts of testdata/clusterapi, one after the other,
// on one control plane with the real Cluster API controllers, whose machines become
// nodes.
func TestClusterAPIScripts(t *testing.T) {
	t.Parallel() // on a control plane of its own
	r := ownRig(t, reviving, func(r *rig) (worlds.World, error) {
		made, err := worlds.ClusterAPI(r.plane)
		if err != nil {
			return made, err
		}
		made.Populate = nil // each script makes Clusters of its own
		r.capi, err = newClusterAPI(r, made.Cloud)
		return made, err
	})
	runScripts(oneByOne{t}, "testdata/clusterapi", func(*testing.T, *testscript.Env) *rig { return r })
	if err := r.capi.allGone(t.Context()); err != nil {
		t.Error("clean up after the scripts:", err)
	}
}

// tellMachines prints the groups and Machines of a namespace as Cluster API has them.
func (a *clusterAPI) tellMachines(t *testing.T, namespace string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for key := range a.groups {
		group, err := a.group(ctx, key)
		t.Logf("the group %s: %+v (%v)", key, group, err)
	}
	var list clusterv1.MachineList
	if err := a.admin.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		t.Log("read the Machines:", err)
	}
	for _, m := range list.Items {
		t.Logf("the Machine %s: %s, deleted at %v, annotations %v%s",
			m.Name, m.Status.Phase, m.DeletionTimestamp, m.Annotations, complaints(&m))
	}
}

// complaints are a Machine's conditions that are false, with why.
func complaints(m *clusterv1.Machine) string {
	text := ""
	for _, is := range m.Status.Conditions {
		if is.Status == metav1.ConditionFalse && is.Message != "" {
			text += fmt.Sprintf(" (%s: %s)", is.Type, is.Message)
		}
	}
	return text
}

// allGone waits until Cluster API has deleted whatever the scripts have made.
func (a *clusterAPI) allGone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return poll(ctx, func() (bool, string) {
		var list clusterv1.ClusterList
		err := a.admin.List(ctx, &list)
		return err == nil && len(list.Items) == 0, fmt.Sprintf("%d Clusters are left (%v)", len(list.Items), err)
	})
}

// clusterAPI is the Cluster API of a rig, and what the present script has made of it.
type clusterAPI struct {
	admin      client.Client
	kubeconfig []byte // by which Cluster API reaches the nodes
	provider   string // Plimsoll's flag that names the provider
	version    string // of Cluster API's kinds, in which groups are written
	groups     map[client.ObjectKey]client.Object
}

const (
	clusterName = "west"
	newest      = "v1beta2"

	// workersLabel names the group of a Machine and of a node.
	workersLabel = "rehearse.plimsoll.dev/workers"

	// providerRole is what Plimsoll may do with Cluster API's objects.
	providerRole = "plimsoll:clusterapi-provider"
	plimsollUser = "system:serviceaccount:kube-system:plimsoll"
)

func newClusterAPI(r *rig, cloud autoscaler.Cloud) (*clusterAPI, error) {
	kubeconfig, err := os.ReadFile(r.plane.AdminKubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	config := r.plane.AdminConfig()
	config.WarningHandler = rest.NoWarnings{} // v1beta1 is deprecated, as is known
	admin, err := client.New(config, client.Options{Scheme: objects.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("make the administrator's client of Cluster API's objects: %w", err)
	}
	return &clusterAPI{admin: admin, kubeconfig: kubeconfig, provider: cloud.Flags[0]}, nil
}

// setUp gives a script a Cluster in its namespace, and the flag that finds its groups
// and no others, $DISCOVERY.
func (a *clusterAPI) setUp(ctx context.Context, w *world, env *testscript.Env) error {
	a.version, a.groups = newest, map[client.ObjectKey]client.Object{}
	discovery := "--node-group-auto-discovery=clusterapi:clusterName=" + clusterName + ",namespace=" + w.namespace
	env.Setenv("DISCOVERY", discovery)
	w.cloud = autoscaler.Cloud{Flags: []string{a.provider, discovery}}
	return a.makeCluster(ctx, w, w.namespace)
}

// makeCluster makes a Cluster. At the script's end it goes with all that is in its
// namespace, its nodes at once.
func (a *clusterAPI) makeCluster(ctx context.Context, w *world, namespace string) error {
	cluster, err := objects.CreateCluster(ctx, a.admin, namespace, clusterName, a.kubeconfig)
	if err != nil {
		return err
	}
	w.elsewhere = append(w.elsewhere, func(ctx context.Context) error {
		if namespace != w.namespace {
			err := w.plane.Client().CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
			if ignoreNotFound(err) != nil {
				return err
			}
		}
		if err := a.unpause(ctx, cluster); err != nil { // nothing would go
			return err
		}
		// The rest takes longer, and disturbs no other test: a machine that is being deleted
		// gets no node any more.
		return poll(ctx, func() (bool, string) {
			var list kwokapi.KwokMachineList
			err := a.admin.List(ctx, &list, client.InNamespace(namespace))
			left := slices.DeleteFunc(list.Items, func(m kwokapi.KwokMachine) bool { return !m.DeletionTimestamp.IsZero() })
			return err == nil && len(left) == 0, fmt.Sprintf("%d machines in %s are not being deleted (%v)",
				len(left), namespace, err)
		})
	})
	return nil
}

// unpause ends the pauses that a script which failed has left.
func (a *clusterAPI) unpause(ctx context.Context, cluster client.Object) error {
	err := a.admin.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":false}}`)))
	errs := []error{client.IgnoreNotFound(err)}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, clusterv1.PausedAnnotation)
	for _, group := range a.groups {
		err := a.admin.Patch(ctx, group, client.RawPatch(types.MergePatchType, patch))
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return errors.Join(errs...)
}

// cmdCAPI looks at Cluster API's objects, or changes them.
//
//	capi cluster NAMESPACE                      make another Cluster, of the same name, in another namespace
//	capi version VERSION                        Plimsoll reads Cluster API's kinds in this version from now on, and
//	                                            workers writes them
//	capi without VERB RESOURCE                  until the script's end, Plimsoll lacks a right
//	capi replicas [-in=NAMESPACE] GROUP N       wait until that many replicas are asked of a group
//	capi machines [-in=NAMESPACE] [-keep=VAR] GROUP N  wait until a group has N Machines that are not being deleted;
//	                                                   keep their names, apart by |
//	capi uptodate GROUP N                       wait until N Machines of a MachineDeployment are up to date, and it has
//	                                            no others
//	capi under VAR SELECTOR                     keep the name of the Machine on whose node the one pod is
//	capi boot GROUP DURATION                    from now on the nodes of a group join so long after their Machine was
//	                                            made
func (w *world) cmdCAPI(c *call) error {
	verb := c.args[0]
	c.args = c.args[1:]
	namespace, elsewhere := c.option("in")
	if !elsewhere {
		namespace = w.namespace
	}
	keep, _ := c.option("keep")
	least := map[string]int{
		"cluster": 1, "version": 1, "without": 2, "replicas": 2, "machines": 2, "uptodate": 2, "under": 2, "boot": 2,
	}
	if want, ok := least[verb]; !ok || len(c.args) != want {
		return fmt.Errorf("capi %s: there is no such verb, or not with %d arguments", verb, len(c.args))
	}
	switch verb {
	case "cluster":
		return w.capi.makeCluster(c.ctx, w, c.args[0])
	case "version":
		w.capi.version = c.args[0]
		w.cloud.Env = []string{"CAPI_VERSION=" + c.args[0]}
		c.script.Setenv("CAPI_VERSION", c.args[0])
		return nil
	case "without":
		return w.takeRight(c.ctx, right{clusterWide: true, verb: c.args[0], resource: c.args[1]})
	case "under":
		return w.keepMachineUnder(c)
	case "boot":
		return w.capi.boot(c.ctx, namespace, c.args[0], c.args[1])
	}
	want, err := c.number(1)
	if err != nil {
		return err
	}
	if verb == "machines" {
		return w.waitMachines(c, namespace, want, keep)
	}
	state := ""
	return poll(c.ctx, func() (bool, string) {
		group, err := w.capi.group(c.ctx, client.ObjectKey{Namespace: namespace, Name: c.args[0]})
		if err != nil {
			return false, cmp.Or(state, err.Error()) // time may be over: what was read before tells more
		}
		n := group.asked
		if verb == "uptodate" {
			n = group.upToDate
		}
		state = w.state(fmt.Sprintf("of %s there are %+v, want %d", c.args[0], group, want))
		return n == want && (verb == "replicas" || group.made == want), state
	})
}

func (w *world) waitMachines(c *call, namespace string, want int, keep string) error {
	var names []string
	state := ""
	err := poll(c.ctx, func() (bool, string) {
		machines, err := w.capi.machines(c.ctx, namespace, c.args[0])
		if err != nil {
			return false, cmp.Or(state, err.Error()) // as above
		}
		names, state = nil, ""
		for _, m := range machines {
			if m.DeletionTimestamp.IsZero() {
				names = append(names, m.Name)
			}
			state += "; " + m.Name + " is " + m.Status.Phase + complaints(&m)
		}
		state = w.state(fmt.Sprintf("%s has %d Machines, want %d%s", c.args[0], len(names), want, state))
		return len(names) == want, state
	})
	if err == nil && keep != "" {
		slices.Sort(names)
		c.script.Setenv(keep, strings.Join(names, "|"))
	}
	return err
}

func (a *clusterAPI) machines(ctx context.Context, namespace, group string) ([]clusterv1.Machine, error) {
	var list clusterv1.MachineList
	err := a.admin.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{workersLabel: group})
	return list.Items, err
}

// counts are a group's, -1 where Cluster API has not said.
type counts struct{ asked, made, upToDate int }

func (a *clusterAPI) group(ctx context.Context, key client.ObjectKey) (counts, error) {
	group := a.groups[key]
	if group == nil {
		return counts{}, fmt.Errorf("this script has made no workers %s", key)
	}
	if err := a.admin.Get(ctx, key, group); err != nil {
		return counts{}, err
	}
	number := func(n *int32) int { return int(ptr.Deref(n, -1)) }
	if set, ok := group.(*clusterv1.MachineSet); ok {
		return counts{number(set.Spec.Replicas), number(set.Status.Replicas), number(set.Status.UpToDateReplicas)}, nil
	}
	deployment := group.(*clusterv1.MachineDeployment)
	return counts{
		number(deployment.Spec.Replicas), number(deployment.Status.Replicas), number(deployment.Status.UpToDateReplicas),
	}, nil
}

func (w *world) keepMachineUnder(c *call) error {
	selector, err := labels.Parse(c.args[1])
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		pods := w.podsIn(w.namespace, selector)
		if len(pods) != 1 || pods[0].Spec.NodeName == "" {
			return false, w.state(fmt.Sprintf("%d pods are like %s, want one that is bound", len(pods), selector))
		}
		node, err := w.nodes.Get(pods[0].Spec.NodeName)
		if err != nil || node.Annotations[clusterv1.MachineAnnotation] == "" {
			return false, fmt.Sprintf("the node %s names no Machine (%v)", pods[0].Spec.NodeName, err)
		}
		c.script.Setenv(c.args[0], node.Annotations[clusterv1.MachineAnnotation])
		return true, ""
	})
}

// takeRight takes a right of the provider's away from Plimsoll, and returns when the
// API server knows of it.
func (w *world) takeRight(ctx context.Context, taken right) error {
	roles := w.plane.Client().RbacV1().ClusterRoles()
	role, err := roles.Get(ctx, providerRole, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the provider's rights: %w", err)
	}
	given := role.DeepCopy()
	at := slices.IndexFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, taken.resource) && slices.Contains(r.Verbs, taken.verb)
	})
	if at < 0 {
		return fmt.Errorf("Plimsoll has no right to %s %s in the first place", taken.verb, taken.resource)
	}
	rule := role.Rules[at]
	taken.group = rule.APIGroups[0]
	others, verbs := rule.DeepCopy(), rule.DeepCopy()
	others.Resources = slices.DeleteFunc(others.Resources, func(s string) bool { return s == taken.resource })
	verbs.Resources = []string{taken.resource}
	verbs.Verbs = slices.DeleteFunc(verbs.Verbs, func(s string) bool { return s == taken.verb })
	role.Rules = slices.Concat(role.Rules[:at], role.Rules[at+1:])
	for _, left := range []*rbacv1.PolicyRule{others, verbs} {
		if len(left.Resources) > 0 && len(left.Verbs) > 0 {
			role.Rules = append(role.Rules, *left)
		}
	}
	w.elsewhere = append(w.elsewhere, func(ctx context.Context) error {
		given.ResourceVersion = ""
		_, err := roles.Update(ctx, given, metav1.UpdateOptions{})
		return errors.Join(err, w.mayBecome(ctx, taken, true))
	})
	if _, err := roles.Update(ctx, role, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("take the right to %s: %w", taken, err)
	}
	return w.mayBecome(ctx, taken, false)
}

// mayBecome waits until Plimsoll has a right, or has it no more.
func (w *world) mayBecome(ctx context.Context, r right, want bool) error {
	resource, part, _ := strings.Cut(r.resource, "/")
	asked := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: plimsollUser,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: w.namespace, Verb: r.verb, Group: r.group, Resource: resource, Subresource: part,
		}}}
	return poll(ctx, func() (bool, string) {
		answer, err := w.plane.Client().AuthorizationV1().SubjectAccessReviews().Create(ctx, asked, metav1.CreateOptions{})
		return err == nil &&
			answer.Status.Allowed == want, fmt.Sprintf("whether Plimsoll may %s is not %t yet (%v)", r, want, err)
	})
}
