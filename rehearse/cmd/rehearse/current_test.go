package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCurrentRehearsal(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	folder, err := runningPath()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := current(); !errors.Is(err, errNoRehearsal) {
		t.Errorf("without a rehearsal: %v", err)
	}
	forget, err := remember("/mine")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := current(); got != "/mine" || err != nil {
		t.Errorf("with one: %q, %v", got, err)
	}

	// One that was killed is passed over; a second one that runs makes kubectl ask.
	dead := filepath.Join(folder, "2147483647") // no process has this id
	if err := os.WriteFile(dead, []byte("/dead\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := current(); got != "/mine" || err != nil {
		t.Errorf("with a dead one beside it: %q, %v", got, err)
	}
	other := filepath.Join(folder, "1")
	if err := os.WriteFile(other, []byte("/other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := current(); !errors.Is(err, errSeveral) || !strings.Contains(err.Error(), "/mine") ||
		!strings.Contains(err.Error(), "/other") {
		t.Errorf("with two: %v", err)
	}

	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dead); err != nil {
		t.Fatal(err)
	}
	if err := forget(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}
