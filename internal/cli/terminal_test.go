package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
)

// TestErrorText: several errors have a line each, and texts that they quote have none.
func TestErrorText(t *testing.T) {
	joined := errors.Join(errors.New("a\nb"), fmt.Errorf("c: %w", errors.Join(errors.New("d"), errors.New("e\nf"))))
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"},
		{errors.New("a\nb"), `a\nb`},
		{joined, `a\nb` + "\nc: d\n" + `e\nf`},
		{fmt.Errorf("x\ny: %w, so", joined), `x\ny: a\nb` + "\nc: d\n" + `e\nf, so`},
		{fmt.Errorf("%w and %w", errors.New("a\nb"), errors.New("c")), `a\nb and c`},
	} {
		if got := cli.ErrorText(c.err); got != c.want {
			t.Errorf("%q is told as %q, want %q", c.err, got, c.want)
		}
	}
}

// TestTerminal: nothing reaches the terminal that is no letter, however the text is cut into writes.
func TestTerminal(t *testing.T) {
	const text = "a\x1b[2Jb\r\u202ec\u009b \tü→\n\U000e0001\xff"
	const want = `a\u001b[2Jb\u000d\u202ec\u009b ` + "\tü→\n" + `\udb40\udc01\xff`
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := cli.Terminal(&out)
		for at := 0; at < len(text); at += size {
			part := text[at:min(at+size, len(text))]
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		// The last byte may begin a letter, until the next write.
		if _, err := w.Write(nil); err != nil || out.String() != want {
			t.Errorf("%d bytes at a time: %q, want %q (%v)", size, out.String(), want, err)
		}
	}
	var out bytes.Buffer
	if err := json.NewEncoder(cli.Terminal(&out)).Encode("x\u202e\U000e0001\x1b"); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != "x\u202e\U000e0001\x1b" {
		t.Errorf("%q is read as %q, %v", out.String(), back, err)
	}
}
