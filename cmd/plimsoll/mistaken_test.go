package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
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
		{"--set=group=memory,target=99", "on the way, not there yet", 0},
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
		{apierrors.NewInternalError(errors.New("no leader")), "no leader", "the API server has answered, and could not do it"},
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

// TestAKubeconfigThatIsNone: what was tried on what, what is wrong in words for a person, and what to do.
func TestAKubeconfigThatIsNone(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("KUBECONFIG", "env")
	for _, c := range []struct{ text, want string }{
		{"", "it names no cluster"},
		{"hello", "it is no kubeconfig: it holds a string, not clusters, contexts and users; kubectl config view"},
		{"a: [", "did not find expected node content; kubectl config view"},
		{"clusters: 3", "its field clusters cannot be a number; kubectl"},
		{"{apiVersion: v1, kind: Pod}", "it is a Pod, not a kubeconfig, which is of kind Config; kubectl"},
		{"current-context: prod", "context was not found for specified context: prod, cluster has no server defined]; kubectl config get-contexts"},
	} {
		for name, flag := range map[string]string{"given": "--kubeconfig=given", "env": ""} {
			if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			by, want := cmp.Or(flag, "KUBECONFIG=env"), c.want
			if c.text == "" && name == "env" {
				by, want = "--kubeconfig, --kubernetes, the pod's own service account, KUBECONFIG or ~/.kube/config", "none"
			}
			var told bytes.Buffer
			code := execute(t.Context(), strings.Fields("plimsoll status "+flag), &told, &told)
			text := told.String()
			if code != exitError || !strings.HasPrefix(text, "plimsoll: find the API server by "+by+": ") ||
				!strings.Contains(text, want) || strings.Contains(text, "Go ") || strings.Contains(text, "struct") {
				t.Errorf("%q by %s: exit code %d, want %s:\n%s", c.text, by, code, want, text)
			}
		}
	}
	paths := map[string]string{"nowhere": "there is no such file", ".": "it is a folder: name a file in it"}
	for path, want := range paths {
		var told bytes.Buffer
		code := execute(t.Context(), []string{"plimsoll", "status", "--kubeconfig=" + path}, &told, &told)
		if code != exitError || told.String() != "plimsoll: find the API server by --kubeconfig="+path+": "+want+"\n" {
			t.Errorf("%s: exit code %d, want %s:\n%s", path, code, want, &told)
		}
	}
}

// TestALeaderThatIsNotFound: --url is named where there may be a page all the same.
func TestALeaderThatIsNotFound(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(closed.URL, "http://"), ":")
	for holder, want := range map[string]string{
		"absent": "there is no lease", "": "no process holds the lease",
		"elsewhere_1": "the leader elsewhere is no pod of namespace",
		host + "_1":   "ask the leader at " + closed.URL,
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(r.URL.Path, "/leases/") && holder != "absent" {
				fmt.Fprintf(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":%q}}`, holder)
				return
			}
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
		}))
		t.Cleanup(api.Close)
		for _, line := range []string{"decisions", "ui --no-browser", "explain plan last"} {
			var told bytes.Buffer
			at := " --kubernetes=" + api.URL + " --ui-address=127.0.0.1:" + port
			code := execute(t.Context(), strings.Fields("plimsoll "+line+at), &told, &told)
			if text := told.String(); code != exitError || !strings.Contains(text, want) || strings.Count(text, "--url=") != 1 {
				t.Errorf("%s, held by %q: exit code %d, want %q and --url:\n%s", line, holder, code, want, text)
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
		{[]string{"explain", "node", "node/nix", "-f", shop}, "there is no node nix: ", exitError},
		{[]string{"explain", "group", "group/gen", "-f", shop}, "; did you mean general-a or general-b or general-c?", exitError},
		{[]string{"explain", "pod", "pod/nix", "-n", "shop", "-f", shop}, "there is no pod shop/nix: ", exitError},
		{[]string{"explain", "pod", "pods/shop/nix", "-f", shop}, "there is no pod shop/nix: ", exitError},
		{[]string{"explain", "pod", "pod/nix", "-f", shop}, "there is no pod pod/nix: ", exitError},
		{[]string{"explain", "pod", "pod/nix", "-n", "pod", "-f", shop}, "there is no pod pod/nix: ", exitError},
		{[]string{"config", "diff", "x"}, "1 argument given; want plimsoll config diff FILE FILE", exitUsage},
		{[]string{"version", "-o", "tabel"}, `there is no format "tabel"; use text or json`, exitUsage},
		{[]string{"version", "-o", "table"}, "", 0},
		{[]string{"dump", "-f", shop, "-o", "table"}, "table is a format: name a file", exitUsage},
		{[]string{"dump", "-f", shop, "-o", "json"}, "json is a format: name a file such as cluster.json", exitUsage},
	} {
		var told bytes.Buffer
		code := execute(t.Context(), append([]string{"plimsoll"}, c.args...), &told, &told)
		if code != c.code || !strings.Contains(told.String(), c.want) {
			t.Errorf("%q: exit code %d, want %d with %q:\n%s", c.args, code, c.code, c.want, &told)
		}
	}
}
