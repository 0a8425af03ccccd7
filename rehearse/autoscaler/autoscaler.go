// Package autoscaler describes Plimsoll as a process beside a control plane: the
// binary that is shipped, with a kubeconfig of its own service account, on a cloud
// that a world names (package world). It starts nothing; package supervise does.
package autoscaler

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

const (
	// Name is the name of the process, of its log, and of its binary.
	Name = "plimsoll"

	// templatesVariable tells the kwok provider where the node templates are.
	templatesVariable = "KWOK_TEMPLATES_PATH"

	addressFlag  = "--address"
	pageFlag     = "--ui-address"
	probeTimeout = 2 * time.Second
	stopGrace    = 30 * time.Second // on kwok it deletes its nodes when it is asked to end
)

// DefaultTemplates are the node groups of a rehearsal on kwok that names none.
//
//go:embed templates.yaml
var DefaultTemplates []byte

// Setting is what Plimsoll is started with.
type Setting struct {
	Binary     string
	Kubeconfig string
	Cloud      Cloud
	Address    string // host:port of its metrics and health, unless Flags name another
	Page       string // host:port of its page, in the same way; empty: one that is free, which its log has
	Flags      []string
}

// Cloud is what Plimsoll is told of its cloud: the provider's flags, the first of
// which names it, and its environment.
type Cloud struct {
	Flags []string
	Env   []string
}

// Kwok is the kwok provider on a file of node templates.
func Kwok(templates string) Cloud {
	return Cloud{Flags: []string{"--cloud-provider=kwok"}, Env: []string{templatesVariable + "=" + templates}}
}

// Groups is the command of a shell that lists the node groups as Plimsoll sees them.
// It writes nothing to the cluster.
func (s Setting) Groups() string {
	words := slices.Concat(s.Cloud.Env, []string{s.Binary, "groups"}, s.Cloud.Flags,
		[]string{"--kubeconfig=" + s.Kubeconfig})
	for i, word := range words {
		words[i] = quote(word)
	}
	return strings.Join(words, " ")
}

// quote keeps a shell from reading anything into a word. An assignment is one only
// as long as its name is bare.
func quote(word string) string {
	name, value, found := strings.Cut(word, "=")
	if !found || strings.HasPrefix(word, "-") {
		name, value = "", word
	} else {
		name += "="
	}
	if value != "" && strings.IndexFunc(value, isSpecial) < 0 {
		return word
	}
	return name + "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

func isSpecial(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=,@%+", r))
}

// Process describes Plimsoll under this setting.
func (s Setting) Process() supervise.Process {
	args := slices.Concat([]string{"run"}, s.Cloud.Flags, []string{
		"--kubeconfig=" + s.Kubeconfig,
		addressFlag + "=" + s.Address,
		pageFlag + "=" + cmp.Or(s.Page, "127.0.0.1:0"), // several may run on one machine
	}, s.Flags)
	return supervise.Process{
		Name:  Name,
		Path:  s.Binary,
		Args:  args,
		Env:   append(slices.Clone(s.Cloud.Env), "POD_NAMESPACE=kube-system"),
		Ready: ready("http://" + s.address() + "/readyz"),
		Grace: stopGrace,
	}
}

// PageURL is where a browser of this machine finds the page, empty where it is not told: it may be off, or want a
// token.
func (s Setting) PageURL() string {
	page := s.last(pageFlag, s.Page)
	host, port, err := net.SplitHostPort(page)
	if err != nil || port == "0" || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return ""
	}
	return "http://" + page + "/"
}

// last is the value of a flag: the last one wins, as for Plimsoll's own parser.
func (s Setting) last(name, value string) string {
	for i, flag := range s.Flags {
		if given, ok := strings.CutPrefix(flag, name+"="); ok {
			value = given
		} else if flag == name && i+1 < len(s.Flags) {
			value = s.Flags[i+1]
		}
	}
	return value
}

// address is where Plimsoll listens.
func (s Setting) address() string {
	address := s.last(addressFlag, s.Address)
	if strings.HasPrefix(address, ":") {
		return "127.0.0.1" + address
	}
	return address
}

func ready(url string) func(context.Context) error {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			body, err := io.ReadAll(io.LimitReader(response.Body, 2<<10))
			if err != nil {
				return err
			}
			return fmt.Errorf("%s: %s: %s", url, response.Status, strings.TrimSpace(string(body)))
		}
		return nil
	}
}

// ErrNoBinary is returned by Find when there is no Plimsoll to run.
var ErrNoBinary = errors.New("the plimsoll binary is not there; build it, name it with --plimsoll, or start " +
	"--without-autoscaler")

// Find returns the path of Plimsoll's binary: the named one, or the one in the
// folder of the running program.
func Find(named string) (string, error) {
	path := named
	if path == "" {
		executable, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find the folder of this program: %w", err)
		}
		path = filepath.Join(filepath.Dir(executable), Name)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", path, ErrNoBinary)
	}
	if err != nil {
		return "", fmt.Errorf("find plimsoll: %w", err)
	}
	if info.IsDir() || info.Mode().Perm()&0o111 == 0 {
		return "", fmt.Errorf("%s is not a program: %w", path, ErrNoBinary)
	}
	return filepath.Abs(path)
}
