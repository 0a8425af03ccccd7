package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

const (
	rightsAtOnce = 6 // Plimsolls at the same time
	missedWithin = 3 * time.Minute

	// staysAnnotation on a node keeps it.
	staysAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
)

// right is the smallest thing that RBAC can grant.
type right struct {
	clusterWide           bool
	group, resource, verb string
	name                  string // of the one object, empty for all
}

func (r right) String() string {
	return strings.Join(
		slices.DeleteFunc([]string{r.verb, r.group, r.resource, r.name}, func(s string) bool { return s == "" }), " ",
	)
}

func (r right) rule() rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
	if r.name != "" {
		rule.ResourceNames = []string{r.name}
	}
	return rule
}

// complaint is what the API server says to one who lacks the right, and so what
// Plimsoll must pass on to a person.
func (r right) complaint() *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`cannot %s resource \\*"%s\\*" in API group \\*"%s\\*"`,
		r.verb, r.resource, r.group))
}

// TestEachRightIsNeeded takes each right of Plimsoll's service account away from
// a copy of it, lets Plimsoll live through a small story with what is left (nodes come at the
// start, no pod needs them or their pods have room elsewhere, they go), and expects it to say which
// right is missing. A right whose absence has no effect is one too many.
func TestEachRightIsNeeded(t *testing.T) {
	r := sharedRig(t)
	all := grantedRights(t, r)
	makeProviderConfig(t, r)

	t.Run("none is taken", func(t *testing.T) {
		p := newDeputy(t, r, "all", all)
		p.start(t, deputyStory{nodes: 2, fromFile: true, tells: true, drains: true})
		p.drainOne(t, 2)
		p.waitLog(t, regexp.MustCompile(`evict=`))
		p.waitNodes(t, 1)
		p.release(t, r.nodesOf(p.name)[0].Name)
		p.waitNodes(t, 0)
		if forbidden := regexp.MustCompile(`.*cannot \w+ resource.*`).FindString(p.read(t)); forbidden != "" {
			t.Errorf("with every right, something is forbidden: %s", forbidden)
		}
	})
	// The lease is one for all, and so are the ConfigMaps that Plimsoll writes: these
	// go one by one, each with none of them there at its beginning.
	for i, taken := range all {
		if alone(taken) {
			t.Run(taken.String(), func(t *testing.T) { mustBeMissed(t, r, all, i) })
		}
	}
	t.Run("one is taken", func(t *testing.T) {
		slots := make(chan struct{}, rightsAtOnce)
		for i, taken := range all {
			if alone(taken) {
				continue
			}
			t.Run(taken.String(), func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				mustBeMissed(t, r, all, i)
			})
		}
	})
}

// alone reports whether no other test may use what a right is for at the same time.
func alone(taken right) bool {
	return taken.resource == "leases" || taken.name == statusConfigMap ||
		taken.resource == "configmaps" && slices.Contains([]string{"create", "update", "delete"}, taken.verb)
}

func mustBeMissed(t *testing.T, r *rig, all []right, at int) {
	taken := all[at]
	rest := slices.Delete(slices.Clone(all), at, at+1)
	if taken.verb == "list" {
		// A list comes as a stream, by the right to watch. Where the server refuses
		// that (an older one does), it is asked for in one piece.
		rest = slices.DeleteFunc(rest, func(r right) bool { taken := taken; taken.verb = "watch"; return r == taken })
	}
	p := newDeputy(t, r, fmt.Sprint(at), rest)
	story := storyFor(taken)
	if story.remembered {
		rememberMachine(t, r)
	}
	p.start(t, story)
	if story.drains {
		p.drainOne(t, story.nodes)
	}
	if story.ends {
		p.waitLog(t, regexp.MustCompile(`created up to the desired counts`))
		p.end(t)
	}
	p.waitLog(t, taken.complaint())
}

// rememberMachine leaves a machine without a node behind, of a group that there is
// no more.
func rememberMachine(t *testing.T, r *rig) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: machinesConfigMap}, Data: map[string]string{
		"gone-bcdfg": `{"group":"gone","fault":"never-registers","created":"2026-01-02T03:04:05Z"}`,
	}}
	maps := r.plane.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem)
	if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// grantedRights are all rights of Plimsoll's service account, one by one; leases'
// in the order in which a new lease needs them.
func grantedRights(t *testing.T, r *rig) []right {
	t.Helper()
	rbac := r.plane.Client().RbacV1()
	var all []right
	add := func(clusterWide bool, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						for _, verb := range rule.Verbs {
							all = append(all, right{clusterWide, group, resource, verb, name})
						}
					}
				}
			}
		}
	}
	for _, name := range []string{"plimsoll", "plimsoll:kwok-provider"} {
		role, err := rbac.ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		add(true, role.Rules)
	}
	role, err := rbac.Roles(metav1.NamespaceSystem).Get(t.Context(), "plimsoll", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	add(false, role.Rules)
	return all
}

// makeProviderConfig makes what the kwok provider reads when no file is named.
func makeProviderConfig(t *testing.T, r *rig) {
	t.Helper()
	maps := r.plane.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem)
	for name, data := range map[string]map[string]string{
		"kwok-provider-config": {"config": `
apiVersion: v1alpha1
readNodesFrom: configmap
nodegroups: {fromNodeLabelKey: group}
configmap: {name: kwok-provider-templates}
`},
		"kwok-provider-templates": {"templates": `
apiVersion: v1
kind: Node
metadata: {name: rights, labels: {group: rights}}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
`},
	} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
		if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := maps.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// deputyStory is what a deputy lives through.
type deputyStory struct {
	nodes    int // that the template desires
	fromFile bool
	elects   bool
	// lost: the machines never register. remembered: there is such a machine
	// already. ends: Plimsoll is asked to end.
	lost, remembered, ends bool
	// drains: the nodes stay until one of them has got a pod.
	drains bool
	// tells: it keeps the status ConfigMap. The others would read what a deputy
	// beside them remembers.
	tells bool
}

// storyFor is the story in which a right is used.
func storyFor(taken right) deputyStory {
	story := deputyStory{nodes: 1, fromFile: true}
	switch {
	case taken.resource == "leases":
		story.elects = true
	case taken.resource == "pods/eviction":
		story.nodes, story.drains = 2, true
	case taken.name == statusConfigMap:
		story.tells = true
	case taken.resource == "configmaps" && taken.verb == "get":
		story.fromFile = taken.name == machinesConfigMap
	case taken.resource == "configmaps" && taken.verb == "create":
		story.lost = true
	case taken.resource == "configmaps" && taken.verb == "update":
		story.lost, story.remembered = true, true
	case taken.resource == "configmaps" && taken.verb == "delete":
		story.remembered, story.ends = true, true
	case taken.resource == "events" && taken.verb == "patch":
		// From the tenth on, events that are alike are counted in one.
		story.nodes = 15
	}
	return story
}

// deputy is a service account with some of Plimsoll's rights, and a Plimsoll that
// uses it.
type deputy struct {
	rig        *rig
	name       string
	kubeconfig string
	dir        string
}

func newDeputy(t *testing.T, r *rig, suffix string, rights []right) *deputy {
	t.Helper()
	d := &deputy{rig: r, name: "deputy-" + suffix, dir: t.TempDir()}
	ctx := t.Context()
	rbac, accounts := r.plane.Client().RbacV1(), r.plane.Client().CoreV1().ServiceAccounts(metav1.NamespaceSystem)

	// 1. The account and its rights.
	meta := metav1.ObjectMeta{Name: d.name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: d.name, Namespace: metav1.NamespaceSystem}}
	var wide, narrow []rbacv1.PolicyRule
	for _, right := range rights {
		if right.clusterWide {
			wide = append(wide, right.rule())
		} else {
			narrow = append(narrow, right.rule())
		}
	}
	_, errAccount := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	_, errWide := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: wide},
		metav1.CreateOptions{})
	_, errNarrow := rbac.Roles(metav1.NamespaceSystem).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: narrow},
		metav1.CreateOptions{})
	_, errBindWide := rbac.ClusterRoleBindings().
		Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: d.name}}, metav1.CreateOptions{})
	_, errBindNarrow := rbac.RoleBindings(metav1.NamespaceSystem).Create(ctx,
		&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: d.name}}, metav1.CreateOptions{})
	t.Cleanup(func() { d.dismiss(t) })
	for _, err := range []error{errAccount, errWide, errNarrow, errBindWide, errBindNarrow} {
		if err != nil {
			t.Fatal(err)
		}
	}

	// 2. The API server hears of rights a moment later; until then all are missing.
	account := "system:serviceaccount:" + metav1.NamespaceSystem + ":" + d.name
	within, cancel := context.WithTimeout(ctx, missedWithin)
	defer cancel()
	for _, right := range []right{rights[0], rights[len(rights)-1]} { // of either role
		asked := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: metav1.NamespaceSystem, Verb: right.verb, Group: right.group, Resource: right.resource, Name: right.name,
			}}}
		err := poll(within, func() (bool, string) {
			answer, err := r.plane.Client().AuthorizationV1().SubjectAccessReviews().Create(ctx, asked, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, fmt.Sprintf("may %s %s? (%v)", d.name, right, err)
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	// 3. Its kubeconfig.
	d.kubeconfig = r.kubeconfigOf(t, d.name)
	return d
}

// dismiss ends the deputy as a crash would, so that it does not clean up after
// the others, and takes away what it had.
func (d *deputy) dismiss(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	if d.runs() {
		if err := d.rig.plane.Processes().Kill(d.name); err != nil {
			t.Error(err)
		}
	}
	for _, node := range d.rig.nodesOf(d.name) {
		if err := d.rig.plane.Client().CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	client := d.rig.plane.Client()
	for what, err := range map[string]error{
		"binding":      client.RbacV1().ClusterRoleBindings().Delete(ctx, d.name, metav1.DeleteOptions{}),
		"role":         client.RbacV1().ClusterRoles().Delete(ctx, d.name, metav1.DeleteOptions{}),
		"own binding":  client.RbacV1().RoleBindings(metav1.NamespaceSystem).Delete(ctx, d.name, metav1.DeleteOptions{}),
		"own role":     client.RbacV1().Roles(metav1.NamespaceSystem).Delete(ctx, d.name, metav1.DeleteOptions{}),
		"account":      client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Delete(ctx, d.name, metav1.DeleteOptions{}),
		"memory":       d.rig.forget(ctx),
		"leader lease": ignoreNotFound(client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(ctx, leaseName, metav1.DeleteOptions{})),
	} {
		if err != nil {
			t.Errorf("delete the %s of %s: %v", what, d.name, err)
		}
	}
}

func (d *deputy) runs() bool {
	return slices.ContainsFunc(d.rig.plane.Processes().Processes(), func(s supervise.Status) bool {
		return s.Name == d.name && s.Running
	})
}

// end asks the deputy's Plimsoll to end.
func (d *deputy) end(t *testing.T) {
	t.Helper()
	if _, err := d.rig.plane.Processes().End(d.name); err != nil {
		t.Fatal(err)
	}
}

func (d *deputy) log() string { return filepath.Join(d.dir, "log") }

func (d *deputy) start(t *testing.T, story deputyStory) {
	t.Helper()
	templates := ""
	if story.fromFile {
		templates = filepath.Join(d.dir, templatesFile)
		more := ""
		if story.lost {
			more += ", " + faultAnnotation + ": never-registers"
		}
		if story.drains {
			more += ", " + staysAnnotation + `: "true"`
		}
		text := fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata:
  name: %[1]s
  annotations: {%[2]s: %[1]s, %[3]s: "%[4]d"%[5]s}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
`, d.name, groupAnnotation, countAnnotation("desired"), story.nodes, more)
		if err := os.WriteFile(templates, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port, err := controlplane.FreePort(nil)
	if err != nil {
		t.Fatal(err)
	}
	process := autoscaler.Setting{
		Binary:     binary,
		Kubeconfig: d.kubeconfig,
		Cloud:      autoscaler.Kwok(templates),
		Address:    fmt.Sprintf("127.0.0.1:%d", port),
		Flags: []string{"--scan-interval=1s", "--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=1s",
			"--node-delete-delay-after-taint=0s", fmt.Sprintf("--leader-elect=%t", story.elects),
			fmt.Sprintf("--write-status-configmap=%t", story.tells)},
	}.Process()
	process.Name, process.Log = d.name, d.log()
	if err := d.rig.plane.Launch(process); err != nil {
		t.Fatal(err)
	}
}

// drainOne puts a pod on one of the deputy's nodes, which may then go.
func (d *deputy) drainOne(t *testing.T, nodes int) {
	t.Helper()
	d.waitNodes(t, nodes)
	node := d.rig.nodesOf(d.name)[0].Name
	pods := d.rig.plane.Client().CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.name, Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
		if err := ignoreNotFound(pods.Delete(context.WithoutCancel(t.Context()), d.name, now)); err != nil {
			t.Error(err)
		}
	})
	d.release(t, node)
}

// release lets a node go.
func (d *deputy) release(t *testing.T, node string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, staysAnnotation)
	_, err := d.rig.plane.Client().CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch,
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// waitNodes waits until the deputy's group has that many nodes.
func (d *deputy) waitNodes(t *testing.T, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), missedWithin)
	defer cancel()
	err := poll(ctx, func() (bool, string) {
		n := len(d.rig.nodesOf(d.name))
		return n == want, fmt.Sprintf("%d nodes, want %d; its log:\n%s", n, want, d.read(t))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (d *deputy) read(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(d.log())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// waitLog waits until the deputy's Plimsoll has said something.
func (d *deputy) waitLog(t *testing.T, pattern *regexp.Regexp) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), missedWithin)
	defer cancel()
	err := poll(ctx, func() (bool, string) {
		text := d.read(t)
		return pattern.MatchString(text), fmt.Sprintf("it never said %s, but:\n%s", pattern, text)
	})
	if err != nil {
		t.Error(err)
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
