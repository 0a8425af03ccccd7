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
	// maxUnpacked bounds the size of a memory that is read.
	maxUnpacked = 64 << 20
	packed      = "gzip:"
)

// memoryVersion is the version of the form that is written. What has a later one is not
// read: its fields may mean something else. Version 1, the first, has no number.
const memoryVersion = 2

// written is a memory as it is written down.
type written struct {
	Version int `json:"version,omitzero"`
	model.Memory
}

// Dropped is what had to be left out of a memory that is too long. What costs the least to lose
// goes first.
type Dropped struct {
	// Ready are units whose nodes are ready. Losing them only makes an ask's count of ready nodes
	// wrong.
	Ready int
	// Unneeded are the youngest unneeded-since: such nodes stay longer.
	Unneeded int
	// Arrivals are the youngest nodes that have come: a scale-up that does not help may
	// be repeated once.
	Arrivals int
}

// EncodeMemory writes a memory as the text of an annotation, and reports what it left out. It is an
// error if the rest is still too long: units in flight and open drains are remembered completely or
// not at all.
func EncodeMemory(m model.Memory) (text string, dropped Dropped, err error) {
	text, err = encode(m)
	if err != nil || len(text) <= maxMemory {
		return text, Dropped{}, err
	}
	m.Asks, dropped.Ready = withoutReady(m.Asks)
	if text, err = encode(m); err != nil {
		return "", Dropped{}, err
	}
	unneeded := m.Unneeded
	nodes := slices.SortedFunc(maps.Keys(unneeded), func(a, b string) int {
		return cmp.Or(unneeded[a].Compare(unneeded[b]), cmp.Compare(a, b))
	})
	text, dropped.Unneeded, err = fewer(text, len(nodes), func(keep int) (string, error) {
		m.Unneeded = make(map[string]time.Time, keep)
		for _, name := range nodes[:keep] {
			m.Unneeded[name] = unneeded[name]
		}
		return encode(m)
	})
	if err != nil {
		return "", Dropped{}, err
	}
	arrivals := slices.SortedStableFunc(slices.Values(m.Arrivals), func(a, b model.Arrival) int {
		return a.Ready.Compare(b.Ready)
	})
	text, dropped.Arrivals, err = fewer(text, len(arrivals), func(keep int) (string, error) {
		m.Arrivals = arrivals[:keep]
		return encode(m)
	})
	if err == nil && len(text) > maxMemory {
		err = fmt.Errorf("%d asks, %d brakes and %d drains take %d bytes, and an annotation %d at most",
			len(m.Asks), len(m.Brakes), len(m.Drains), len(text), maxMemory)
	}
	if err != nil {
		return "", Dropped{}, err
	}
	return text, dropped, nil
}

// withoutReady leaves the units out whose nodes are ready, and asks that have no
// others.
func withoutReady(asks []model.Ask) (kept []model.Ask, dropped int) {
	for _, a := range asks {
		all := len(a.Units)
		a.Units = slices.DeleteFunc(slices.Clone(a.Units), func(u model.Unit) bool { return u.State == model.UnitReady })
		dropped += all - len(a.Units)
		if len(a.Units) > 0 {
			kept = append(kept, a)
		}
	}
	return kept, dropped
}

// fewer leaves entries out of a text that is too long, until it fits or there are
// none. with writes it with that many.
func fewer(text string, entries int, with func(keep int) (string, error)) (shorter string, dropped int, err error) {
	keep := entries
	for len(text) > maxMemory && keep > 0 {
		// Entries are of about the same length: few rounds are enough.
		keep = min(keep*maxMemory/len(text), keep-1)
		if text, err = with(keep); err != nil {
			return "", 0, err
		}
	}
	return text, entries - keep, nil
}

func encode(m model.Memory) (string, error) {
	plain, err := MemoryText(m)
	if err != nil || len(plain) <= plainMemory {
		return plain, err
	}
	var b bytes.Buffer
	b.WriteString(packed)
	text := base64.NewEncoder(base64.StdEncoding, &b)
	zip := gzip.NewWriter(text)
	if _, err := zip.Write([]byte(plain)); err != nil {
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

// MemoryText writes a memory as JSON, whatever its length.
func MemoryText(m model.Memory) (string, error) {
	plain, err := json.Marshal(written{memoryVersion, m})
	return string(plain), err
}

// ParseMemory reads a memory that was written at a time, zero if unknown. One without a time may be
// old, and another autoscaler may have run since: the nodes may have been needed.
func ParseMemory(text string, at time.Time) (model.Memory, error) {
	m, err := decodeMemory(text)
	if m.Written = at; at.IsZero() {
		m.Unneeded = nil
	}
	return m, err
}

// decodeMemory reads what EncodeMemory wrote, also in the form of before it had versions
// (ADR 35). Fields that it does not know are left out.
func decodeMemory(text string) (model.Memory, error) {
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
	var w written
	if err := json.Unmarshal(plain, &w); err != nil {
		return model.Memory{}, fmt.Errorf("parse it: %w", err)
	}
	switch {
	case w.Version > memoryVersion:
		return model.Memory{}, fmt.Errorf("it is of version %d, and this Plimsoll reads up to version %d",
			w.Version, memoryVersion)
	case w.Version < memoryVersion:
		if err := fromTimes(plain, w.Asks); err != nil {
			return model.Memory{}, fmt.Errorf("parse it: %w", err)
		}
	}
	return w.Memory, nil
}

// fromTimes gives the units of a memory without a version the states that they were in. It
// told them by the times at which units had come so far.
func fromTimes(plain []byte, asks []model.Ask) error {
	var before struct {
		Asks []struct {
			Units []struct{ Registered, Ready, GivenUp, Kept time.Time }
		}
	}
	if err := json.Unmarshal(plain, &before); err != nil {
		return err
	}
	for i, a := range before.Asks {
		for j, was := range a.Units {
			u := &asks[i].Units[j]
			switch {
			case !was.Ready.IsZero():
				u.State, u.Entered = model.UnitReady, was.Ready
			case !was.Kept.IsZero():
				u.State, u.Entered = model.UnitKept, was.Kept
			case !was.GivenUp.IsZero():
				u.State, u.Entered = model.UnitGivenUp, was.GivenUp
			case !was.Registered.IsZero():
				u.State, u.Entered = model.UnitRegistered, was.Registered
			case u.Instance != "":
				u.State, u.Entered = model.UnitMade, u.Exists
			}
		}
	}
	return nil
}
