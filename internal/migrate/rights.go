package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// needs are Plimsoll's rights in the cluster with the nodes; name limits one to an
// object. What only one provider needs is in that provider's documentation.
// Missing rights are looked for where roles are in the file.
type need struct{ group, resource, name, verbs string }

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

// namespaceNeeds are those in --namespace.
func namespaceNeeds(p place) []need {
	out := []need{{"", "configmaps", "cluster-autoscaler-priority-expander", "list watch"}}
	if p.writes {
		out = append(out, need{"", "configmaps", "", "create"}, need{"", "configmaps", p.status, "get update"})
	}
	if p.elects {
		out = append(out, need{"coordination.k8s.io", "leases", "", "create"}, need{
			"coordination.k8s.io", "leases", p.lease, "get update",
		})
	}
	return out
}

// grant adds what is missing to the roles among the objects that are bound to the
// autoscaler's account, and says so. Others are nobody's business here. What is in a
// Role counts in its namespace alone, and so does a ClusterRole that a RoleBinding
// gives; where no Role is in the namespace of the lease, one is made.
func grant(objects []map[string]any, to account, p place) ([]map[string]any, []string, error) {
	bound, err := rolesOf(objects, to)
	if err != nil {
		return nil, nil, err
	}
	var everywhere, there []rbacv1.PolicyRule
	var role, clusterRole map[string]any
	for _, o := range objects {
		kind, _ := o["kind"].(string)
		if kind != "ClusterRole" && kind != "Role" {
			continue
		}
		key := keyOf(o)
		places := bound[key]
		var r rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &r); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", named(o), err)
		}
		if slices.Contains(places, allNamespaces) {
			everywhere = append(everywhere, r.Rules...)
			if clusterRole == nil {
				clusterRole = o
			}
			continue
		}
		if !slices.ContainsFunc(places, func(n string) bool { return sameNamespace(n, p.namespace) }) {
			continue
		}
		there = append(there, r.Rules...)
		if kind == "Role" && role == nil {
			role = o
		}
	}
	const page = docs + "migrate.md#rights"
	var out []string
	if clusterRole == nil {
		out = append(out, "no ClusterRole that is bound to the autoscaler's account is in the file: the rights that "+
			"Plimsoll needs are in "+page)
		if len(bound) == 0 {
			return objects, out, nil // they are in another file
		}
	} else {
		rules, words := missing(clusterNeeds, everywhere)
		told, err := addTo(clusterRole, rules, words)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, told...)
	}
	rules, words := missing(namespaceNeeds(p), append(there, everywhere...))
	switch {
	case len(rules) == 0:
	case role != nil:
		told, err := addTo(role, rules, words)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, told...)
	case p.namespace == "" || to.namespace == "":
		out = append(out,
			"rights are missing where the lease is, and no Role is in the file to add them to: "+strings.Join(words, "; "))
	default:
		name := to.name + "-plimsoll"
		objects = append(objects, roleWith(name, p.namespace, rules), bindingOf(name, p.namespace, to))
		out = append(out, fmt.Sprintf("Role %s/%s and its RoleBinding are new, since no Role in namespace %s, where the "+
			"lease is, is bound to the autoscaler's account: %s", p.namespace, name, p.namespace, strings.Join(words, "; ")))
	}
	return objects, append(out,
		"rights that the roles grant and Plimsoll does not need stay; those that it needs are in "+page), nil
}

// sameNamespace tells whether two namespaces may be one: of an object without one,
// only who applies it knows where it goes.
func sameNamespace(a, b string) bool { return a == "" || b == "" || a == b }

// missing are the rules that lack among some, and the same in words.
func missing(needs []need, rules []rbacv1.PolicyRule) (lacking []any, words []string) {
	for _, n := range needs {
		var verbs []any
		for verb := range strings.FieldsSeq(n.verbs) {
			if !grants(rules, n, verb) {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) == 0 {
			continue
		}
		rule := map[string]any{"apiGroups": []any{n.group}, "resources": []any{n.resource}, "verbs": verbs}
		if n.name != "" {
			rule["resourceNames"] = []any{n.name}
		}
		lacking = append(lacking, rule)
		words = append(words, strings.TrimSpace(fmt.Sprintf("%v of %s %s",
			verbs, cmp.Or(strings.Trim(n.resource+"."+n.group, "."), n.resource), n.name)))
	}
	return lacking, words
}

// addTo gives a role more rules.
func addTo(role map[string]any, rules []any, words []string) ([]string, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	had, _, err := unstructured.NestedSlice(role, "rules")
	if err != nil {
		return nil, fmt.Errorf("%s: rules: %w", named(role), err)
	}
	if err := unstructured.SetNestedSlice(role, append(had, rules...), "rules"); err != nil {
		return nil, fmt.Errorf("%s: rules: %w", named(role), err)
	}
	return []string{fmt.Sprintf("%s grants more: %s", named(role), strings.Join(words, "; "))}, nil
}

func roleWith(name, namespace string, rules []any) map[string]any {
	return map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": "Role",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "rules": rules,
	}
}

// bindingOf gives an account the Role of the same name.
func bindingOf(name, namespace string, to account) map[string]any {
	return map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": "RoleBinding",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"roleRef":  map[string]any{"apiGroup": rbacv1.GroupName, "kind": "Role", "name": name},
		"subjects": []any{map[string]any{"kind": rbacv1.ServiceAccountKind, "name": to.name, "namespace": to.namespace}},
	}
}

// roleKey names a role: its namespace is empty for a ClusterRole.
type roleKey struct{ kind, namespace, name string }

func keyOf(o map[string]any) roleKey {
	kind, _ := o["kind"].(string)
	namespace, _, _ := unstructured.NestedString(o, "metadata", "namespace")
	name, _, _ := unstructured.NestedString(o, "metadata", "name")
	if kind == "ClusterRole" {
		namespace = ""
	}
	return roleKey{kind, namespace, name}
}

// allNamespaces is where a role counts that a ClusterRoleBinding gives.
const allNamespaces = "*"

// rolesOf are the roles that bindings among the objects give to a service account,
// each with the namespaces that it is given for.
func rolesOf(objects []map[string]any, to account) (map[roleKey][]string, error) {
	bound := map[roleKey][]string{}
	for _, o := range objects {
		key := keyOf(o)
		if key.kind != "ClusterRoleBinding" && key.kind != "RoleBinding" {
			continue
		}
		var b rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", named(o), err)
		}
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
			return s.Kind == rbacv1.ServiceAccountKind && s.Name == to.name && sameNamespace(s.Namespace, to.namespace)
		}) {
			continue
		}
		role, where := roleKey{b.RoleRef.Kind, key.namespace, b.RoleRef.Name}, key.namespace
		if role.kind == "ClusterRole" {
			role.namespace = ""
		}
		if key.kind == "ClusterRoleBinding" {
			where = allNamespaces
		}
		bound[role] = append(bound[role], where)
	}
	return bound, nil
}

// grants tells whether one of the rules gives a verb on what is needed.
func grants(rules []rbacv1.PolicyRule, n need, verb string) bool {
	has := func(list []string, word string) bool {
		return slices.Contains(list, word) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return has(r.APIGroups, n.group) && has(r.Resources, n.resource) && has(r.Verbs, verb) &&
			(len(r.ResourceNames) == 0 || n.name != "" && slices.Contains(r.ResourceNames, n.name))
	})
}
