package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAServerThatDoesNotAnswer: commands that ask once end, and say what they asked of whom.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, line := range []string{"plan", "dump", "explain node a", "explain plan last", "budgets", "status",
		"decisions", "ui", "pause web", "resume web", "plan --cloud-provider=kwok", "explain group g --cloud-provider=kwok"} {
		for url, want := range map[string]string{
			silent.URL: "the API server does not answer within 100ms (--request-timeout)", closed.URL: "connection refused",
		} {
			if url == silent.URL && strings.Contains(line, "kwok") {
				continue // reads of the cloud have a deadline of their own
			}
			timeout := "100ms"
			if url == closed.URL {
				timeout = "20s" // a busy machine needs more than the other's to be refused, too
			}
			var out, told bytes.Buffer
			args := append([]string{"plimsoll"}, strings.Fields(line)...)
			code := execute(t.Context(), append(args, "--kubernetes="+url, "--request-timeout="+timeout), &out, &told)
			if code != exitError || strings.Count(told.String(), want) != 1 || !strings.Contains(told.String(), url) ||
				!strings.HasSuffix(told.String(), "?\n") {
				t.Errorf("%s: exit %d, want 1, %q of %s once and what to look at:\n%s%s", line, code, want, url, &out, &told)
			}
		}
	}
}

// TestAnEndWhileReading: a command that waits for a file's first byte ends when it is asked to.
func TestAnEndWhileReading(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"plan -f PIPE", "plan -f shop --groups PIPE", "plan -f shop --add-pods=1=PIPE",
		"migrate -f PIPE", "gardener validate -f PIPE"} {
		ctx, end := context.WithCancel(t.Context())
		end()
		var out, told bytes.Buffer
		line = strings.NewReplacer("PIPE", pipe, "shop", "../../docs/examples/shop").Replace(line)
		code := execute(ctx, append([]string{"plimsoll"}, strings.Fields(line)...), &out, &told)
		if code != exitInterrupted || told.String() != "plimsoll: interrupted\n" {
			t.Errorf("%s: exit %d:\n%s%s", line, code, &out, &told)
		}
	}
}
