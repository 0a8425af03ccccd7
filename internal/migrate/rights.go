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
		out = append(out, need{"coordination.k8s.io", "leases", "", "create"}, need{"coordination.k8s.io", "leases", p.lease, "get update"})
	}
	return out
}

// grant adds what is missing to the roles among the objects that are bound to the
// autoscaler's account, and says so. Others are nobody's business here.
func grant(objects []map[string]any, account string, p place) ([]string, error) {
	bound, err := rolesOf(objects, account)
	if err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	var role, clusterRole map[string]any
	for _, o := range objects {
		kind, _ := o["kind"].(string)
		if kind != "ClusterRole" && kind != "Role" || !bound[keyOf(o)] {
			continue
		}
		var r rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", named(o), err)
		}
		rules = append(rules, r.Rules...)
		switch {
		case kind == "Role" && role == nil:
			role = o
		case kind == "ClusterRole" && clusterRole == nil:
			clusterRole = o
		}
	}
	if clusterRole == nil {
		return []string{"no ClusterRole that is bound to the autoscaler's account is in the file: the rights that Plimsoll needs are in " + docs + "migrate.md#rights"}, nil
	}
	var out []string
	for _, part := range []struct {
		needs []need
		to    map[string]any
	}{{clusterNeeds, clusterRole}, {namespaceNeeds(p), role}} {
		var missing []any
		var words []string
		for _, n := range part.needs {
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
			missing = append(missing, rule)
			words = append(words, strings.TrimSpace(fmt.Sprintf("%v of %s %s", verbs, cmp.Or(strings.Trim(n.resource+"."+n.group, "."), n.resource), n.name)))
		}
		switch {
		case len(missing) == 0:
		case part.to == nil:
			out = append(out, "rights are missing, and no Role is in the file to add them to: "+strings.Join(words, "; "))
		default:
			had, _, err := unstructured.NestedSlice(part.to, "rules")
			if err != nil {
				return nil, fmt.Errorf("%s: rules: %w", named(part.to), err)
			}
			if err := unstructured.SetNestedSlice(part.to, append(had, missing...), "rules"); err != nil {
				return nil, fmt.Errorf("%s: rules: %w", named(part.to), err)
			}
			out = append(out, fmt.Sprintf("%s grants more: %s", named(part.to), strings.Join(words, "; ")))
		}
	}
	return append(out, "rights that the roles grant and Plimsoll does not need stay; those that it needs are in "+docs+"migrate.md#rights"), nil
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

// rolesOf are the roles that bindings among the objects give to a service account.
func rolesOf(objects []map[string]any, account string) (map[roleKey]bool, error) {
	bound := map[roleKey]bool{}
	for _, o := range objects {
		key := keyOf(o)
		if key.kind != "ClusterRoleBinding" && key.kind != "RoleBinding" {
			continue
		}
		var b rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", named(o), err)
		}
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.ServiceAccountKind && s.Name == account }) {
			continue
		}
		role := roleKey{b.RoleRef.Kind, key.namespace, b.RoleRef.Name}
		if role.kind == "ClusterRole" {
			role.namespace = ""
		}
		bound[role] = true
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
