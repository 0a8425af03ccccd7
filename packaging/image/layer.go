package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of every file: what is in an image does not depend on when it was made.
var epoch = time.Unix(0, 0).UTC()

// entry is one file, folder (a name that ends with a slash) or symbolic link of a layer.
type entry struct {
	name  string
	mode  int64
	owner int // and group
	body  []byte
	link  string
}

// layerOf is a layer with these entries, in this order: folders come before what is in them.
func layerOf(entries []entry, as types.MediaType) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, e := range entries {
		h := &tar.Header{
			Name: strings.TrimPrefix(e.name, "/"), Mode: e.mode, Uid: e.owner, Gid: e.owner,
			ModTime: epoch, Typeflag: tar.TypeReg, Size: int64(len(e.body)), Format: tar.FormatPAX,
		}
		switch {
		case e.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	// Every node pulls it, and it is packed once.
	return tarball.LayerFromOpener(open, tarball.WithMediaType(as), tarball.WithCompressionLevel(gzip.DefaultCompression),
		tarball.WithCompressedCaching)
}

// layerType is how a layer on top of an image with this manifest calls itself.
func layerType(manifest types.MediaType) types.MediaType {
	if manifest == types.DockerManifestSchema2 {
		return types.DockerLayer
	}
	return types.OCILayer
}
