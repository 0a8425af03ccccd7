package clusterapitest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func (w *World) newSet(d Object, rev, replicas int) {
	template, _ := get(d, "spec", "template").(Object)
	w.names++
	w.put(Object{
		"apiVersion": Group + "/v1beta2", "kind": "MachineSet",
		"metadata": Object{
			"namespace": getText(d, "metadata", "namespace"), "name": fmt.Sprintf("%s-%s", getText(d, "metadata", "name"), suffix(w.names)),
			"annotations": Object{revision: strconv.Itoa(rev)}, "labels": clone(template)["metadata"].(Object)["labels"],
			"ownerReferences": []any{ownerReference(d)},
		},
		"spec": Object{"clusterName": getText(d, "spec", "clusterName"), "replicas": int64(replicas), "selector": clone(d)["spec"].(Object)["selector"], "template": clone(template)},
	})
}

// machineSet makes or deletes Machines until there are as many as there should

// be. Machines on their way out are counted, and come first.

func (w *World) newMachine(owner Object) {
	w.names++
	template, _ := get(owner, "spec", "template").(Object)
	namespace := getText(owner, "metadata", "namespace")
	m := Object{
		"apiVersion": Group + "/v1beta2", "kind": "Machine",
		"metadata": Object{
			"namespace": namespace, "name": fmt.Sprintf("%s-%s", getText(owner, "metadata", "name"), suffix(w.names)),
			"labels": clone(template)["metadata"].(Object)["labels"], "finalizers": []any{finalizer},
			"ownerReferences": []any{ownerReference(owner)},
		},
		"spec":   clone(template)["spec"],
		"status": Object{"phase": "Pending"},
	}
	w.put(m)
	w.machine[keyOf(m)] = life{boot: w.now().Add(w.timing.Boot)}
}

// pool is what an infrastructure provider does for a MachinePool: Machines, or

// provider ids of which it chooses itself who goes.

func (w *World) owned(kind string, owner Object) []Object {
	var out []Object
	for _, k := range w.keys(kind) {
		refs, _ := get(w.objects[k], "metadata", "ownerReferences").([]any)
		for _, ref := range refs {
			r, _ := ref.(Object)
			if k.namespace == getText(owner, "metadata", "namespace") && getText(r, "uid") == getText(owner, "metadata", "uid") {
				out = append(out, w.objects[k])
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Object) int {
		return cmp.Compare(number(a), number(b))
	})
	return out
}

// number is an object's place in the order of making.

func number(o Object) int {
	u := unstructured.Unstructured{Object: o}
	n := 0
	_, _ = fmt.Sscanf(string(u.GetUID()), "uid-%d", &n) // one of a test's own is the first
	return n
}

func ownerReference(o Object) Object {
	return Object{"apiVersion": Group + "/v1beta2", "kind": getText(o, "kind"), "name": getText(o, "metadata", "name"), "uid": getText(o, "metadata", "uid"), "controller": true}
}

// suffix makes a number look like the end of a generated name. It goes through

// the numbers in no order of names.

func suffix(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz"
	n = (n*7919 + 104729) % (len(letters) * len(letters) * len(letters) * len(letters))
	var out []byte
	for range 4 {
		out = append(out, letters[n%len(letters)])
		n /= len(letters)
	}
	return string(out)
}

// Machines are those of a group, through its MachineSets.
