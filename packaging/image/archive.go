package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// WriteArchive writes an index and all below it into a tar that holds an OCI layout. The image
// has the name given there: containerd takes it from its own annotation, other tools the tag
// from that of the specification. A file that is there already is replaced only by a whole one.
func WriteArchive(file string, index v1.ImageIndex, tag name.Tag) (err error) {
	folder, err := os.MkdirTemp(filepath.Dir(file), ".layout-")
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	at, err := layout.Write(filepath.Join(folder, "image"), empty.Index)
	if err != nil {
		return fmt.Errorf("write the image's layout: %w", err)
	}
	names := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(),
		"io.containerd.image.name":          tag.Name(),
	})
	if err := at.AppendIndex(index, names); err != nil {
		return fmt.Errorf("write the image's layout: %w", err)
	}
	whole := filepath.Join(folder, "image.tar")
	if err := pack(whole, os.DirFS(string(at))); err != nil {
		return fmt.Errorf("write the image's archive: %w", err)
	}
	if err := os.Rename(whole, file); err != nil {
		return fmt.Errorf("write the image's archive: %w", err)
	}
	return nil
}

// pack writes all files of a folder, sorted by name, with nothing of the machine in it.
func pack(file string, folder fs.FS) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	err = fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		h := &tar.Header{Name: name, Mode: 0o644, ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if d.IsDir() {
			h.Name, h.Mode, h.Typeflag = name+"/", 0o755, tar.TypeDir
			return w.WriteHeader(h)
		}
		f, err := folder.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		h.Size = info.Size()
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return err
	})
	return errors.Join(err, w.Close())
}

// OpenArchive unpacks an archive into a folder, which must exist, and opens the one index that
// WriteArchive has put there. The folder must stay as long as the index is read.
func OpenArchive(file, folder string) (v1.ImageIndex, error) {
	if err := unpack(file, folder); err != nil {
		return nil, fmt.Errorf("unpack the image's archive %s: %w", file, err)
	}
	all, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("read the layout in %s: %w", file, err)
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read the layout in %s: %w", file, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("read the layout in %s: it holds %d images, not one; delete it and build the image again",
			file, len(manifest.Manifests))
	}
	index, err := all.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return nil, fmt.Errorf("read the index in %s: %w", file, err)
	}
	return index, nil
}

func unpack(file, folder string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	// Nothing that an archive names can be outside of it.
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir {
			if err := root.MkdirAll(filepath.Clean(h.Name), 0o755); err != nil {
				return err
			}
			continue
		}
		f, err := root.Create(h.Name)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// ProgramSum is the SHA-256 of the binary in an image.
func ProgramSum(img v1.Image) (string, error) {
	files := mutate.Extract(img)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("there is no %s in the image; make it again", Program)
		}
		if err != nil {
			return "", fmt.Errorf("look for %s in the image: %w", Program, err)
		}
		if path.Join("/", h.Name) != Program {
			continue
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, r); err != nil {
			return "", fmt.Errorf("sum up %s in the image: %w", Program, err)
		}
		return hex.EncodeToString(hash.Sum(nil)), nil
	}
}
