package migrate

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// rolesIn are the roles of a translation by kind, namespace and name.
func rolesIn(t *testing.T, text []byte) map[roleKey][]rbacv1.PolicyRule {
	t.Helper()
	out := map[roleKey][]rbacv1.PolicyRule{}
	for document := range strings.SplitSeq(string(text), "---\n") {
		var r rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "Role" || r.Kind == "ClusterRole" {
			out[roleKey{r.Kind, r.Namespace, r.Name}] = r.Rules
		}
	}
	return out
}

const (
	runs = `apiVersion: apps/v1
kind: Deployment
metadata: {name: ca, namespace: autoscaling}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      serviceAccountName: ca
      containers:
      - {name: ca, image: x/cluster-autoscaler, args: [--cloud-provider=aws, "--nodes=1:2:x"ARGS]}
---
`
	ofTheCluster = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ca}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ca}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ca}
subjects: [{kind: ServiceAccount, name: ca, namespace: autoscaling}]
---
`
	ofANamespace = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ca, namespace: autoscaling}
rules:
- {apiGroups: ["", coordination.k8s.io], resources: [configmaps, leases], verbs: [create, get, update, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ca, namespace: autoscaling}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ca}
subjects: [{kind: ServiceAccount, name: ca, namespace: autoscaling}]
`
)

// TestRightsWhereTheyAreNeeded: a Role counts in its namespace alone, and a binding
// for the account that it names.
func TestRightsWhereTheyAreNeeded(t *testing.T) {
	here := strings.Replace(runs, "ARGS", ", --namespace=autoscaling", 1)
	away := strings.Replace(runs, "ARGS", "", 1) // the lease is in kube-system
	made := roleKey{"Role", "kube-system", "ca-plimsoll"}
	role := roleKey{"Role", "autoscaling", "ca"}
	cluster := roleKey{"ClusterRole", "", "ca"}
	for name, c := range map[string]struct {
		in   string
		has  map[roleKey]string // a resource that it grants
		not  []roleKey
		says string
		no   string
	}{
		"where the Role is": {in: here + ofTheCluster + ofANamespace,
			has: map[roleKey]string{role: "leases", cluster: "volumeattachments"}, not: []roleKey{made},
			no: "Role autoscaling/ca grants more"},
		"elsewhere": {in: away + ofTheCluster + ofANamespace,
			has:  map[roleKey]string{made: "leases", cluster: "volumeattachments"},
			says: "Role kube-system/ca-plimsoll and its RoleBinding are new"},
		"a Role that lacks them": {in: here + ofTheCluster + strings.Replace(ofANamespace, ", leases", "", 1),
			has: map[roleKey]string{role: "leases"}, not: []roleKey{made},
			says: "Role autoscaling/ca grants more: [create] of leases"},
		"no Role": {in: away + ofTheCluster, has: map[roleKey]string{made: "leases"}, says: "Role kube-system/ca-plimsoll and its RoleBinding are new"},
		"by the older name of the account": {
			in:  strings.Replace(here, "serviceAccountName", "serviceAccount", 1) + ofTheCluster + ofANamespace,
			has: map[roleKey]string{cluster: "volumeattachments"}, no: "no ClusterRole",
		},
		"an account of that name elsewhere": {
			in:  here + strings.Replace(ofTheCluster, "namespace: autoscaling", "namespace: other", 1) + ofANamespace,
			not: []roleKey{made}, says: "no ClusterRole",
		},
		"a ClusterRole that is bound in a namespace": {in: here + strings.NewReplacer("ClusterRoleBinding", "RoleBinding",
			"{name: ca}\nroleRef", "{name: ca, namespace: autoscaling}\nroleRef").Replace(ofTheCluster) + ofANamespace,
			has: map[roleKey]string{role: "leases"}, not: []roleKey{made}, says: "no ClusterRole",
			no: "ClusterRole ca grants more"},
		"nothing where it is needed": {in: away + strings.NewReplacer("ClusterRoleBinding", "RoleBinding",
			"{name: ca}\nroleRef", "{name: ca, namespace: autoscaling}\nroleRef").Replace(ofTheCluster) + ofANamespace,
			has: map[roleKey]string{made: "leases"}, says: "no ClusterRole"},
		"in another file": {in: strings.TrimSuffix(away, "---\n"), not: []roleKey{made}, says: "no ClusterRole", no: "is new"},
		"one that suffices in that namespace": {in: here + ofTheCluster + strings.NewReplacer(
			"kind: Role\n", "kind: ClusterRole\n", "kind: Role,", "kind: ClusterRole,",
			"name: ca, namespace: autoscaling}\nrules", "name: all}\nrules", "name: ca}\nsubjects", "name: all}\nsubjects",
		).Replace(ofANamespace),
			not: []roleKey{made, {"Role", "autoscaling", "ca-plimsoll"}}, no: "is new"},
		"a namespace that is known in the cluster": {in: strings.Replace(runs, "ARGS", ", --namespace=$(WHERE)", 1) + ofTheCluster + ofANamespace, not: []roleKey{made}, no: "grants more: [create]"},
		"by a kubeconfig":                          {in: strings.Replace(runs, "ARGS", ", --kubeconfig=/a/b", 1) + ofTheCluster + ofANamespace, not: []roleKey{made}, says: "rights are those of the kubeconfig's user", no: "grants more"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Translate([]byte(c.in), settings)
			if err != nil {
				t.Fatal(err)
			}
			roles := rolesIn(t, got.Text)
			for key, resource := range c.has {
				if !slices.ContainsFunc(roles[key], func(r rbacv1.PolicyRule) bool {
					return slices.Contains(r.Resources, resource)
				}) {
					t.Errorf("%v does not grant %s:\n%s", key, resource, got.Text)
				}
			}
			for _, key := range c.not {
				if roles[key] != nil {
					t.Errorf("%v is there:\n%s", key, got.Text)
				}
			}
			told := got.Notes.String()
			if !strings.Contains(told, c.says) || c.no != "" && strings.Contains(told, c.no) {
				t.Errorf("want %q and not %q, in\n%s", c.says, c.no, told)
			}
		})
	}
}
