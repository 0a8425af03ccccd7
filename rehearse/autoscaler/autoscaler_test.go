package autoscaler_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
)

func TestProcessOfSetting(t *testing.T) {
	p := autoscaler.Setting{
		Binary:     "/bin/plimsoll",
		Kubeconfig: "/k",
		Cloud:      autoscaler.Kwok("/t.yaml"),
		Address:    "127.0.0.1:1",
		Flags:      []string{"--scan-interval=1s", "--expander", "price"},
	}.Process()
	want := []string{"run", "--cloud-provider=kwok", "--kubeconfig=/k", "--address=127.0.0.1:1",
		"--ui-address=127.0.0.1:0", "--scan-interval=1s", "--expander", "price"}
	if p.Path != "/bin/plimsoll" || !slices.Equal(p.Args, want) || !slices.Contains(p.Env, "KWOK_TEMPLATES_PATH=/t.yaml") {
		t.Errorf("got %+v", p)
	}
}

// The page's address is told where a browser can open it as it is.
func TestWhereThePageIs(t *testing.T) {
	for want, s := range map[string]autoscaler.Setting{
		"http://127.0.0.1:7/": {Page: "127.0.0.1:7"},
		"http://[::1]:8/":     {Page: "127.0.0.1:7", Flags: []string{"--ui-address=:1", "--ui-address", "[::1]:8"}},
		"http://localhost:9/": {Flags: []string{"--ui-address=localhost:9"}},
	} {
		if got := s.PageURL(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	for _, address := range []string{"", ":8443", "127.0.0.1:0", "10.0.0.1:1"} {
		flags := []string{"--ui-address=" + address}
		if got := (autoscaler.Setting{Page: "127.0.0.1:7", Flags: flags}).PageURL(); got != "" {
			t.Errorf("%s: %q", address, got)
		}
	}
}

// What a person pastes into a shell reaches Plimsoll as it was meant.
func TestGroupsSurvivesAShell(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "it's a $HOME")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "plimsoll")
	script := "#!/bin/sh\nprintf '%s\\n' \"$A\" \"$B\" \"$@\"\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	command := autoscaler.Setting{Binary: program, Kubeconfig: "/k", Cloud: autoscaler.Cloud{
		Flags: []string{"--cloud-provider=mcm", "--discovery=a:b=c,d/*"}, Env: []string{"A=1;2", "B="},
	}}.Groups()
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	want := "1;2\n\ngroups\n--cloud-provider=mcm\n--discovery=a:b=c,d/*\n--kubeconfig=/k\n"
	if err != nil || string(out) != want {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

func TestProcessOfTheController(t *testing.T) {
	p := autoscaler.EKSAnywhere("/bin/plimsoll", "/k", "127.0.0.1:1")
	want := []string{"controller", "eks-anywhere", "--kubeconfig=/k", "--health-address=127.0.0.1:1", "--metrics-address="}
	if p.Path != "/bin/plimsoll" || !slices.Equal(p.Args, want) || p.Name == autoscaler.Name || p.Ready == nil {
		t.Errorf("got %+v", p)
	}
}

// The probe asks where Plimsoll listens, also when the user's flags say so.
func TestReadyAsksTheLastAddress(t *testing.T) {
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("caches are not synced"))
	}))
	defer server.Close()
	address := server.Listener.Addr().String()
	_, port, _ := strings.Cut(address, ":")
	for _, flags := range [][]string{{"--address=" + address}, {"--address", address}, {"--address=:" + port}} {
		ready := autoscaler.Setting{Address: "127.0.0.1:1", Flags: flags}.Process().Ready
		status = http.StatusServiceUnavailable
		if err := ready(t.Context()); err == nil || !strings.Contains(err.Error(), "caches are not synced") {
			t.Errorf("%q, not ready: got %v", flags, err)
		}
		status = http.StatusOK
		if err := ready(t.Context()); err != nil {
			t.Errorf("%q, ready: got %v", flags, err)
		}
	}
}

func TestFind(t *testing.T) {
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	program := filepath.Join(folder, "plimsoll")
	for path, mode := range map[string]os.FileMode{data: 0o600, program: 0o700} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := autoscaler.Find(program); err != nil || path != program {
		t.Errorf("got %q, %v", path, err)
	}
	for _, wrong := range []string{data, folder, filepath.Join(folder, "none"), ""} {
		if _, err := autoscaler.Find(wrong); !errors.Is(err, autoscaler.ErrNoBinary) {
			t.Errorf("%q: got %v", wrong, err)
		}
	}
}

func TestDefaultTemplatesAreNodesOfGroups(t *testing.T) {
	var list struct {
		Kind  string
		Items []corev1.Node
	}
	if err := yaml.UnmarshalStrict(autoscaler.DefaultTemplates, &struct {
		APIVersion string `json:"apiVersion"`
		Kind       *string
		Items      *[]corev1.Node
	}{Kind: &list.Kind, Items: &list.Items}); err != nil {
		t.Fatal(err)
	}
	if list.Kind != "List" || len(list.Items) != 4 {
		t.Fatalf("got a %s of %d", list.Kind, len(list.Items))
	}
	for _, node := range list.Items {
		if node.Annotations["cluster-autoscaler.kwok.nodegroup/name"] != node.Name {
			t.Errorf("%s is of no group of its name", node.Name)
		}
		if node.Labels[corev1.LabelTopologyZone] == "" || node.Status.Allocatable.Cpu().IsZero() ||
			node.Status.Allocatable.Memory().IsZero() || node.Status.Allocatable.Pods().IsZero() {
			t.Errorf("%s lacks a zone or resources", node.Name)
		}
		for name, allocatable := range node.Status.Allocatable {
			if capacity := node.Status.Capacity[name]; allocatable.Cmp(capacity) > 0 {
				t.Errorf("%s allocates more %s than it has", node.Name, name)
			}
		}
	}
}
