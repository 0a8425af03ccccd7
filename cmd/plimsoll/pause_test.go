package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
)

// TestPausesAreKept: the ConfigMap is made with the first pause, keeps what others have put there, forgets what is
// over, and is left alone where it cannot be understood.
func TestPausesAreKept(t *testing.T) {
	client := fake.NewClientset()
	maps := client.CoreV1().ConfigMaps("n")
	add := func(p policy.GroupPause) error {
		return changePauses(t.Context(), client, "n", func(now []policy.GroupPause) ([]policy.GroupPause, error) {
			return append(now, p), nil
		})
	}
	read := func() *corev1.ConfigMap {
		m, err := maps.Get(t.Context(), observe.PauseConfigMap, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	now := time.Now()
	for _, p := range []policy.GroupPause{
		{Group: "over", Since: now, Until: now.Add(time.Nanosecond)}, {Group: "a/b", Since: now, Reason: "audit"},
	} {
		if err := add(p); err != nil {
			t.Fatal(err)
		}
	}
	m := read()
	got, err := policy.ParsePauses(m.Data[observe.PauseKey])
	if err != nil || len(got) != 1 || got[0].Group != "a/b" || got[0].Reason != "audit" {
		t.Errorf("%+v %v", got, err)
	}
	m.Data[observe.PauseKey] = "[{]"
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := add(policy.GroupPause{Group: "c"}); err == nil || read().Data[observe.PauseKey] != "[{]" {
		t.Errorf("%v: what cannot be understood was written over", err)
	}
}

// TestPausesOnTheCommandLine: what is given, and what is left.
func TestPausesOnTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"pause"}, 2}, {[]string{"pause", "a", "--all"}, 2}, {[]string{"pause", "a", "b"}, 2},
		{[]string{"resume"}, 2}, {[]string{"resume", ""}, 2}, {[]string{"pause", "a", "--namespace=N N"}, 2},
		{[]string{"pause", "a", "--for=0s"}, 2}, {[]string{"pause", "a", "--for=-1h"}, 2},
		{[]string{"pause", "a", "--until=soon"}, 2}, {[]string{"pause", "a", "--until="}, 2},
		{[]string{"pause", "a", "--until=2020-01-01T00:00:00Z"}, 2},
		{[]string{"pause", "a", "--until=2099-01-01T00:00:00Z", "--for=1h"}, 2},
	} {
		cmd := root()
		// Nothing is asked: there is no cluster.
		cmd.SetArgs(append(c.args, "--kubernetes=http://127.0.0.1:1"))
		if err := cmd.ExecuteContext(t.Context()); !errors.As(err, new(misuse)) {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}

// statusOfGroups is the ConfigMap in which a leader's status lists groups.
func statusOfGroups(names ...string) *corev1.ConfigMap {
	c := config.Defaults()
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Cluster.Namespace, Name: c.Report.StatusConfigMap},
		Data: map[string]string{"status": "time: 2026-01-01 00:00:00 +0000 UTC\nautoscalerStatus: Running\n" +
			"nodeGroups: [{name: " + strings.Join(names, "}, {name: ") + "}]\n"}}
}

// TestAMistypedGroup: a pause of what is no group is made, and told.
func TestAMistypedGroup(t *testing.T) {
	c := config.Defaults()
	client := fake.NewClientset(statusOfGroups("web", "batch"))
	for name, want := range map[string]string{
		"wbe": `no group is called "wbe": did you mean "web"?`, "gpu": `no group is called "gpu"; the pause`, "w*": "", "web": "",
	} {
		if got := unknownGroup(t.Context(), client, c, name); (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := unknownGroup(t.Context(), fake.NewClientset(), c, "web"); !strings.HasPrefix(got, "it is not known") {
		t.Errorf("without a status: %q", got)
	}
}
