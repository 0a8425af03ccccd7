package model

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWorkload: what made a pod goes by its own name, whatever the pod is called.
func TestWorkload(t *testing.T) {
	for _, c := range []struct{ kind, group, maker, hash, pod, want string }{
		{"ReplicaSet", "apps", "api-6f7d", "6f7d", "api-6f7d-x2k4p", "Deployment shop/api"},
		{"ReplicaSet", "apps", "api-with-a-name-that-is-cut-in-pods-6f7d", "6f7d", "api-with-a-na-x2k4p",
			"Deployment shop/api-with-a-name-that-is-cut-in-pods"},
		{"ReplicaSet", "apps", "app", "", "w9", "ReplicaSet shop/app"},
		{"ReplicaSet", "apps", "app-1", "2", "app-1-x", "ReplicaSet shop/app-1"},
		{"ReplicaSet", "example.com", "api-6f7d", "6f7d", "api-6f7d-x", "ReplicaSet shop/api-6f7d"},
		{"Job", "batch", "idx", "", "idx-0-abcde", "Job shop/idx"},
		{"Cluster", "pg.example.com", "pg", "", "pg-1", "Cluster shop/pg"},
		{"", "", "", "", "alone", ""},
		{"Node", "", "", "", "static-n1", ""},
	} {
		s := named(c.pod)
		s.Contents.Facts[0] = &Facts{Controller: c.kind, Group: c.group, Maker: c.maker}
		s.Contents.Labels[0] = &LabelSet{Labels: map[string]string{"pod-template-hash": c.hash}}
		if got := s.Contents.Workload(s.Pending[0].Pods[0]); got != c.want {
			t.Errorf("pod %s of %s %s: %q, want %q", c.pod, c.kind, c.maker, got, c.want)
		}
	}
}

// named is a snapshot with one class of pods of these names, which nothing made.
func named(pods ...string) *Snapshot {
	spec := &Spec{Key: "s", Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}}
	s := &Snapshot{Classes: []Class{{Spec: spec}}, Pending: []Pending{{}}}
	s.Contents = Contents{Specs: []*Spec{spec}, Labels: []*LabelSet{{}}, Facts: []*Facts{{}}}
	for _, name := range pods {
		s.Pending[0].Pods = append(s.Pending[0].Pods, &Pod{Name: name})
	}
	return s
}

// TestClassNames: pods that nothing made go by whole words, and no two classes have one name.
func TestClassNames(t *testing.T) {
	for _, c := range []struct {
		pods []string
		want string
	}{
		{[]string{"web-12"}, "shop/web-12"},
		{[]string{"web-12", "web-13"}, "shop/web"},
		{[]string{"w8", "w9"}, "shop/w"},
		{[]string{"job-x2ka", "job-x2kb", "job-x2kc"}, "shop/job"},
		{[]string{"alp", "alpha"}, "shop/alp and 1 other"},
		{[]string{"1", "2"}, "shop/1 and 1 other"},
	} {
		if got := named(c.pods...).ClassNames(); got[0] != c.want {
			t.Errorf("pods %v: %s, want %s", c.pods, got, c.want)
		}
	}
	s := named("zk-1", "zk-2")
	s.Classes = append(s.Classes, s.Classes[0], s.Classes[0])
	s.Pending = append(s.Pending, Pending{Class: 1, Pods: []*Pod{{Name: "zk-3"}, {Name: "zk-4"}}})
	if got, want := fmt.Sprint(s.ClassNames()), "[shop/zk (like zk-1) shop/zk (like zk-3) shop/class-2]"; got != want {
		t.Errorf("classes of one name: %s, want %s", got, want)
	}
}
