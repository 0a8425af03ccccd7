package image_test

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
)

func TestRootsAreCertificates(t *testing.T) {
	for name, c := range map[string]struct{ roots, says string }{
		"none":         {"", "install ca-certificates"},
		"a text":       {"these are no certificates", "install ca-certificates"},
		"a key":        {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "a PRIVATE KEY is among them"},
		"a broken one": {string(certificate(t)) + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "root certificate 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := image.Scratch([]byte(c.roots)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, not %q", err, c.says)
			}
		})
	}
}

// TestPull: an image on a base out of a registry has the base's layers below ours and its
// environment, starts as one from scratch does, and names the base.
func TestPull(t *testing.T) {
	for manifest, layer := range map[types.MediaType]types.MediaType{
		types.OCIManifestSchema1:    types.OCILayer,
		types.DockerManifestSchema2: types.DockerLayer,
	} {
		t.Run(string(manifest), func(t *testing.T) {
			b := read(t, standIn)
			there := published(t, manifest, b.Platform)
			base, err := image.Pull(t.Context(), there.reference, b.Platform)
			if err != nil {
				t.Fatal(err)
			}
			built := build(t, base, b)
			path := filepath.Join(t.TempDir(), "image.tar")
			archived(t, path, []image.Built{built})
			valid(t, path)
			img := built.Image
			got, err := img.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Layers) != 2 || got.Layers[0].Digest != there.layer || got.Layers[1].MediaType != layer {
				t.Errorf("the layers are %v", got.Layers)
			}
			config, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			c := config.Config
			if c.User != image.User || c.WorkingDir != image.Workdir || len(c.Cmd) != 0 {
				t.Errorf("the base's way to start is still there: %+v", c)
			}
			if diff := cmp.Diff([]string{"BASE=yes"}, c.Env); diff != "" {
				t.Error(diff)
			}
			for label, want := range map[string]string{
				"org.opencontainers.image.base.name":   there.reference,
				"org.opencontainers.image.base.digest": there.digest.String(),
				"org.opencontainers.image.version":     "v1.2.3",
			} {
				if c.Labels[label] != want {
					t.Errorf("%s is %q, not %q", label, c.Labels[label], want)
				}
			}
		})
	}
}

func TestPullFails(t *testing.T) {
	b := read(t, standIn)
	there := published(t, types.OCIManifestSchema1, b.Platform)
	for name, c := range map[string]struct {
		reference string
		platform  v1.Platform
		says      string
	}{
		"no name":          {"NO:NAME:AT ALL", b.Platform, "read the base's name"},
		"not there":        {there.reference + "-2", b.Platform, "made from scratch"},
		"another platform": {there.reference, v1.Platform{OS: "linux", Architecture: "s390x"}, "it is for " + b.Platform.String()},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := image.Pull(t.Context(), c.reference, c.platform); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, not %q", err, c.says)
			}
		})
	}
}

type base struct {
	reference     string
	digest, layer v1.Hash
}

// published is an image in a registry that is there until the test ends.
func published(t *testing.T, manifest types.MediaType, platform v1.Platform) base {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	reference := strings.TrimPrefix(server.URL, "http://") + "/base:nonroot"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	img, err := random.Image(64, 1)
	must(err)
	config, err := img.ConfigFile()
	must(err)
	config = config.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Config = v1.Config{Env: []string{"BASE=yes"}, Cmd: []string{"sh"}, User: "0", WorkingDir: "/home"}
	img, err = mutate.ConfigFile(img, config)
	must(err)
	img = mutate.MediaType(img, manifest)
	if manifest == types.OCIManifestSchema1 {
		img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	}
	ref, err := name.ParseReference(reference)
	must(err)
	must(remote.Write(ref, img))
	digest, err := img.Digest()
	must(err)
	layers, err := img.Layers()
	must(err)
	layer, err := layers[0].Digest()
	must(err)
	return base{reference, digest, layer}
}
