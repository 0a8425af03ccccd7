package image_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
	"github.com/plimsoll-dev/plimsoll/packaging/image/imagetest"
)

// standIn is a small static binary in place of the product.
var standIn string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "plimsoll-image-test-")
	if err == nil {
		standIn, err = imagetest.StandIn(folder, "v1.2.3", "c0ffee", "2026-11-22T01:02:03Z")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func read(t *testing.T, path string) image.Binary {
	t.Helper()
	b, err := image.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func certificate(t *testing.T) []byte {
	t.Helper()
	text, err := imagetest.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func scratch(t *testing.T, roots []byte) image.Base {
	t.Helper()
	base, err := image.Scratch(roots)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func build(t *testing.T, base image.Base, b image.Binary) image.Built {
	t.Helper()
	built, err := image.Build(base, b)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// says runs a program and gives what it prints.
func says(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}
