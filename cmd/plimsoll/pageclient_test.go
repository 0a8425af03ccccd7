package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// securePage is a page that uses TLS and wants a token: its server, and the file of its CA.
func securePage(t *testing.T, token string) (server *httptest.Server, caFile string) {
	t.Helper()
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = ui.Envelope{Leads: true}
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
			answer = ui.Failure{Code: ui.Unauthenticated, Message: "a bearer token is wanted", Hint: "send one"}
		case r.URL.Path == "/":
			fmt.Fprint(w, "the page")
			return
		case strings.HasPrefix(r.URL.Path, "/api/v1/explain/"):
			answer = explain.Group{APIVersion: explain.APIVersion, Kind: "Group", Group: "theirs", Time: time.Now()}
		case strings.HasPrefix(r.URL.Path, "/api/v1/decisions"):
			answer = ui.Envelope{Leads: true, Decisions: []decisions.Decision{{ID: "newer"}, {ID: "older"}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	caFile = filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(caFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return server, caFile
}

// kubeconfigAs is a kubeconfig for an API server, with a user.
func kubeconfigAs(t *testing.T, server, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
  clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: %s}],
  contexts: [{name: c, context: {cluster: c, user: u}}]}`, server, user)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAPageThatAuthenticates: explain, decisions and ui send the token of the kubeconfig's user, of its plugin, or
// of a file, to a page whose certificate they trust, and to no other.
func TestAPageThatAuthenticates(t *testing.T) {
	page, ca := securePage(t, "secret")
	const api = "https://127.0.0.1:1" // nothing of the cluster is asked; without TLS a kubeconfig has no user
	tokenFile := filepath.Join(t.TempDir(), "token")
	plugin := filepath.Join(t.TempDir(), "plugin")
	const credential = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",` +
		`"status":{"token":"secret"}}`
	for name, text := range map[string]string{tokenFile: "secret\n", plugin: "#!/bin/sh\necho '" + credential + "'\n"} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	exec := fmt.Sprintf(
		`{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}`, plugin)
	for name, x := range map[string]struct {
		user, more string
		code       int
		says       string
	}{
		"token":    {user: "{token: secret}", more: "--ui-ca-file=" + ca, says: "older"},
		"plugin":   {user: exec, more: "--ui-ca-file=" + ca, says: "older"},
		"file":     {user: "{}", more: "--ui-token-file=" + tokenFile + " --ui-ca-file=" + ca, says: "older"},
		"no token": {user: "{}", more: "--ui-ca-file=" + ca, code: 1, says: "give a file with one by --ui-token-file"},
		"another token": {user: "{token: x}", more: "--ui-ca-file=" + ca, code: 1,
			says: "a bearer token is wanted; send one"},
		"unknown CA": {user: "{token: secret}", code: 1, says: "--ui-ca-file names the CA"},
		"another name": {user: "{token: secret}", more: "--ui-server-name=x.test --ui-ca-file=" + ca, code: 1,
			says: "--ui-server-name names one"},
		"no such CA": {user: "{token: secret}", more: "--ui-ca-file=nowhere", code: 1, says: "nowhere"},
	} {
		for _, line := range []string{"decisions", "explain group g", "ui --no-browser"} {
			if strings.HasPrefix(line, "ui") && x.code == 0 {
				continue // it goes on; see below
			}
			var out, told bytes.Buffer
			args := "plimsoll " + line + " --url=" + page.URL + " --kubeconfig=" + kubeconfigAs(t, api, x.user) + " " + x.more
			code := execute(t.Context(), strings.Fields(args), &out, &told)
			says := x.says
			if x.code == 0 && line != "decisions" {
				says = "theirs"
			}
			if code != x.code || !strings.Contains(out.String()+told.String(), says) {
				t.Errorf("%s, %s: exit %d, want %d and %q:\n%s%s", name, line, code, x.code, says, &out, &told)
			}
		}
	}
	var out, told bytes.Buffer
	if code := execute(t.Context(), []string{"plimsoll", "decisions", "--url=http://plimsoll.test", "--ui-token-file=x"},
		&out, &told); code != exitUsage {
		t.Errorf("a token for an address without TLS: exit %d\n%s", code, &told)
	}
}

// TestThePageOfThePodThatAuthenticates: through a forwarded port the certificate's name is asked for, and a browser
// gets the page on the loopback, without knowing the token. The end of the forwarded port ends the command.
func TestThePageOfThePodThatAuthenticates(t *testing.T) {
	page, ca := securePage(t, "secret")
	cluster := &clusterOfLeader{t: t, page: page.Listener.Addr().String(), port: "8443"}
	server := httptest.NewServer(cluster)
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	out := &spoken{more: make(chan struct{}, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"plimsoll", "ui", "--no-browser", "--ui-address=:8443", "--ui-ca-file=" + ca,
			"--ui-server-name=example.com", "--ui-token-file=" + token,
			"--kubeconfig=" + kubeconfigAs(t, server.URL, "{}")}, out, out)
	}()
	for !strings.Contains(out.String(), "until Ctrl-C") {
		select {
		case <-out.more:
		case code := <-ended:
			t.Fatal(code, out)
		}
	}
	_, rest, _ := strings.Cut(out.String(), "the page is at ")
	url, _, _ := strings.Cut(rest, " ")
	for host, want := range map[string]string{"": "200 the page", "evil.example": "421 only this machine's"} {
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Authorization", "Bearer wrong")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if got := fmt.Sprint(res.StatusCode, " ", string(body)); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("host %q: %s (%v), want %s", host, got, err, want)
		}
	}
	cluster.lose()
	select {
	case code := <-ended:
		if code != exitError || !strings.Contains(out.String(), "the pod kube-system/plimsoll-7d9f has ended") {
			t.Errorf("exit %d: %s", code, out)
		}
	case <-ctx.Done():
		t.Error("the forwarded port has ended, and the command goes on")
	}
}

// TestNewDecisionsComeInOrder: the oldest first, also where there was none when the watch began.
func TestNewDecisionsComeInOrder(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	asked := 0
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		e := ui.Envelope{Leads: true}
		switch asked {
		case 1:
		case 2: // what is new comes the oldest first
			e.Decisions = []decisions.Decision{{ID: "first"}, {ID: "second"}}
		default:
			if after := r.URL.Query().Get("after"); after != "second" {
				t.Errorf("it asks for what came after %q", after)
			}
			end()
		}
		if err := json.NewEncoder(w).Encode(e); err != nil {
			t.Error(err)
		}
	}))
	defer page.Close()
	var out, told bytes.Buffer
	if code := execute(ctx, []string{"plimsoll", "decisions", "-w", "--url=" + page.URL}, &out, &told); code != 0 {
		t.Error(code, told.String())
	}
	first, second := strings.Index(out.String(), "first"), strings.Index(out.String(), "second")
	if first < 0 || second < first {
		t.Errorf("out of order:\n%s", &out)
	}
}
