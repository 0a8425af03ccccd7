package image_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
)

// platforms are two binaries, the second of which only says that it is for another platform.
func platforms(t *testing.T) []image.Binary {
	t.Helper()
	one := read(t, standIn)
	other := one
	other.Platform.Architecture = "s390x"
	return []image.Binary{one, other}
}

func writeArchive(t *testing.T, path string, roots []byte) {
	t.Helper()
	var built []image.Built
	for _, b := range platforms(t) {
		built = append(built, build(t, scratch(t, roots), b))
	}
	archived(t, path, built)
}

func archived(t *testing.T, path string, built []image.Built) {
	t.Helper()
	tag, err := image.Tag("registry.example.com/plimsoll", built[0].Binary.About)
	if err != nil {
		t.Fatal(err)
	}
	if err := image.WriteArchive(path, image.Index(built), tag); err != nil {
		t.Fatal(err)
	}
}

// valid opens an archive and validates all that is in it.
func valid(t *testing.T, path string) v1.ImageIndex {
	t.Helper()
	index, err := image.OpenArchive(path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	return index
}

func TestArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	writeArchive(t, path, certificate(t))
	index := valid(t, path)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range manifest.Manifests {
		got = append(got, m.Platform.String())
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil || config.Platform().String() != m.Platform.String() {
			t.Errorf("the image for %s is for %s (%v)", m.Platform, config.Platform(), err)
		}
	}
	want := platforms(t)
	if diff := cmp.Diff([]string{want[0].Platform.String(), want[1].Platform.String()}, got); diff != "" {
		t.Error(diff)
	}
	if manifest.Annotations["org.opencontainers.image.version"] != "v1.2.3" {
		t.Errorf("the index does not name its version: %v", manifest.Annotations)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// TestNames: tools that load the archive find the name and the tag where each looks for them.
func TestNames(t *testing.T) {
	path, folder := filepath.Join(t.TempDir(), "image.tar"), t.TempDir()
	writeArchive(t, path, certificate(t))
	if _, err := image.OpenArchive(path, folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var top struct {
		Manifests []struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	if len(top.Manifests) != 1 {
		t.Fatalf("not one image: %s", text)
	}
	if diff := cmp.Diff(map[string]string{
		"org.opencontainers.image.ref.name": "1.2.3",
		"io.containerd.image.name":          "registry.example.com/plimsoll:1.2.3",
	}, top.Manifests[0].Annotations); diff != "" {
		t.Error(diff)
	}
}

func TestTag(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": "a.example/plimsoll:0.1.0", "df2db95-dirty": "a.example/plimsoll:df2db95-dirty", "no good": "",
	} {
		tag, err := image.Tag("a.example/plimsoll", image.About{Version: version})
		if (err == nil) != (want != "") || err == nil && tag.Name() != want {
			t.Errorf("%q: %s, %v", version, tag, err)
		}
	}
}

func TestArchiveThatIsNone(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "no tar": strings.Repeat("x", 1024)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "image.tar")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := image.OpenArchive(path, t.TempDir()); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("it says %v", err)
			}
		})
	}
}
