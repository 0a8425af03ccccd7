package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line is a text of clusters or files as a part of one line: ends of lines in it are escapes, the rest is Terminal's.
func Line(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }

// Tell writes a line of some kind for a person: a note, a warning.
func Tell(w io.Writer, kind, text string) { fmt.Fprintln(w, kind+":", Line(text)) }

// ErrorText is an error for a person. Several that were joined have a line each; other ends of lines come from texts
// that it quotes.
func ErrorText(err error) string {
	text := err.Error()
	if !strings.Contains(text, "\n") {
		return text
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var all []string
		for _, one := range e.Unwrap() {
			all = append(all, one.Error())
		}
		if text != strings.Join(all, "\n") {
			break // they are parts of a sentence
		}
		for i, one := range e.Unwrap() {
			all[i] = ErrorText(one)
		}
		return strings.Join(all, "\n")
	case interface{ Unwrap() error }:
		within := e.Unwrap()
		if within == nil {
			break
		}
		if at := strings.LastIndex(text, within.Error()); at >= 0 {
			return Line(text[:at]) + ErrorText(within) + Line(text[at+len(within.Error()):])
		}
	}
	return Line(text)
}

// Terminal is a writer in front of a terminal. Texts of clusters and files go through it: what would move the cursor,
// hide letters or turn the text around is written as an escape that JSON reads as the same letter.
func Terminal(to io.Writer) io.Writer { return &terminal{to: to} }

type terminal struct {
	to io.Writer
	// open is the begin of a letter, the rest of which has not been written yet.
	open []byte
}

func (t *terminal) Write(text []byte) (int, error) {
	if len(t.open) == 0 && isPlain(text) {
		return t.to.Write(text)
	}
	all := append(t.open, text...)
	out := make([]byte, 0, len(all)+16)
	for len(all) > 0 && utf8.FullRune(all) {
		r, size := utf8.DecodeRune(all)
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, all[0])
		case r == '\n' || r == '\t' || r == ' ' || unicode.IsPrint(r):
			out = append(out, all[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		all = all[size:]
	}
	t.open = append([]byte(nil), all...)
	if _, err := t.to.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// isPlain reports whether there are only letters of ASCII, spaces and ends of lines.
func isPlain(text []byte) bool {
	for _, c := range text {
		if (c < ' ' || c >= 0x7f) && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}
