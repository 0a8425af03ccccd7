package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// endings are exit codes by command, without the name of the program.
type endings map[string]map[int]bool

func (e endings) note(command string, code int) {
	if e[command] == nil {
		e[command] = map[int]bool{}
	}
	e[command][code] = true
}

// documentedEndings are those of the second table of exit codes in docs/cli.md.
func documentedEndings(t *testing.T) endings {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## Exit codes\n")
	part, _, _ = strings.Cut(part, "\n## ")
	out := endings{}
	for line := range strings.Lines(part) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(line, "|")
		for _, command := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			for _, word := range strings.Split(cells[2], ",") {
				code, err := strconv.Atoi(strings.TrimSpace(word))
				if err != nil {
					t.Fatalf("docs/cli.md: %s: %v", line, err)
				}
				out.note(command[1], code)
			}
		}
	}
	return out
}

// commandOf is the command of a line, without the name of the program.
func commandOf(line string) string {
	found, _, err := root().Find(strings.Fields(line))
	if err != nil {
		return ""
	}
	_, name, _ := strings.Cut(found.CommandPath(), " ")
	return name
}

// inScripts notes the exit codes that the scripts show.
func (e endings) inScripts(t *testing.T) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join("testdata", "scripts", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)^exit (\d+)$`)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split("\n"+string(text), "\nplimsoll\n")[1:] {
			lines, out, _ := strings.Cut(block, "\n----\n")
			codes := code.FindAllStringSubmatch(out, -1)
			for i, line := range strings.Split(lines, "\n") {
				if i >= len(codes) {
					t.Fatalf("%s: %q has no exit code", script, line)
				}
				n, _ := strconv.Atoi(codes[i][1])
				e.note(commandOf(line), n)
			}
		}
	}
}

// silentServer calls what it is set to with each request, and does not answer.
type silentServer struct {
	mu    sync.Mutex
	asked func()
}

func (s *silentServer) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked()
	s.mu.Unlock()
	<-r.Context().Done()
}

func (s *silentServer) set(asked func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = asked
}

// ending ends something at the first word.
type ending struct {
	bytes.Buffer
	end func()
}

func (e *ending) Write(text []byte) (int, error) {
	e.end()
	return e.Buffer.Write(text)
}

// TestEveryCommandIsInTheTableOfExitCodes: each command of the tree stands in docs/cli.md with its exit codes, and each
// of them is shown: by the scripts, or here.
func TestEveryCommandIsInTheTableOfExitCodes(t *testing.T) {
	shown := endings{}
	shown.inScripts(t)
	dir := t.TempDir()
	shoot, pipe := filepath.Join(dir, "shoot.yaml"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(shoot, []byte("{apiVersion: core.gardener.cloud/v1beta1, kind: Shoot, metadata: {name: s, "+
		"namespace: garden-p}, spec: {provider: {workers: [{name: a, minimum: 1, maximum: 3}]}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		e := ui.Envelope{Leads: true, Decisions: []decisions.Decision{{ID: "first"}}}
		if err := json.NewEncoder(w).Encode(e); err != nil {
			t.Error(err)
		}
	}))
	defer page.Close()
	ofTwoZones, namespace := shootOfTwoZones(t)
	silent := &silentServer{}
	server := httptest.NewServer(silent)
	defer server.Close()
	defer server.CloseClientConnections() // a controller that has ended leaves its question open
	api := servingConfigMaps(t, statusOfGroups("web"))
	say := strings.NewReplacer("SHOOT", shoot, "PIPE", pipe, "PAGE", page.URL, "API", api,
		"SILENT", kubeconfigOf(t, server.URL), "ZONES", ofTwoZones, "NAMESPACE", namespace)
	run := func(ctx context.Context, line string, out io.Writer) int {
		return execute(ctx, append([]string{"plimsoll"}, strings.Fields(say.Replace(line))...), out, out)
	}

	// 1. What ends by itself.
	for line, want := range map[string]int{
		"version": 0, "dump -f testdata/nogroups.yaml": 0, "gardener render -f SHOOT": 0, "gardener validate -f SHOOT": 0,
		"migrate -f ../../internal/migrate/testdata/aws-example.yaml": 0, "decisions --url=PAGE": 0,
		"groups --cloud-provider=mcm --kubeconfig=ZONES --node-group-auto-discovery=mcm:namespace=NAMESPACE": 0,
		"explain plan last --url=PAGE": 0, "status --kubernetes=API": 0, "ui --url=http://127.0.0.1:1": exitError,
		"completion bash": 0, "completion zsh": 0, "completion fish": 0, "completion powershell": 0,
		"completion bash x": exitUsage, "completion zsh x": exitUsage, "completion fish x": exitUsage,
		"completion powershell x": exitUsage, "completion bsh": exitUsage,
		"explain node": exitUsage, "resume": exitUsage, "gardener render": exitUsage, "controller eks-anywhere x": exitUsage,
	} {
		var told bytes.Buffer
		if code := run(t.Context(), line, &told); code != want {
			t.Errorf("%s: exit %d, want %d:\n%s", line, code, want, &told)
		}
		shown.note(commandOf(line), want)
	}
	// 2. What cannot write its output.
	for _, line := range []string{"version", "config explain", "completion bash", "completion zsh", "completion fish",
		"completion powershell"} {
		if code := run(t.Context(), line, full{}); code != exitError {
			t.Errorf("%s: exit %d of what is lost", line, code)
		}
		shown.note(commandOf(line), exitError)
	}
	// 3. What is interrupted while it asks the API server.
	for line, want := range map[string]int{
		"plan": exitInterrupted, "dump": exitInterrupted, "budgets": exitInterrupted, "status": exitInterrupted,
		"explain pod a/b": exitInterrupted, "explain node a": exitInterrupted, "explain group a": exitInterrupted,
		"explain plan last": exitInterrupted, "decisions": exitInterrupted, "ui": exitInterrupted,
		"pause web": exitInterrupted, "resume web": exitInterrupted, "groups --cloud-provider=kwok": exitInterrupted,
		"run --cloud-provider=kwok": 0, "run --cloud-provider=kwok --leader-elect=false": 0,
		"controller eks-anywhere --metrics-address= --health-address=":                     0,
		"controller gardener --metrics-address= --health-address= --namespace=shoot--p--s": 0,
	} {
		ctx, end := context.WithCancel(t.Context())
		silent.set(end)
		var told bytes.Buffer
		if code := run(ctx, line+" --kubeconfig=SILENT", &told); code != want {
			t.Errorf("%s, interrupted: exit %d, want %d:\n%s", line, code, want, &told)
		}
		end()
		shown.note(commandOf(line), want)
	}
	{ // and once it has said that it shows the page
		ctx, end := context.WithCancel(t.Context())
		told := &ending{end: end}
		if code := run(ctx, "ui --no-browser --url=PAGE", told); code != 0 {
			t.Errorf("ui, interrupted: exit %d, want 0:\n%s", code, &told.Buffer)
		}
		end()
		shown.note("ui", 0)
	}
	// 4. What is interrupted while it waits for a file.
	for _, line := range []string{"migrate -f PIPE", "gardener render -f PIPE", "gardener validate -f PIPE",
		"config print --config=PIPE", "config validate PIPE", "config diff PIPE PIPE"} {
		ctx, end := context.WithCancel(t.Context())
		end()
		var told bytes.Buffer
		if code := run(ctx, line, &told); code != exitInterrupted {
			t.Errorf("%s, interrupted: exit %d:\n%s", line, code, &told)
		}
		shown.note(commandOf(line), exitInterrupted)
	}

	documented := documentedEndings(t)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			walk(below)
		}
		_, name, below := strings.Cut(cmd.CommandPath(), " ")
		if !below || cmd.HasSubCommands() || name == "help" {
			return
		}
		if documented[name] == nil {
			t.Errorf("plimsoll %s is missing in docs/cli.md, below Exit codes", name)
		}
		for _, code := range []int{0, exitError, exitUsage, exitChanges, exitInterrupted} {
			if documented[name][code] != shown[name][code] {
				t.Errorf("plimsoll %s: exit code %d: documented %t, shown %t", name, code, documented[name][code],
					shown[name][code])
			}
		}
		delete(documented, name)
	}
	walk(root())
	for name := range documented {
		t.Errorf("docs/cli.md has exit codes of %q, which is no command", name)
	}
}

// TestTheProcessIsInterrupted: with a signal a command ends with 130, and what runs until it is ended with 0.
func TestTheProcessIsInterrupted(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	silent := &silentServer{}
	server := httptest.NewServer(silent)
	defer server.Close()
	kubeconfig := kubeconfigOf(t, server.URL)
	for _, x := range []struct {
		line string
		with os.Signal
		code int
		told string
	}{
		{"plan -f " + pipe, os.Interrupt, exitInterrupted, "plimsoll: interrupted\n"},
		{"status --kubeconfig=" + kubeconfig, syscall.SIGTERM, exitInterrupted, "plimsoll: interrupted\n"},
		{"run --cloud-provider=kwok --address=127.0.0.1:0 --ui-address= --kubeconfig=" + kubeconfig, syscall.SIGTERM, 0, ""},
	} {
		asked := make(chan struct{}, 1)
		silent.set(func() {
			select {
			case asked <- struct{}{}:
			default:
			}
		})
		var told bytes.Buffer
		cmd := exec.CommandContext(t.Context(), binary, strings.Fields(x.line)...)
		cmd.Env = append(os.Environ(), beMain+"=1")
		cmd.Stderr = &told
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if slices.Contains(strings.Fields(x.line), pipe) {
			writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once it is read
			if err != nil {
				t.Fatal(err)
			}
			defer writer.Close()
		} else {
			select {
			case <-asked:
			case err := <-ended:
				t.Fatalf("%s: it ended before it asked: %v\n%s", x.line, err, &told)
			}
		}
		if err := cmd.Process.Signal(x.with); err != nil {
			t.Fatal(err)
		}
		<-ended // the code says how
		if code := cmd.ProcessState.ExitCode(); code != x.code || x.told != "" && told.String() != x.told {
			t.Errorf("%s: exit %d, want %d with %q:\n%s", x.line, code, x.code, x.told, &told)
		}
	}
}
