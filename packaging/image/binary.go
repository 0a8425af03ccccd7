package image

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// About is what a binary says of itself. Values are comparable: binaries of one release have
// the same.
type About struct {
	Version string
	Commit  string    // empty: not known
	Created time.Time // the commit's time, which does not change from build to build; 1970 if not known
}

func (a About) String() string {
	if a.Commit == "" {
		return a.Version
	}
	return fmt.Sprintf("%s (commit %s)", a.Version, a.Commit)
}

// Binary is a program for Linux, and what Go has written into it.
type Binary struct {
	Path     string
	Platform v1.Platform
	SHA256   string
	Loader   string // the dynamic loader that it asks for; empty: it is static
	About    About
	Build    *buildinfo.BuildInfo
}

// ReadAll reads binaries that belong together: one per platform, all static and of the same commit.
func ReadAll(paths []string) ([]Binary, error) {
	var all []Binary
	for _, path := range paths {
		b, err := Read(path)
		if err != nil {
			return nil, err
		}
		if err := b.Static(); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, together(all)
}

func together(all []Binary) error {
	if len(all) == 0 {
		return errors.New("no binary is named; name one per platform")
	}
	first, seen := all[0], map[string]string{}
	for _, b := range all {
		if other, twice := seen[b.Platform.String()]; twice {
			return fmt.Errorf("%s and %s are both for %s; name one binary per platform", other, b.Path, b.Platform)
		}
		seen[b.Platform.String()] = b.Path
		if b.About != first.About {
			return fmt.Errorf("%s is %s, and %s is %s; build both from the same commit",
				first.Path, first.About, b.Path, b.About)
		}
	}
	return nil
}

// Read reads what a binary is, without running it.
func Read(path string) (Binary, error) {
	f, err := os.Open(path)
	if err != nil {
		return Binary{}, fmt.Errorf("read a binary: %w; build it first", err)
	}
	defer f.Close()
	info, err := buildinfo.Read(f)
	if err != nil {
		return Binary{}, fmt.Errorf("read what %s was built from: %w; is it a Go program?", path, err)
	}
	b := Binary{Path: path, Build: info}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			b.Platform.OS = s.Value
		case "GOARCH":
			b.Platform.Architecture = s.Value
		}
	}
	if b.Platform.OS != "linux" {
		return Binary{}, fmt.Errorf("%s is for %s; an image holds programs for linux: build with GOOS=linux",
			path, b.Platform)
	}
	if b.About, err = aboutOf(info); err != nil {
		return Binary{}, fmt.Errorf("read what %s says of itself: %w", path, err)
	}
	if b.Loader, err = loaderOf(f); err != nil {
		return Binary{}, fmt.Errorf("read how %s is linked: %w", path, err)
	}
	hash := sha256.New()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Binary{}, fmt.Errorf("sum up %s: %w", path, err)
	}
	if _, err := io.Copy(hash, f); err != nil {
		return Binary{}, fmt.Errorf("sum up %s: %w", path, err)
	}
	b.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return b, nil
}

// Static refuses a binary that cannot start in an image that has no C library.
func (b Binary) Static() error {
	if b.Loader == "" {
		return nil
	}
	return fmt.Errorf("%s is linked to %s, which the image does not have; build it with CGO_ENABLED=0", b.Path, b.Loader)
}

func loaderOf(r io.ReaderAt) (string, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return "", err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(p.Open())
			return strings.TrimRight(string(name), "\x00"), err
		}
	}
	return "", nil
}

// aboutOf reads what the linker was told to write into package main; else what Go itself knows
// of the repository.
func aboutOf(info *buildinfo.BuildInfo) (About, error) {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	told := stamps(settings["-ldflags"])
	a := About{Version: told["main.version"], Commit: told["main.commit"], Created: epoch}
	if a.Version == "" && info.Main.Version != "(devel)" {
		a.Version = info.Main.Version
	}
	if a.Version == "" {
		return About{}, fmt.Errorf("it has no version; build it by make, which sets main.version")
	}
	if a.Commit == "" {
		a.Commit = settings["vcs.revision"]
	}
	at := told["main.date"]
	if at == "" {
		at = settings["vcs.time"]
	}
	if at != "" {
		created, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return About{}, fmt.Errorf("its date: %w; main.date is like 2006-01-02T15:04:05Z", err)
		}
		a.Created = created.UTC()
	}
	return a, nil
}

// stamps are the variables that -X has set. No value of ours has a space in it.
func stamps(ldflags string) map[string]string {
	set := map[string]string{}
	words := strings.Fields(ldflags)
	for i := 1; i < len(words); i++ {
		if name, value, ok := strings.Cut(words[i], "="); ok && words[i-1] == "-X" {
			set[name] = value
		}
	}
	return set
}
