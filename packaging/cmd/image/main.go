// Command image writes the product's container image, as an OCI archive, and the list of what
// its binaries are made of, as SPDX. It is run in the folder packaging by `make image`, with
// one binary per platform.
//
//	image --to=../bin/plimsoll-image.tar --sbom=../bin/plimsoll.spdx.json ../bin/linux/amd64/plimsoll
//
// Both files are read back and checked before it says that all is well.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
	"github.com/plimsoll-dev/plimsoll/packaging/image/sbom"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := pflag.NewFlagSet("image", pflag.ContinueOnError)
	to := flags.String("to", "../bin/plimsoll-image.tar", "the archive to write")
	list := flags.String("sbom", "../bin/plimsoll.spdx.json", "the SPDX document to write")
	base := flags.String("base", "", "an image to build on, best by digest (default: from scratch)")
	roots := flags.String("roots", "/etc/ssl/certs/ca-certificates.crt",
		"from scratch: the root certificates to put in, a file of PEM")
	repository := flags.String("repository", "ghcr.io/plimsoll-dev/plimsoll",
		"the name of the image in the archive; its tag is the version")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	binaries, err := image.ReadAll(flags.Args())
	if err != nil {
		return err
	}
	tag, err := image.Tag(*repository, binaries[0].About)
	if err != nil {
		return err
	}
	var built []image.Built
	for _, b := range binaries {
		below, err := baseOf(ctx, *base, *roots, b.Platform)
		if err != nil {
			return err
		}
		one, err := image.Build(below, b)
		if err != nil {
			return err
		}
		built = append(built, one)
	}
	index := image.Index(built)
	if err := image.WriteArchive(*to, index, tag); err != nil {
		return err
	}
	if err := check(*to, index); err != nil {
		return err
	}
	if err := writeList(*list, binaries); err != nil {
		return err
	}
	return tell(out, *to, *list, tag, index, built)
}

func baseOf(ctx context.Context, base, roots string, platform v1.Platform) (image.Base, error) {
	if base != "" {
		return image.Pull(ctx, base, platform)
	}
	certificates, err := os.ReadFile(roots)
	if err != nil {
		return image.Base{}, fmt.Errorf(
			"read the root certificates: %w; install ca-certificates, or name a file of PEM certificates (--roots)", err,
		)
	}
	return image.Scratch(certificates)
}

// check reads the archive as a stranger would, and compares it with what was to be in it.
func check(path string, want v1.ImageIndex) (err error) {
	folder, err := os.MkdirTemp("", "plimsoll-image-")
	if err != nil {
		return fmt.Errorf("check the image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	got, err := image.OpenArchive(path, folder)
	if err != nil {
		return err
	}
	if err := validate.Index(got); err != nil {
		return fmt.Errorf("check the image in %s: %w", path, err)
	}
	wrote, err := want.Digest()
	if err != nil {
		return fmt.Errorf("check the image in %s: %w", path, err)
	}
	if read, err := got.Digest(); err != nil || read != wrote {
		return errors.Join(fmt.Errorf("check the image in %s: wrote %s, and read %s; is the disk full?",
			path, wrote, read), err)
	}
	return nil
}

func writeList(path string, binaries []image.Binary) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the SPDX document: %w", err)
	}
	if err := errors.Join(sbom.Write(sbom.Document(binaries), f), f.Close()); err != nil {
		return err
	}
	again, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("check the SPDX document: %w", err)
	}
	defer again.Close()
	_, err = sbom.Read(again)
	return err
}

func tell(out io.Writer, archive, list string, tag name.Tag, index v1.ImageIndex, built []image.Built) error {
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("read the image's digest: %w", err)
	}
	fmt.Fprintf(out, "%s\n  %s\n  %s\n", archive, tag, digest)
	for _, each := range built {
		digest, err := each.Image.Digest()
		if err != nil {
			return fmt.Errorf("read the digest of the image for %s: %w", each.Binary.Platform, err)
		}
		fmt.Fprintf(out, "  %s for %s\n", digest, each.Binary.Platform)
	}
	fmt.Fprintln(out, list)
	return nil
}
