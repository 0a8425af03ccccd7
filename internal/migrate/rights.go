package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// need is a right of Plimsoll's; name limits it to an object.
type need struct{ group, resource, name, verbs string }

// clusterNeeds are the rights in the cluster with the nodes. What only one provider needs is in that provider's
// documentation.
var clusterNeeds = []need{
	{"", "pods", "", "list watch"},
	{"", "namespaces", "", "list watch"},
	{"", "persistentvolumeclaims", "", "list watch"},
	{"", "persistentvolumes", "", "list watch"},
	{"apps", "daemonsets", "", "list watch"},
	{"policy", "poddisruptionbudgets", "", "list watch"},
	{"storage.k8s.io", "storageclasses", "", "list watch"},
	{"storage.k8s.io", "csinodes", "", "list watch"},
	{"storage.k8s.io", "csidrivers", "", "list watch"},
	{"storage.k8s.io", "csistoragecapacities", "", "list watch"},
	{"storage.k8s.io", "volumeattachments", "", "list watch"},
	{"", "nodes", "", "get list watch update"},
	{"", "pods/eviction", "", "create"},
	{"", "events", "", "create patch"},
}

// namespaceNeeds are the rights in --namespace.
func namespaceNeeds(c config.Config) []need {
	out := []need{
		{"", "configmaps", "cluster-autoscaler-priority-expander", "list watch"},
		{"", "configmaps", "plimsoll-pauses", "list watch"},
	}
	if c.Report.WriteStatus {
		status := need{"", "configmaps", c.Report.StatusConfigMap, "get update"}
		out = append(out, need{"", "configmaps", "", "create"}, status)
	}
	if c.Leader.Enabled {
		const group = "coordination.k8s.io"
		out = append(out, need{group, "leases", "", "create"}, need{group, "leases", c.Leader.Name, "get update"})
	}
	return out
}

// rightsPage is where the rights are documented.
const rightsPage = docs + "migrate.md#rights"

// bound is what the roles among some objects give to the autoscaler's account.
type bound struct {
	// everywhere and there are the rules that count in all namespaces, and in that of the lease.
	everywhere, there []rbacv1.PolicyRule
	// clusterRole and role are the first that have such rules; nil: none.
	clusterRole, role map[string]any
	any               bool
}

// grant adds what is missing to the roles among the objects that are bound to the autoscaler's account, and says so;
// other roles stay as they are. What is in a Role counts in its namespace alone, and so does a ClusterRole that a
// RoleBinding gives; where no Role is in the namespace of the lease, one is made. Its name is empty where it is only
// known in the cluster.
func (o *objects) grant(namespace string) error {
	to := o.account()
	has, err := rolesOf(o.all, to, namespace)
	if err != nil {
		return err
	}
	if has.clusterRole != nil {
		o.addTo(has.clusterRole, lacking(clusterNeeds, has.everywhere))
	} else {
		o.note("no ClusterRole that is bound to the autoscaler's account is in the file: the rights that Plimsoll needs " +
			"are in " + rightsPage)
		if !has.any {
			return nil // they are in another file
		}
	}
	lack := lacking(namespaceNeeds(o.line.config), append(has.there, has.everywhere...))
	switch {
	case len(lack) == 0:
	case has.role != nil:
		o.addTo(has.role, lack)
	case namespace == "" || to.Namespace == "":
		o.note("rights are missing where the lease is, and no Role is in the file to add them to: %s", inWords(lack))
	default:
		name := to.Name + "-plimsoll"
		role, binding := ofKind("Role", namespace, name), ofKind("RoleBinding", namespace, name)
		role["rules"] = rules(lack)
		binding["roleRef"] = map[string]any{"apiGroup": rbacv1.GroupName, "kind": "Role", "name": name}
		binding["subjects"] = []any{map[string]any{"kind": to.Kind, "name": to.Name, "namespace": to.Namespace}}
		o.all = append(o.all, role, binding)
		o.note("Role %s/%s and its RoleBinding are new, since no Role in namespace %s, where the lease is, is bound to the "+
			"autoscaler's account: %s", namespace, name, namespace, inWords(lack))
	}
	o.note("rights that the roles grant and Plimsoll does not need stay; those that it needs are in " + rightsPage)
	return nil
}

// account is the service account of the Deployment's pods; its namespace is empty where the file does not say it.
func (o *objects) account() rbacv1.Subject {
	pod := o.deployment.Spec.Template.Spec
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: o.deployment.Namespace,
		Name: cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")}
}

// rolesOf finds what roles among the objects give to a service account, everywhere and in a namespace.
func rolesOf(objects []map[string]any, to rbacv1.Subject, namespace string) (bound, error) {
	given := map[string][]string{} // where each role counts; *: everywhere
	for _, o := range objects {
		kind, in := o["kind"], (&unstructured.Unstructured{Object: o}).GetNamespace()
		if kind == "ClusterRoleBinding" {
			in = "*"
		} else if kind != "RoleBinding" {
			continue
		}
		var b rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
		if err := readExactly(o, &b); err != nil {
			return bound{}, fmt.Errorf("%s: %w", named(o), err)
		}
		if slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
			return s.Kind == to.Kind && s.Name == to.Name && sameNamespace(s.Namespace, to.Namespace)
		}) {
			role := named(ofKind(b.RoleRef.Kind, b.Namespace, b.RoleRef.Name))
			given[role] = append(given[role], in)
		}
	}
	has := bound{any: len(given) > 0}
	for _, o := range objects {
		kind, _ := o["kind"].(string)
		if kind != "ClusterRole" && kind != "Role" {
			continue
		}
		var r rbacv1.ClusterRole // a Role has the same rules
		if err := readExactly(o, &r); err != nil {
			return bound{}, fmt.Errorf("%s: %w", named(o), err)
		}
		places := given[named(ofKind(kind, r.Namespace, r.Name))]
		switch {
		case slices.Contains(places, "*"):
			has.everywhere = append(has.everywhere, r.Rules...)
			if has.clusterRole == nil {
				has.clusterRole = o
			}
		case slices.ContainsFunc(places, func(n string) bool { return sameNamespace(n, namespace) }):
			has.there = append(has.there, r.Rules...)
			if kind == "Role" && has.role == nil {
				has.role = o
			}
		}
	}
	return has, nil
}

// ofKind is the beginning of a role or a binding; a ClusterRole has no namespace.
func ofKind(kind, namespace, name string) map[string]any {
	metadata := map[string]any{"name": name, "namespace": namespace}
	if kind == "ClusterRole" {
		delete(metadata, "namespace")
	}
	return map[string]any{"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": kind, "metadata": metadata}
}

// sameNamespace reports whether two namespaces may be one: of an object without one, only who applies it knows where
// it goes.
func sameNamespace(a, b string) bool { return a == "" || b == "" || a == b }

// lacking is what is needed, and not among some rules.
func lacking(needs []need, rules []rbacv1.PolicyRule) []need {
	var out []need
	for _, n := range needs {
		verbs := slices.DeleteFunc(strings.Fields(n.verbs), func(verb string) bool { return grants(rules, n, verb) })
		if n.verbs = strings.Join(verbs, " "); n.verbs != "" {
			out = append(out, n)
		}
	}
	return out
}

// grants reports whether one of the rules gives a verb on what is needed.
func grants(rules []rbacv1.PolicyRule, n need, verb string) bool {
	has := func(list []string, word string) bool {
		return slices.Contains(list, word) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return has(r.APIGroups, n.group) && has(r.Resources, n.resource) && has(r.Verbs, verb) &&
			(len(r.ResourceNames) == 0 || n.name != "" && slices.Contains(r.ResourceNames, n.name))
	})
}

// addTo gives a role more rules.
func (o *objects) addTo(role map[string]any, lack []need) {
	if len(lack) > 0 {
		had, _ := role["rules"].([]any) // rolesOf has read it
		role["rules"] = append(had, rules(lack)...)
		o.note("%s grants more: %s", named(role), inWords(lack))
	}
}

// rules grant what is needed.
func rules(needs []need) []any {
	var out []any
	for _, n := range needs {
		var verbs []any
		for verb := range strings.FieldsSeq(n.verbs) {
			verbs = append(verbs, verb)
		}
		rule := map[string]any{"apiGroups": []any{n.group}, "resources": []any{n.resource}, "verbs": verbs}
		if n.name != "" {
			rule["resourceNames"] = []any{n.name}
		}
		out = append(out, rule)
	}
	return out
}

// inWords is what is needed, for a person.
func inWords(needs []need) string {
	var out []string
	for _, n := range needs {
		resource := strings.TrimSuffix(n.resource+"."+n.group, ".")
		out = append(out, strings.TrimSpace(fmt.Sprintf("[%s] of %s %s", n.verbs, resource, n.name)))
	}
	return strings.Join(out, "; ")
}
