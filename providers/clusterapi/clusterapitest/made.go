package clusterapitest

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// newSet makes a MachineDeployment's MachineSet of a revision.
func newSet(o *kubetest.Objects, d kubetest.Object, rev, replicas int) {
	template, _ := kubetest.Get(d, "spec", "template").(kubetest.Object)
	o.Put(kubetest.Object{
		"apiVersion": Group + "/v1beta2", "kind": "MachineSet",
		"metadata": kubetest.Object{
			"namespace":       kubetest.Text(d, "metadata", "namespace"),
			"name":            o.NewName(kubetest.Text(d, "metadata", "name") + "-"),
			"annotations":     kubetest.Object{revision: strconv.Itoa(rev)},
			"labels":          kubetest.Get(kubetest.Clone(template), "metadata", "labels"),
			"ownerReferences": []any{kubetest.OwnerReference(d)},
		},
		"spec": kubetest.Object{
			"clusterName": kubetest.Text(d, "spec", "clusterName"), "replicas": int64(replicas),
			"selector": kubetest.Get(kubetest.Clone(d), "spec", "selector"), "template": kubetest.Clone(template),
		},
	})
}

// newMachine makes a Machine of its owner's template.
func (c *controllers) newMachine(o *kubetest.Objects, owner kubetest.Object) {
	template, _ := kubetest.Get(owner, "spec", "template").(kubetest.Object)
	m := kubetest.Object{
		"apiVersion": Group + "/v1beta2", "kind": "Machine",
		"metadata": kubetest.Object{
			"namespace": kubetest.Text(owner, "metadata", "namespace"),
			"name":      o.NewName(kubetest.Text(owner, "metadata", "name") + "-"),
			"labels":    kubetest.Get(kubetest.Clone(template), "metadata", "labels"), "finalizers": []any{finalizer},
			"ownerReferences": []any{kubetest.OwnerReference(owner)},
		},
		"spec":   kubetest.Clone(template)["spec"],
		"status": kubetest.Object{"phase": "Pending"},
	}
	o.Put(m)
	c.machine[kubetest.KeyOf(m)] = life{boot: o.Now().Add(o.Timing().Boot)}
}

// owned are an object's own of a kind, sorted by age.
func owned(o *kubetest.Objects, kind string, owner kubetest.Object) []kubetest.Object {
	return o.Owned(kind, kubetest.Text(owner, "metadata", "namespace"), types.UID(kubetest.Text(owner, "metadata", "uid")))
}
