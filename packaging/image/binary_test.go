package image_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
	"github.com/plimsoll-dev/plimsoll/packaging/image/imagetest"
)

func TestRead(t *testing.T) {
	b := read(t, standIn)
	text, err := os.ReadFile(standIn)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	want := image.About{Version: "v1.2.3", Commit: "c0ffee", Created: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)}
	if b.About != want || b.SHA256 != hex.EncodeToString(sum[:]) || b.Loader != "" ||
		b.Platform.String() != "linux/"+runtime.GOARCH {
		t.Errorf("it is %+v", b)
	}
}

// TestWhatCannotGoIn: a file that is no Go program, one without a version, and one that needs a
// C library are refused, each with what to do.
func TestWhatCannotGoIn(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	nameless, err := imagetest.StandIn(t.TempDir(), "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		text:                               "is it a Go program?",
		nameless:                           "build it by make",
		filepath.Join(t.TempDir(), "none"): "build it first",
	} {
		if _, err := image.Read(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, not %q", path, err, says)
		}
	}
	dynamic := read(t, standIn)
	dynamic.Loader = "/lib64/ld-linux-x86-64.so.2"
	if err := dynamic.Static(); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("a binary that needs a C library: %v", err)
	}
}
