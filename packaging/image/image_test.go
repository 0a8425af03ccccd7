package image_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
)

func TestConfiguration(t *testing.T) {
	b := read(t, standIn)
	roots := certificate(t)
	img := build(t, scratch(t, roots), b).Image
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH ||
		!config.Created.Equal(time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)) {
		t.Errorf("for %s, created %s", config.Platform(), config.Created)
	}
	sum := sha256.Sum256(roots)
	want := v1.Config{
		User:       "65532:65532",
		WorkingDir: "/",
		Entrypoint: []string{"/plimsoll"},
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":                "plimsoll",
			"org.opencontainers.image.description":          "A node autoscaler for Kubernetes that loads a cluster exactly to its line",
			"org.opencontainers.image.source":               "https://github.com/plimsoll-dev/plimsoll",
			"org.opencontainers.image.licenses":             "Apache-2.0",
			"org.opencontainers.image.version":              "v1.2.3",
			"org.opencontainers.image.revision":             "c0ffee",
			"org.opencontainers.image.created":              "2026-11-22T01:02:03Z",
			"io.github.plimsoll-dev.ca-certificates.sha256": hex.EncodeToString(sum[:]),
		},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Error(diff)
	}
}

// TestFiles: what a process finds, and that it may execute both names and write to /tmp.
func TestFiles(t *testing.T) {
	roots := certificate(t)
	img := build(t, scratch(t, roots), read(t, standIn)).Image
	type file struct {
		Mode  int64
		Owner int
		Link  string
	}
	got := map[string]file{}
	text := map[string][]byte{}
	each(t, img, func(h *tar.Header, r io.Reader) {
		if h.Uid != h.Gid || h.ModTime.Unix() != 0 {
			t.Errorf("%s is of user %d, group %d, at %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		got[h.Name] = file{h.Mode, h.Uid, h.Linkname}
		if h.Typeflag == tar.TypeReg {
			var err error
			if text[h.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
	})
	if diff := cmp.Diff(map[string]file{
		"plimsoll": {0o755, 0, ""}, "cluster-autoscaler": {0o777, 0, "plimsoll"},
		"etc": {0o755, 0, ""}, "etc/passwd": {0o644, 0, ""}, "etc/group": {0o644, 0, ""}, "etc/nsswitch.conf": {0o644, 0, ""},
		"etc/ssl": {0o755, 0, ""}, "etc/ssl/certs": {0o755, 0, ""}, "etc/ssl/certs/ca-certificates.crt": {0o644, 0, ""},
		"home": {0o755, 0, ""}, "home/nonroot": {0o700, 65532, ""}, "root": {0o700, 0, ""}, "tmp": {0o1777, 0, ""},
	}, got); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(text["etc/ssl/certs/ca-certificates.crt"], roots) {
		t.Error("the root certificates are not those given")
	}
	if !strings.Contains(string(text["etc/passwd"]), "nonroot:x:65532:65532:") {
		t.Errorf("there is no user 65532: %s", text["etc/passwd"])
	}
}

// TestBothNames: what lies in the image starts, and under each name it is told that name.
func TestBothNames(t *testing.T) {
	b := read(t, standIn)
	if err := b.Static(); err != nil {
		t.Fatal(err)
	}
	root := extract(t, build(t, scratch(t, certificate(t)), b).Image)
	for _, name := range []string{image.Program, image.StandIn} {
		path := filepath.Join(root, name)
		if got, want := says(t, path, "version"), "v1.2.3 c0ffee 2026-11-22T01:02:03Z ["+path+" version]\n"; got != want {
			t.Errorf("%s says %q, not %q", name, got, want)
		}
	}
	img := build(t, scratch(t, certificate(t)), b).Image
	if sum, err := image.ProgramSum(img); err != nil || sum != b.SHA256 {
		t.Errorf("the binary's sum in the image is %s (%v), and outside %s", sum, err, b.SHA256)
	}
}

// TestTheProduct: the binary that make build has made starts in the image's files, under both
// names, and is what the labels say.
func TestTheProduct(t *testing.T) {
	path, err := filepath.Abs("../../bin/plimsoll")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run `make build` first", err)
	}
	b := read(t, path)
	root := extract(t, build(t, scratch(t, certificate(t)), b).Image)
	if got := says(t, filepath.Join(root, image.Program), "version"); !strings.Contains(got, b.About.Version) {
		t.Errorf("plimsoll version does not say %s:\n%s", b.About.Version, got)
	}
	if got := says(t, filepath.Join(root, image.StandIn), "--help"); !strings.Contains(got, "--scale-down-unneeded-time") {
		t.Errorf("cluster-autoscaler --help is not that of plimsoll run:\n%s", got)
	}
}

// TestReproducible: the same inputs give the same bytes, another certificate does not.
func TestReproducible(t *testing.T) {
	roots := certificate(t)
	write := func(roots []byte) []byte {
		path := filepath.Join(t.TempDir(), "image.tar")
		writeArchive(t, path, roots)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := write(roots)
	if !bytes.Equal(first, write(roots)) {
		t.Error("two archives of the same differ")
	}
	if bytes.Equal(first, write(certificate(t))) {
		t.Error("an archive with other certificates does not differ")
	}
}

// each walks over all files of an image, as the layers make them together.
func each(t *testing.T, img v1.Image, see func(*tar.Header, io.Reader)) {
	t.Helper()
	files := mutate.Extract(img)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		see(h, r)
	}
}

// extract puts an image's files into a folder, with the modes that they have in it.
func extract(t *testing.T, img v1.Image) string {
	t.Helper()
	folder := t.TempDir()
	each(t, img, func(h *tar.Header, r io.Reader) {
		path := filepath.Join(folder, h.Name)
		var err error
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755) // not its own mode: the test has to remove it
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		default:
			var f *os.File
			if f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, os.FileMode(h.Mode)); err == nil {
				_, err = io.Copy(f, r)
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return folder
}
