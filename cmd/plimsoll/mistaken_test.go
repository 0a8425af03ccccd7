package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatIsNoPage: what answers at --url with something else is no leader, and what never ends is given up after
// --request-timeout.
func TestWhatIsNoPage(t *testing.T) {
	answer := func(text string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
		t.Cleanup(s.Close)
		return s
	}
	hang := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "[")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(hang.Close)
	nothing := filepath.Join(t.TempDir(), "nothing")
	closed := answer("")
	closed.Close()
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"explain group web --url=" + answer("{}").URL, `no explanation of a group (apiVersion "", kind "")`, exitError},
		{"explain pod shop/a --url=" + answer("null").URL, "no explanation of a pod", exitError},
		{"explain node a --url=" + answer(`{"apiVersion":"plimsoll.dev/v1alpha1","kind":"Pod"}`).URL,
			`no explanation of a node (apiVersion "plimsoll.dev/v1alpha1", kind "Pod")`, exitError},
		{"decisions --request-timeout=20ms --url=" + hang.URL, "no answer within 20ms (--request-timeout)", exitError},
		{"explain node a --request-timeout=20ms --url=" + hang.URL, "no answer within 20ms (--request-timeout)", exitError},
		{"ui --no-browser --url=" + closed.URL, "ask the leader", exitError},
		{"ui --no-browser --url=" + closed.URL + " --ui-token-file=" + nothing, "--ui-token-file: open " + nothing, exitError},
		{"dump -f ../../docs/examples/shop --output=", "--output (-o) is empty", exitUsage},
	} {
		var told bytes.Buffer
		code := execute(t.Context(), append([]string{"plimsoll"}, strings.Fields(c.line)...), &told, &told)
		if code != c.code || !strings.Contains(told.String(), c.want) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s", c.line, code, c.code, c.want, &told)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestOutputThatCannotBeWritten: no command ends well whose output is lost, a help neither.
func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, line := range []string{
		"config validate ../../docs/examples/config/plimsoll.yaml", "plan --help", "--help", "version",
	} {
		var told bytes.Buffer
		code := execute(t.Context(), append([]string{"plimsoll"}, strings.Fields(line)...), full{}, &told)
		if code != exitError || !strings.Contains(told.String(), "no space left") {
			t.Errorf("%s: exit code %d:\n%s", line, code, &told)
		}
	}
}

// TestSetsAreCheckedTogether: several of one group hold together, in any order, and a target says what it means.
func TestSetsAreCheckedTogether(t *testing.T) {
	for _, c := range []struct {
		sets string
		want string
		code int
	}{
		{"--set=group=memory,min=12 --set=group=memory,max=20", "", 0},
		{"--set=grp=memory,max=4", "memory,max=4: it begins with \"grp\": want group=NAME, then", exitUsage},
		{"--set=gruop=memory", "gruop=memory: it begins with \"gruop\": want group=NAME, then", exitUsage},
		{"--set=max=4,group=memory", "max=4,group=memory: it begins with \"max\": want group=NAME, then", exitUsage},
		{"--set=group=memry,max=4", "memry,max=4: there is no node group \"memry\": did you mean memory? the groups are ", exitUsage},
		{"--set=group=none,max=4", "none,max=4: there is no node group \"none\"; the groups are general-a, ", exitUsage},
		{"--set=group=memory,mx=4", "memory,mx=4: there is no \"mx\": did you mean max? of a group min, max, ", exitUsage},
		{"--set=group=memory,size=4", "memory,size=4: there is no \"size\"; of a group min, max, ", exitUsage},
		{"--set=group=memory,max=3,max=9", "memory,max=3,max=9: max is given twice", exitUsage},
		{"--set=group=memory,max=9,target=x", "target=x: target: want a number of nodes, at most 100000, not \"x\"", exitUsage},
		{"--set=group=memory,price=NaN", "price=NaN: price: want a price per hour, not \"NaN\"", exitUsage},
		{"--remove-node=memory-33", "--remove-node=memory-33: there is no such node: did you mean memory-3?", exitUsage},
		{"--set=group=memory,max=20 --set=group=memory,min=12", "", 0},
		{"--set=group=memory,min=12 --set=group=memory,max=11", "its minimum 12 is above its maximum 11", exitUsage},
		{"--set=group=memory,target=99", "on the way: they are not there yet", 0},
		{"--set=group=memory,target=99", "that is above its maximum, 3: it does not grow", 0},
		{"--remove-node=memory-1 --remove-node=memory-1", "--remove-node=memory-1 is given twice", exitUsage},
		{"--set=group=memory,target=0", "already; --remove-node supposes one gone", exitUsage},
	} {
		var told bytes.Buffer
		line := append([]string{"plimsoll", "plan", "-f", "../../docs/examples/shop"}, strings.Fields(c.sets)...)
		code := execute(t.Context(), line, &told, &told)
		if code == exitChanges {
			code = 0
		}
		if code != c.code || !strings.Contains(told.String(), c.want) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s", c.sets, code, c.code, c.want, &told)
		}
	}
}

// TestARefusingServerIsToldOnce: what the API server says and what to do about it, each once, whatever was asked.
func TestARefusingServerIsToldOnce(t *testing.T) {
	nodes := corev1.Resource("nodes")
	for _, x := range []struct {
		err        *apierrors.StatusError
		said, hint string
	}{
		{apierrors.NewUnauthorized("Unauthorized"), "Unauthorized", "does not know these credentials; renew"},
		{apierrors.NewForbidden(nodes, "n", errors.New("no")), "is forbidden", "permission"},
		{apierrors.NewInternalError(errors.New("no leader")), "no leader", "does the API server answer?"},
	} {
		x.err.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		kubeconfig, _ := serving(t, int(x.err.ErrStatus.Code), x.err.ErrStatus)
		for _, line := range []string{"plan", "dump", "explain group g", "budgets", "status", "explain plan last",
			"decisions", "ui", "pause web", "resume web"} {
			var out, told bytes.Buffer
			args := append([]string{"plimsoll"}, strings.Fields(line+" --kubeconfig="+kubeconfig)...)
			code := execute(t.Context(), args, &out, &told)
			_, last, _ := strings.Cut("\n"+told.String(), "\nplimsoll: ")
			if code != exitError || strings.Count(last, x.said) != 1 || strings.Count(last, x.hint) != 1 {
				t.Errorf("%s: exit %d, want %q and %q once:\n%s", line, code, x.said, x.hint, last)
			}
		}
	}
}

// TestNamesThatAreNone: an empty name is asked for, and what is a format elsewhere is no file to write.
func TestNamesThatAreNone(t *testing.T) {
	const shop = "../../docs/examples/shop"
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"explain", "node", "", "-f", shop}, "give one name: plimsoll explain node NAME", exitUsage},
		{[]string{"explain", "pod", "", "-f", shop}, "give one name: plimsoll explain pod", exitUsage},
		{[]string{"plan", "-f", ""}, "--filename (-f) is empty", exitUsage},
		{[]string{"config", "validate", ""}, "the name of a file is empty", exitUsage},
		{[]string{"dump", "-f", shop, "-o", "json"}, "json is a format: name a file such as cluster.json", exitUsage},
	} {
		var told bytes.Buffer
		code := execute(t.Context(), append([]string{"plimsoll"}, c.args...), &told, &told)
		if code != c.code || !strings.Contains(told.String(), c.want) {
			t.Errorf("%q: exit code %d, want %d with %q:\n%s", c.args, code, c.code, c.want, &told)
		}
	}
}
