package clusterfile

import (
	"fmt"
	"io"
)

// What is read is bounded, so that a device or a packed bomb ends in an error and not in the machine's memory.
const (
	// mostBytes is of one source, unpacked: 150,000 pods as kubectl prints them, 8 KB each with all that nothing
	// reads, are 1.1 GiB of JSON.
	mostBytes = 4 << 30
	// mostInOne is of one document or item: the API server keeps none above 2 MiB, and the groups of 15,000 nodes
	// are 8 MiB.
	mostInOne = 32 << 20
	// mostObjects are several times those of the largest cluster.
	mostObjects = 1_000_000
)

// bounded reads a source up to its bounds. one is to be set back where a document or an item ends.
type bounded struct {
	in                 io.Reader
	all, one           int64
	mostAll, mostInOne int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.all += int64(n)
	b.one += int64(n)
	switch {
	case b.all > b.mostAll:
		return 0, fmt.Errorf("it is above %s, unpacked, which no cluster needs", inBytes(b.mostAll))
	case b.one > b.mostInOne:
		return 0, fmt.Errorf("one document or item in it is above %s; give large lists as items in block style, or as JSON",
			inBytes(b.mostInOne))
	}
	return n, err
}

func inBytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
