package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
	"github.com/plimsoll-dev/plimsoll/packaging/image/sbom"
)

// sums is the file that sha256sum --check reads.
const sums = "SHA256SUMS"

// part is a file of the release: what it is called there, and where it is now.
type part struct {
	name, from string
	mode       os.FileMode
}

// partsOf are the files of a release. It refuses those that do not belong together: binaries of
// another commit than the one checked out, or an image or a list that was made of others.
func partsOf(paths []string, archive, list, commit string) ([]part, string, error) {
	binaries, err := image.ReadAll(paths)
	if err != nil {
		return nil, "", err
	}
	about := binaries[0].About
	if about.Commit != commit {
		return nil, "", fmt.Errorf("%s is of commit %q, and %s is checked out; build it again",
			paths[0], about.Commit, commit)
	}
	version := about.Version
	var parts []part
	for _, b := range binaries {
		parts = append(parts, part{
			fmt.Sprintf("plimsoll-%s-%s-%s", version, b.Platform.OS, b.Platform.Architecture), b.Path, 0o755,
		})
	}
	if err := imageIsOf(archive, binaries); err != nil {
		return nil, "", err
	}
	if err := listIsOf(list, binaries); err != nil {
		return nil, "", err
	}
	return append(parts,
		part{"plimsoll-" + version + "-image.tar", archive, 0o644},
		part{"plimsoll-" + version + ".spdx.json", list, 0o644},
	), version, nil
}

func imageIsOf(archive string, binaries []image.Binary) (err error) {
	folder, err := os.MkdirTemp("", "plimsoll-release-")
	if err != nil {
		return fmt.Errorf("look into the image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	index, err := image.OpenArchive(archive, folder)
	if err != nil {
		return err
	}
	for _, b := range binaries {
		images, err := partial.FindImages(index, func(d v1.Descriptor) bool {
			return d.Platform != nil && d.Platform.Equals(b.Platform)
		})
		if err != nil {
			return fmt.Errorf("look into the image %s: %w", archive, err)
		}
		if len(images) != 1 {
			return fmt.Errorf("the image %s has no part for %s; make it again (make image)", archive, b.Platform)
		}
		sum, err := image.ProgramSum(images[0])
		if err != nil {
			return fmt.Errorf("look into the image %s: %w", archive, err)
		}
		if sum != b.SHA256 {
			return fmt.Errorf("the image %s holds another binary for %s than %s; make it again (make image)",
				archive, b.Platform, b.Path)
		}
	}
	return nil
}

func listIsOf(path string, binaries []image.Binary) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the SPDX document: %w; make it (make image)", err)
	}
	defer f.Close()
	doc, err := sbom.Read(f)
	if err != nil {
		return err
	}
	// The namespace has the sums of the binaries in it.
	if doc.DocumentNamespace != sbom.Document(binaries).DocumentNamespace {
		return fmt.Errorf("the SPDX document %s is of other binaries; make it again (make image)", path)
	}
	return nil
}

// gather copies the parts, and writes their sums. What is in the folder of the version from an
// earlier time goes; folders of other versions stay.
func gather(to, version string, parts []part) (_ string, err error) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of releases: %w", err)
	}
	half, err := os.MkdirTemp(to, ".unfinished-")
	if err != nil {
		return "", fmt.Errorf("make the folder of the release: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(half)) }()
	if err := os.Chmod(half, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the release: %w", err)
	}
	var lines []string
	for _, p := range parts {
		sum, err := copied(filepath.Join(half, p.name), p)
		if err != nil {
			return "", fmt.Errorf("copy %s into the release: %w", p.from, err)
		}
		lines = append(lines, fmt.Sprintf("%s  %s\n", sum, p.name))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	if err := os.WriteFile(filepath.Join(half, sums), []byte(strings.Join(lines, "")), 0o644); err != nil {
		return "", fmt.Errorf("write the sums: %w", err)
	}
	folder := filepath.Join(to, version)
	if err := os.RemoveAll(folder); err != nil {
		return "", fmt.Errorf("remove the release that was there: %w", err)
	}
	if err := os.Rename(half, folder); err != nil {
		return "", fmt.Errorf("finish the release: %w", err)
	}
	return folder, nil
}

func copied(to string, p part) (_ string, err error) {
	in, err := os.Open(p.from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, p.mode)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, hash), in); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
