package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
	"github.com/plimsoll-dev/plimsoll/packaging/image/imagetest"
	"github.com/plimsoll-dev/plimsoll/packaging/image/sbom"
)

func TestRelease(t *testing.T) {
	w := newWorld(t)
	w.make("v1.2.3", w.head())
	out, err := w.release()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(w.to, "v1.2.3")
	if want := folder + "\n"; out != want {
		t.Errorf("it says %q, not %q", out, want)
	}
	program := "plimsoll-v1.2.3-linux-" + runtime.GOARCH
	want := map[string]os.FileMode{
		program: 0o755, "plimsoll-v1.2.3-image.tar": 0o644, "plimsoll-v1.2.3.spdx.json": 0o644, "SHA256SUMS": 0o644,
	}
	got := map[string]os.FileMode{}
	lines := ""
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = info.Mode()
		if e.Name() == "SHA256SUMS" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		lines += hex.EncodeToString(sum[:]) + "  " + e.Name() + "\n"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines, string(text)); diff != "" {
		t.Error(diff)
	}
	if said, err := exec.Command(filepath.Join(folder, program)).Output(); err != nil ||
		!strings.HasPrefix(string(said), "v1.2.3 "+w.head()) {
		t.Errorf("the binary says %q (%v)", said, err)
	}

	// The second time it is the same, and nothing is left of what was there in between.
	if err := os.WriteFile(filepath.Join(folder, "old"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.release(); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadDir(folder); err != nil || len(again) != len(want) {
		t.Errorf("the second time there is %v (%v)", again, err)
	}
	if all, err := os.ReadDir(w.to); err != nil || len(all) != 1 {
		t.Errorf("left behind: %v (%v)", all, err)
	}
}

// TestTree: changes that are in no commit are refused, before anything is built too, unless
// they are allowed.
func TestTree(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a file changed":       func(w *world) { w.write(filepath.Join(w.tree, "main.go"), "package other") },
		"a file git knows not": func(w *world) { w.write(filepath.Join(w.tree, "more.go"), "package main") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.make("v1.2.3", w.head())
			if _, err := w.release("--check-only"); err != nil {
				t.Fatal(err)
			}
			change(w)
			for _, flag := range []string{"--check-only", "--check-only=false"} {
				if _, err := w.release(flag); err == nil || !strings.Contains(err.Error(), ".go\ncommit or remove them") {
					t.Errorf("with %s it says %v", flag, err)
				}
			}
			if _, err := os.Stat(w.to); err == nil {
				t.Error("what is refused was released")
			}
			if _, err := w.release("--allow-dirty"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPartsThatDoNotBelongTogether: nothing goes out that was built of another commit, or an
// image or a list of another binary.
func TestPartsThatDoNotBelongTogether(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		says   string
	}{
		"no binary":      {func(w *world) { w.binary = filepath.Join(w.bin, "none") }, "build it first"},
		"another commit": {func(w *world) { w.build("v1.2.3", "c0ffee") }, `is of commit "c0ffee"`},
		"another image":  {func(w *world) { w.build("v1.2.4", w.head()) }, "holds another binary"},
		"no image":       {func(w *world) { w.remove("image.tar") }, "image.tar"},
		"another list":   {func(w *world) { w.build("v1.2.4", w.head()); w.image() }, "is of other binaries"},
		"no list":        {func(w *world) { w.remove("spdx.json") }, "make image"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.make("v1.2.3", w.head())
			c.change(w)
			if _, err := w.release(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, not %q", err, c.says)
			}
			if _, err := os.Stat(w.to); err == nil {
				t.Error("what is refused was released")
			}
		})
	}
}

func TestWithoutATagItSaysSo(t *testing.T) {
	w := newWorld(t)
	w.make("v1.2.3-4-gdf2db95", w.head())
	if out, err := w.release(); err != nil || !strings.Contains(out, "v1.2.3-4-gdf2db95 is no tag") {
		t.Errorf("it says %q (%v)", out, err)
	}
	for version, want := range map[string]bool{
		"v0.1.0": true, "v0.1.0-rc.1": true, "v0.1.0-4-gdf2db95": false, "v0.1.0-dirty": false, "df2db95": false,
		"dev": false, "0.1.0": false,
	} {
		if tagged(version) != want {
			t.Errorf("%s is a tag: %v", version, !want)
		}
	}
}

func TestNoRepository(t *testing.T) {
	if err := run(t.Context(), []string{"--check-only", "--repository=" + t.TempDir()}, t.Output()); err == nil ||
		!strings.Contains(err.Error(), "a release is made in a git repository") {
		t.Errorf("it says %v", err)
	}
}

// world is a git repository with one commit, and beside it what was built.
type world struct {
	*testing.T
	tree, bin, to string
	binary        string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	// Neither a surrounding repository nor the settings of the user who runs this may have an effect.
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		t.Setenv(name, os.DevNull)
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	w := &world{T: t, tree: t.TempDir(), bin: t.TempDir(), to: filepath.Join(t.TempDir(), "dist")}
	w.write(filepath.Join(w.tree, "main.go"), "package main")
	w.git("init", "--quiet")
	w.git("add", ".")
	w.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=one")
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) git(args ...string) string {
	w.Helper()
	out, err := git(w.Context(), w.tree, args...)
	w.must(err)
	return out
}

func (w *world) head() string { return strings.TrimSpace(w.git("rev-parse", "HEAD")) }

func (w *world) write(path, text string) { w.must(os.WriteFile(path, []byte(text), 0o644)) }

func (w *world) remove(name string) { w.must(os.Remove(filepath.Join(w.bin, name))) }

// make does what make does: the binary, the image and the list.
func (w *world) make(version, commit string) {
	w.Helper()
	w.build(version, commit)
	w.image()
	var text bytes.Buffer
	w.must(sbom.Write(sbom.Document([]image.Binary{w.read()}), &text))
	w.write(filepath.Join(w.bin, "spdx.json"), text.String())
}

func (w *world) build(version, commit string) {
	w.Helper()
	path, err := imagetest.StandIn(w.bin, version, commit, "2026-11-22T01:02:03Z")
	w.must(err)
	w.binary = path
}

func (w *world) read() image.Binary {
	w.Helper()
	b, err := image.Read(w.binary)
	w.must(err)
	return b
}

func (w *world) image() {
	w.Helper()
	roots, err := imagetest.Certificate()
	w.must(err)
	base, err := image.Scratch(roots)
	w.must(err)
	b := w.read()
	built, err := image.Build(base, b)
	w.must(err)
	index := image.Index([]image.Built{built})
	tag, err := image.Tag("registry.example.com/plimsoll", b.About)
	w.must(err)
	w.must(image.WriteArchive(filepath.Join(w.bin, "image.tar"), index, tag))
}

func (w *world) release(flags ...string) (string, error) {
	var out bytes.Buffer
	args := []string{
		"--repository=" + w.tree, "--to=" + w.to,
		"--image=" + filepath.Join(w.bin, "image.tar"), "--sbom=" + filepath.Join(w.bin, "spdx.json"),
	}
	err := run(w.Context(), append(append(args, flags...), w.binary), &out)
	return out.String(), err
}
