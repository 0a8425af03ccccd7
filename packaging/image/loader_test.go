package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestLoaderIsSeen: a program that is linked to the C library names its loader in its head.
func TestLoaderIsSeen(t *testing.T) {
	const loader = "/lib64/ld-linux-x86-64.so.2"
	var head elf.Header64
	copy(head.Ident[:], elf.ELFMAG)
	head.Ident[elf.EI_CLASS], head.Ident[elf.EI_DATA], head.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64),
		byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	head.Type, head.Machine, head.Version = uint16(elf.ET_EXEC), uint16(elf.EM_X86_64), uint32(elf.EV_CURRENT)
	headSize, progSize := binary.Size(head), binary.Size(elf.Prog64{})
	head.Phoff, head.Phentsize, head.Phnum = uint64(headSize), uint16(progSize), 1
	prog := elf.Prog64{Type: uint32(elf.PT_INTERP), Off: uint64(headSize + progSize), Filesz: uint64(len(loader) + 1)}
	var file bytes.Buffer
	for _, part := range []any{head, prog, []byte(loader + "\x00")} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := loaderOf(bytes.NewReader(file.Bytes())); err != nil || got != loader {
		t.Errorf("the loader is %q (%v), not %q", got, err, loader)
	}
}

func TestWhatDoesNotBelongTogether(t *testing.T) {
	of := func(architecture, commit string) Binary {
		platform := v1.Platform{OS: "linux", Architecture: architecture}
		return Binary{Platform: platform, About: About{Version: "v1", Commit: commit}}
	}
	for says, binaries := range map[string][]Binary{
		"name one per platform":   nil,
		"one binary per platform": {of("amd64", "c0ffee"), of("amd64", "c0ffee")},
		"v1 (commit decaf)":       {of("amd64", "c0ffee"), of("arm64", "decaf")},
	} {
		if err := together(binaries); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("it says %v, not %q", err, says)
		}
	}
}
