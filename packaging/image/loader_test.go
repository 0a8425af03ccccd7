package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
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
