package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
	"github.com/plimsoll-dev/plimsoll/packaging/image/imagetest"
	"github.com/plimsoll-dev/plimsoll/packaging/image/sbom"
)

// TestRun: the command writes an image and a list that hold the binary, names their digests, and
// does the same the second time.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	binary, err := imagetest.StandIn(folder, "v1.2.3", "c0ffee", "2026-11-22T01:02:03Z")
	if err != nil {
		t.Fatal(err)
	}
	roots := write(t, folder, "roots.pem", certificate(t))
	archive, list := filepath.Join(folder, "image.tar"), filepath.Join(folder, "spdx.json")
	args := []string{
		"--to=" + archive, "--sbom=" + list, "--roots=" + roots, "--repository=registry.example.com/plimsoll", binary,
	}
	var told, toldAgain bytes.Buffer
	if err := run(t.Context(), args, &told); err != nil {
		t.Fatal(err)
	}
	first := [][]byte{contents(t, archive), contents(t, list)}
	if err := run(t.Context(), args, &toldAgain); err != nil {
		t.Fatal(err)
	}
	if told.String() != toldAgain.String() || !bytes.Equal(first[0], contents(t, archive)) ||
		!bytes.Equal(first[1], contents(t, list)) {
		t.Errorf("the second time it writes something else:\n%s%s", &told, &toldAgain)
	}

	index, err := image.OpenArchive(archive, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, say := range []string{
		archive, list, "registry.example.com/plimsoll:1.2.3", digest.String(), " for linux/" + runtime.GOARCH,
	} {
		if !strings.Contains(told.String(), say) {
			t.Errorf("it does not tell %q:\n%s", say, &told)
		}
	}
	if _, err := sbom.Read(bytes.NewReader(first[1])); err != nil {
		t.Error(err)
	}
	if !regexp.MustCompile(`"versionInfo": "v1.2.3"`).Match(first[1]) {
		t.Errorf("the list does not name the version:\n%s", first[1])
	}
}

func TestRunFails(t *testing.T) {
	folder := t.TempDir()
	binary, err := imagetest.StandIn(folder, "v1.2.3", "c0ffee", "yesterday")
	if err != nil {
		t.Fatal(err)
	}
	good, err := imagetest.StandIn(t.TempDir(), "v1.2.3", "c0ffee", "")
	if err != nil {
		t.Fatal(err)
	}
	to := []string{"--to=" + filepath.Join(folder, "image.tar"), "--sbom=" + filepath.Join(folder, "spdx.json")}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no binary":           {nil, "name one per platform"},
		"a date that is none": {[]string{binary}, "main.date is like"},
		"no roots":            {[]string{"--roots=" + filepath.Join(folder, "none"), good}, "install ca-certificates"},
		"a bad name":          {[]string{"--repository=NO", good}, "name the image"},
		"an unknown flag":     {[]string{"--push"}, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), append(to, c.args...), t.Output()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, not %q", err, c.says)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(folder, "image.tar")); err == nil {
		t.Error("a run that failed has left an image")
	}
}

func certificate(t *testing.T) []byte {
	t.Helper()
	text, err := imagetest.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, folder, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
