package image

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// rootsLabel names the certificates that a base from scratch holds. They are an input that the
// source does not fix: with the label two digests that differ can be explained.
const rootsLabel = "io.github.plimsoll-dev.ca-certificates.sha256"

const rootsPath = "/etc/ssl/certs/ca-certificates.crt"

// Base is what lies below the binary, for one platform, and the labels that say where it is from.
type Base struct {
	Image  v1.Image
	Labels map[string]string
}

// rootHome is where the image has the home of its user root, as distroless has it.
const rootHome = "/root"

// Scratch is a base of what a static binary needs and nothing else: the root certificates given
// (PEM), users, /tmp, and how hosts are looked up. It is what distroless' static image has, less
// time zones, which the product never reads, and less Debian's list of packages, since nothing
// of Debian is in it.
func Scratch(roots []byte) (Base, error) {
	if err := certificates(roots); err != nil {
		return Base{}, err
	}
	layer, err := layerOf([]entry{
		{name: "/etc/", mode: 0o755},
		{name: "/etc/passwd", mode: 0o644, body: []byte("root:x:0:0:root:" + rootHome + ":/sbin/nologin\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
			"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "/etc/group", mode: 0o644, body: []byte("root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n")},
		{name: "/etc/nsswitch.conf", mode: 0o644, body: []byte("hosts: files dns\n")},
		{name: "/etc/ssl/", mode: 0o755},
		{name: "/etc/ssl/certs/", mode: 0o755},
		{name: rootsPath, mode: 0o644, body: roots},
		{name: "/home/", mode: 0o755},
		{name: "/home/nonroot/", mode: 0o700, owner: 65532},
		{name: rootHome + "/", mode: 0o700},
		{name: "/tmp/", mode: 0o1777},
	}, types.OCILayer)
	if err != nil {
		return Base{}, fmt.Errorf("make the base layer: %w", err)
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config, err := img.ConfigFile()
	if err != nil {
		return Base{}, fmt.Errorf("make the base: %w", err)
	}
	config = config.DeepCopy()
	config.Config.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"SSL_CERT_FILE=" + rootsPath,
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return Base{}, fmt.Errorf("make the base: %w", err)
	}
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: epoch}, CreatedBy: "root certificates, users, /tmp",
	}})
	if err != nil {
		return Base{}, fmt.Errorf("make the base: %w", err)
	}
	sum := sha256.Sum256(roots)
	return Base{Image: img, Labels: map[string]string{rootsLabel: hex.EncodeToString(sum[:])}}, nil
}

// certificates refuses what is not at least one certificate: an image without any would fail
// only when it first asks a cloud.
func certificates(roots []byte) error {
	count := 0
	for rest := roots; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("read the root certificates: a %s is among them; give a file of certificates only", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("read root certificate %d: %w; give another file of PEM certificates", count+1, err)
		}
		count++
	}
	if count == 0 {
		return errors.New(
			"read the root certificates: there is none; install ca-certificates, or name a file of PEM certificates",
		)
	}
	return nil
}

// Pull reads a base from a registry, with the credentials that docker login has left, if any.
// A reference by tag may be another image tomorrow: what it was is in the labels.
func Pull(ctx context.Context, reference string, platform v1.Platform) (Base, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return Base{}, fmt.Errorf("read the base's name: %w", err)
	}
	img, err := remote.Image(ref, remote.WithContext(ctx), remote.WithPlatform(platform),
		remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return Base{}, fmt.Errorf("pull the base %s for %s: %w; without a registry at hand, leave the base out, and it is "+
			"made from scratch", ref, platform, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return Base{}, fmt.Errorf("read the configuration of the base %s for %s: %w", ref, platform, err)
	}
	// A name that leads to a single image, not to an index, is pulled whatever was asked for.
	if config.OS != platform.OS || config.Architecture != platform.Architecture {
		return Base{}, fmt.Errorf("pull the base %s for %s: it is for %s; name an image that has that platform",
			ref, platform, config.Platform())
	}
	digest, err := img.Digest()
	if err != nil {
		return Base{}, fmt.Errorf("read the digest of the base %s: %w", ref, err)
	}
	return Base{Image: img, Labels: map[string]string{
		"org.opencontainers.image.base.name":   ref.Name(),
		"org.opencontainers.image.base.digest": digest.String(),
	}}, nil
}
