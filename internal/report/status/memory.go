package status

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

const (
	// plainMemory is how long a memory may be, in bytes, before it is packed.
	plainMemory = 64 << 10
	// maxMemory is how long it may be at all. The API server takes 256 KiB of
	// all annotations together.
	maxMemory = 200 << 10
	// maxUnpacked bounds what is read of a packed one, whoever wrote it.
	maxUnpacked = 64 << 20
	packed      = "gzip:"
)

// EncodeMemory writes a memory as the text of an annotation. Dropped is how many
// of the youngest unneeded-since had to be left out: a node whose entry is lost
// stays longer, which costs the least of all that a memory can lose. If it is
// too long even without all of them, that is an error.
func EncodeMemory(m model.Memory) (text string, dropped int, err error) {
	text, err = encode(m)
	if err != nil || len(text) <= maxMemory {
		return text, 0, err
	}
	nodes := slices.SortedFunc(maps.Keys(m.Unneeded), func(a, b string) int {
		return cmp.Or(m.Unneeded[a].Compare(m.Unneeded[b]), cmp.Compare(a, b))
	})
	whole, keep := m.Unneeded, len(nodes)
	for len(text) > maxMemory && keep > 0 {
		// Entries are of about the same length: few rounds are enough.
		keep = min(keep*maxMemory/len(text), keep-1)
		m.Unneeded = make(map[string]time.Time, keep)
		for _, name := range nodes[:keep] {
			m.Unneeded[name] = whole[name]
		}
		if text, err = encode(m); err != nil {
			return "", 0, err
		}
	}
	if len(text) > maxMemory {
		return "", 0, fmt.Errorf("%d asks, %d arrivals, %d brakes and %d drains take %d bytes, and an annotation %d at most",
			len(m.Asks), len(m.Arrivals), len(m.Brakes), len(m.Drains), len(text), maxMemory)
	}
	return text, len(nodes) - keep, nil
}

func encode(m model.Memory) (string, error) {
	plain, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	if len(plain) <= plainMemory {
		return string(plain), nil
	}
	var b bytes.Buffer
	b.WriteString(packed)
	text := base64.NewEncoder(base64.StdEncoding, &b)
	zip := gzip.NewWriter(text)
	if _, err := zip.Write(plain); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	if err := text.Close(); err != nil {
		return "", err
	}
	return b.String(), nil
}

// DecodeMemory reads what EncodeMemory wrote. Fields that it does not know are
// left out, so that a newer version may have written it.
func DecodeMemory(text string) (model.Memory, error) {
	plain := []byte(text)
	if rest, ok := strings.CutPrefix(text, packed); ok {
		zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(rest)))
		if err != nil {
			return model.Memory{}, fmt.Errorf("unpack it: %w", err)
		}
		if plain, err = io.ReadAll(io.LimitReader(zip, maxUnpacked+1)); err != nil {
			return model.Memory{}, fmt.Errorf("unpack it: %w", err)
		}
		if len(plain) > maxUnpacked {
			return model.Memory{}, fmt.Errorf("unpack it: it is longer than %d bytes", maxUnpacked)
		}
	}
	var m model.Memory
	if err := json.Unmarshal(plain, &m); err != nil {
		return model.Memory{}, fmt.Errorf("parse it: %w", err)
	}
	return m, nil
}
