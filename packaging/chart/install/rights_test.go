package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// right is the smallest thing that RBAC can grant.
type right struct {
	namespace             string // of a Role; empty for a ClusterRole
	verb, group, resource string
	name                  string // of the one object; empty for all
}

func (r right) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", r.namespace, r.verb, r.group, r.resource, r.name))
}

func (r right) covers(u use) bool {
	return r.verb == u.verb && r.group == u.group && r.resource == u.resource &&
		(r.namespace == "" || r.namespace == u.namespace) && (r.name == "" || r.name == u.name)
}

// rightsOf are all rights that an account has by roles of its own, as the API server
// stores them.
func rightsOf(t *testing.T, client kubernetes.Interface, namespace, account string) []right {
	t.Helper()
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}
	var out []right
	wide, err := client.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range wide.Items {
		if slices.Contains(b.Subjects, subject) {
			role, err := client.RbacV1().ClusterRoles().Get(t.Context(), b.RoleRef.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rightsIn("", role.Rules)...)
		}
	}
	narrow, err := client.RbacV1().RoleBindings("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range narrow.Items {
		if slices.Contains(b.Subjects, subject) {
			role, err := client.RbacV1().Roles(b.Namespace).Get(t.Context(), b.RoleRef.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rightsIn(b.Namespace, role.Rules)...)
		}
	}
	return out
}

func rightsIn(namespace string, rules []rbacv1.PolicyRule) []right {
	var out []right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						out = append(out, right{namespace, verb, group, resource, name})
					}
				}
			}
		}
	}
	return out
}

// compare fails for every right that nothing has used, and for every use that nothing
// granted. A right that only says again what another one says is one too many: of two that
// cover a use, the first is the one that was used. Rights that are used too seldom to be seen
// here are named by the caller, who says when.
func compare(t *testing.T, granted []right, r *recorder, seldom ...right) {
	t.Helper()
	if len(granted) == 0 {
		t.Error("no right was granted: is the account's name right?")
	}
	uses, forbidden := r.all()
	used := map[right]bool{}
	for _, u := range uses {
		if i := slices.IndexFunc(granted, func(g right) bool { return g.covers(u) }); i >= 0 {
			used[granted[i]] = true
		} else {
			t.Errorf("nothing grants: %s", u)
		}
	}
	for _, u := range forbidden {
		t.Errorf("forbidden: %s", u)
	}
	for _, g := range granted {
		if !used[g] && !slices.Contains(seldom, g) {
			t.Errorf("granted, and not used: %s", g)
		}
	}
}
