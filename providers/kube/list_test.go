package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWhole(t *testing.T) {
	for _, c := range []struct{ version, next, says string }{
		{"7", "", ""}, {"", "", "not a list"}, {"", "more", "not a list"}, {"7", "more", "a part"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetResourceVersion(c.version)
		list.SetContinue(c.next)
		err := Whole(list)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("version %q, continue %q: %v", c.version, c.next, err)
		}
	}
}
