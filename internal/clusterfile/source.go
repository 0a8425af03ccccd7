package clusterfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// stdinName is how standard input is called in errors.
const stdinName = "stdin"

// source is a file or standard input, unpacked where it is packed.
type source struct {
	*bufio.Reader
	// name is how errors call it.
	name string
	// written is when the file was, and now for standard input.
	written time.Time
	file    *os.File
}

// opened opens a file, or standard input for "-".
func opened(name string, stdin io.Reader) (*source, error) {
	s := &source{Reader: bufio.NewReader(stdin), name: stdinName, written: time.Now()}
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s = &source{bufio.NewReader(file), name, s.written, file}
		if info, err := file.Stat(); err == nil {
			s.written = info.ModTime()
		}
	}
	if err := s.unpack(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// Open opens a file, or standard input for "-", to be read unpacked, as other files are. Errors call it by the name.
func Open(file string, stdin io.Reader) (in io.ReadCloser, name string, err error) {
	s, err := opened(file, stdin)
	if err != nil {
		return nil, "", err
	}
	return closing{s}, s.name, nil
}

// closing closes a source.
type closing struct{ *source }

func (c closing) Close() error { c.close(); return nil }

func (s *source) close() {
	if s.file != nil {
		_ = s.file.Close() // it was read only
	}
}

func (s *source) unpack() error {
	if magic, _ := s.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(s.Reader)
		if err != nil {
			return fmt.Errorf("unpack %s: %w", s.name, cutOff(err))
		}
		s.Reader = bufio.NewReader(packed{plain})
	}
	// Read as what it is not, it would be an empty cluster.
	if mark, _ := s.Peek(2); bytes.Equal(mark, []byte{0xff, 0xfe}) || bytes.Equal(mark, []byte{0xfe, 0xff}) {
		return fmt.Errorf("read %s: it is UTF-16, as some shells write files; write it as UTF-8", s.name)
	}
	return nil
}

// packed reads what was packed.
type packed struct{ *gzip.Reader }

func (p packed) Read(into []byte) (int, error) {
	n, err := p.Reader.Read(into)
	return n, cutOff(err)
}

// errCutOff is of a packed file that lacks its end.
var errCutOff = errors.New("the packed file is cut off")

func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errCutOff
	}
	return err
}

// readError is the error of a read, with the name of what was read once.
func readError(name string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok && failed.Path == name {
		err = failed.Err
	}
	return fmt.Errorf("read %s: %w", name, err)
}
