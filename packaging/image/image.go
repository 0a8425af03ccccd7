// Package image makes the container image of the product, without Docker and without a daemon.
//
// In flow binaries, one per platform (ReadAll), and what lies below them (Scratch or Pull). Out
// flow an image per platform (Build), an index over them (Index), and an archive that holds it
// all: an OCI layout in a tar (WriteArchive; OpenArchive reads it back). What an image says of
// itself is read from the binary, so that the two cannot differ. No clock is read: the same
// inputs give the same bytes.
//
// Only commands of this module import it. The Dockerfile at the root of the repository makes
// the same image for those who use Docker; a test holds the two together.
package image

import (
	"fmt"
	"maps"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// Program is where the binary is.
	Program = "/plimsoll"
	// StandIn is its other name. Deployments and charts made for the Cluster Autoscaler start
	// it, or ./cluster-autoscaler in Workdir, and the binary is then `plimsoll run`.
	StandIn = "/cluster-autoscaler"
	// Workdir is where a process starts.
	Workdir = "/"
	// User is distroless' nonroot, as numbers: runAsNonRoot cannot check a name.
	User = "65532:65532"

	title       = "plimsoll"
	description = "A node autoscaler for Kubernetes that loads a cluster exactly to its line"
	source      = "https://github.com/plimsoll-dev/plimsoll"
	licenses    = "Apache-2.0"
)

// Built is a binary, and the image that it is in.
type Built struct {
	Binary Binary
	Image  v1.Image
}

// Build puts a binary on a base.
func Build(base Base, binary Binary) (Built, error) {
	program, err := os.ReadFile(binary.Path)
	if err != nil {
		return Built{}, fmt.Errorf("read the binary for %s: %w", binary.Platform, err)
	}
	below, err := base.Image.MediaType()
	if err != nil {
		return Built{}, fmt.Errorf("read the base's manifest: %w", err)
	}
	layer, err := layerOf([]entry{
		{name: Program, mode: 0o755, body: program},
		// Relative, so that it also holds where the files lie unpacked.
		{name: StandIn, mode: 0o777, link: path.Base(Program)},
	}, layerType(below))
	if err != nil {
		return Built{}, fmt.Errorf("make the layer of %s for %s: %w", Program, binary.Platform, err)
	}
	config, err := configOf(base, binary)
	if err != nil {
		return Built{}, err
	}
	img, err := mutate.ConfigFile(base.Image, config)
	if err != nil {
		return Built{}, fmt.Errorf("configure the image for %s: %w", binary.Platform, err)
	}
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
		Created:   v1.Time{Time: binary.About.Created},
		CreatedBy: fmt.Sprintf("%s %s, and %s", Program, binary.About.Version, StandIn),
	}})
	if err != nil {
		return Built{}, fmt.Errorf("add %s to the image for %s: %w", Program, binary.Platform, err)
	}
	return Built{binary, mutate.Annotations(img, labels(binary.About)).(v1.Image)}, nil
}

// configOf is the base's configuration with ours on top: the base's environment stays, since
// it may say where its certificates are.
func configOf(base Base, binary Binary) (*v1.ConfigFile, error) {
	below, err := base.Image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the base's configuration: %w", err)
	}
	config := below.DeepCopy()
	config.OS, config.Architecture, config.Variant = binary.Platform.OS, binary.Platform.Architecture,
		binary.Platform.Variant
	config.Created = v1.Time{Time: binary.About.Created}
	config.Config.User = User
	config.Config.WorkingDir = Workdir
	config.Config.Entrypoint = []string{Program}
	config.Config.Cmd = nil
	all := maps.Clone(base.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels(binary.About))
	config.Config.Labels = all
	return config, nil
}

// labels are those of the OCI image specification. A commit that is not known is left out.
func labels(a About) map[string]string {
	set := map[string]string{
		"org.opencontainers.image.title":       title,
		"org.opencontainers.image.description": description,
		"org.opencontainers.image.source":      source,
		"org.opencontainers.image.licenses":    licenses,
		"org.opencontainers.image.version":     a.Version,
		"org.opencontainers.image.created":     a.Created.UTC().Format(time.RFC3339),
	}
	if a.Commit != "" {
		set["org.opencontainers.image.revision"] = a.Commit
	}
	return set
}

// Index joins images of binaries that belong together, in the order given.
func Index(images []Built) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, each := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: each.Image, Descriptor: v1.Descriptor{Platform: &each.Binary.Platform},
		})
	}
	return mutate.Annotations(index, labels(images[0].Binary.About)).(v1.ImageIndex)
}

// Tag is the image's full name: its tag is the version without the v of git's tag, as the chart
// has it.
func Tag(repository string, about About) (name.Tag, error) {
	tag, err := name.NewTag(repository+":"+strings.TrimPrefix(about.Version, "v"), name.StrictValidation)
	if err != nil {
		return name.Tag{},
			fmt.Errorf("name the image: %w; a repository is like ghcr.io/plimsoll-dev/plimsoll, and a version like v0.1.0", err)
	}
	return tag, nil
}
