package clusterfile

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// piece is the text of one object, and where it begins.
type piece struct {
	file string
	line int
	data []byte
	yaml bool
	// written is when the file was, which times in it may be relative to.
	written time.Time
	// list has the apiVersion and kind of the list that it is an item of, if they stand before it.
	list typeMeta
}

// typeMeta is what every object says of its kind.
type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// itemKind is the kind of a typed list's items, which need not say it themselves.
func (t typeMeta) itemKind() typeMeta {
	item, ok := strings.CutSuffix(t.Kind, "List")
	if !ok || item == "" {
		return typeMeta{}
	}
	return typeMeta{t.APIVersion, item}
}

// placedError is an error with the place at which it is.
type placedError struct {
	file string
	line int
	err  error
}

func (e *placedError) Error() string { return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err) }
func (e *placedError) Unwrap() error { return e.err }

// mistake gives an error its place, unless it has one.
func mistake(file string, line int, err error) error {
	if _, placed := errors.AsType[*placedError](err); placed {
		return err
	}
	return &placedError{file, line, err}
}

// split hands over the objects of a file, one by one, the items of lists by themselves: no list is ever
// held as a whole.
func split(file string, r io.Reader, emit func(piece) error) error {
	in := bufio.NewReaderSize(r, 1<<16)
	start, err := in.Peek(in.Size())
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return readError(file, err)
	case looksLikeJSON(start):
		return splitJSON(file, in, emit)
	}
	return splitYAML(file, in, 1, emit)
}

// looksLikeJSON reports whether a file begins with an object of JSON: a brace and, unlike an object of YAML
// in flow style, a quote or the other brace.
func looksLikeJSON(start []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(start), []byte("{"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '"' || rest[0] == '}')
}

// lines counts the lines of what has been read through it, up to an offset.
type lines struct {
	in   io.Reader
	open []byte // read; the first done bytes are counted
	done int
	at   int64 // the offset of the first byte that is not
	line int
}

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	l.open = append(append(l.open[:0], l.open[l.done:]...), p[:n]...)
	l.done = 0
	return n, err
}

// to is the line of an offset, which must not be before the last one asked for.
func (l *lines) to(offset int64) int {
	next := l.open[l.done:]
	next = next[:min(max(0, int(offset-l.at)), len(next))]
	l.line += bytes.Count(next, []byte("\n"))
	l.done, l.at = l.done+len(next), l.at+int64(len(next))
	return l.line
}

// end is the offset up to which everything was read.
func (l *lines) end() int64 { return l.at + int64(len(l.open)-l.done) }

// splitJSON reads objects that follow each other, and the documents of YAML that may follow them.
func splitJSON(file string, in io.Reader, emit func(piece) error) error {
	s := &jsonSplitter{file: file, emit: emit}
	if err := s.all(in, 1); err != nil || s.rest == nil {
		return err
	}
	return splitYAML(file, bufio.NewReader(s.rest), s.lines.to(s.dec.InputOffset()), emit)
}

type jsonSplitter struct {
	file  string
	lines *lines
	dec   *json.Decoder
	emit  func(piece) error
	// within: only items of lists are wanted.
	within bool
	// rest is what follows the last object where that is a document of YAML.
	rest io.Reader
}

// all reads to the end of what begins at a line.
func (s *jsonSplitter) all(in io.Reader, line int) error {
	s.lines = &lines{in: in, line: line}
	s.dec = json.NewDecoder(s.lines)
	for {
		err := s.object()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if s.within || !s.dec.More() {
			continue
		}
		next := bufio.NewReader(s.dec.Buffered())
		if first, _ := next.Peek(1); bytes.ContainsAny(first, "-.#") { // a marker, or a comment
			s.rest = io.MultiReader(next, in)
			return nil
		}
	}
}

// wrong gives an error of the decoder its place.
func (s *jsonSplitter) wrong(err error) error {
	at := s.dec.InputOffset()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = max(at, syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = s.lines.end(), errors.New("the file ends within an object")
	}
	return mistake(s.file, s.lines.to(at), err)
}

// object reads one object. The items of a list are handed over at once; what has no items is put
// together again.
func (s *jsonSplitter) object() error {
	open, err := s.dec.Token()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return s.wrong(err)
	}
	line := s.lines.to(s.dec.InputOffset())
	if open != json.Delim('{') {
		return mistake(s.file, line, fmt.Errorf("an object was expected, and not %v", open))
	}
	whole := joined{line: line}
	var list typeMeta
	var waiting []piece // items before the list's kind
	isList := false
	for s.dec.More() {
		key, err := s.dec.Token()
		if err != nil {
			return s.wrong(err)
		}
		if key == "items" {
			isList = true
			if err := s.items(&list, &waiting); err != nil {
				return err
			}
			continue
		}
		name, _ := json.Marshal(key)
		whole.add(s.lines.to(s.dec.InputOffset()), name)
		var value json.RawMessage
		if err := s.dec.Decode(&value); err != nil {
			return s.wrong(err)
		}
		whole.add(s.lines.to(s.dec.InputOffset()-int64(len(value))), value)
		switch key {
		case "apiVersion":
			_ = json.Unmarshal(value, &list.APIVersion) // what is no text is no kind
		case "kind":
			_ = json.Unmarshal(value, &list.Kind)
		}
	}
	if _, err := s.dec.Token(); err != nil {
		return s.wrong(err)
	}
	switch {
	case isList:
	case s.within:
		return nil
	default:
		return s.emit(piece{file: s.file, line: line, data: whole.object()})
	}
	for _, p := range waiting {
		p.list = list.itemKind()
		if err := s.emit(p); err != nil {
			return err
		}
	}
	return nil
}

// joined is an object that is put together again of its fields, each on its line, so that a mistake in it has one.
type joined struct {
	text  bytes.Buffer
	line  int
	parts int
}

// add takes in a name, or the value that follows it, which begins on a line.
func (j *joined) add(line int, part []byte) {
	switch {
	case j.parts == 0:
		j.text.WriteByte('{')
	case j.parts%2 == 0:
		j.text.WriteByte(',')
	default:
		j.text.WriteByte(':')
	}
	j.parts++
	for ; j.line < line; j.line++ {
		j.text.WriteByte('\n')
	}
	j.text.Write(part)
	j.line += bytes.Count(part, []byte("\n"))
}

func (j *joined) object() []byte {
	if j.parts == 0 {
		j.text.WriteByte('{')
	}
	j.text.WriteByte('}')
	return j.text.Bytes()
}

// items reads the array of a list. Items that do not say their kind wait for the list to do so.
func (s *jsonSplitter) items(list *typeMeta, waiting *[]piece) error {
	open, err := s.dec.Token()
	if err != nil {
		return s.wrong(err)
	}
	switch open {
	case nil:
		return nil // a list of nothing
	case json.Delim('['):
	default:
		return mistake(s.file, s.lines.to(s.dec.InputOffset()), errors.New("items: an array was expected"))
	}
	for s.dec.More() {
		var item json.RawMessage
		if err := s.dec.Decode(&item); err != nil {
			return s.wrong(err)
		}
		p := piece{file: s.file, data: item, list: list.itemKind()}
		p.line = s.lines.to(s.dec.InputOffset() - int64(len(item)))
		if list.Kind == "" && !saysKind(item) {
			*waiting = append(*waiting, p)
			continue
		}
		if err := s.emit(p); err != nil {
			return err
		}
	}
	if _, err := s.dec.Token(); err != nil {
		return s.wrong(err)
	}
	return nil
}

// saysKind reports whether an item says its kind.
func saysKind(item []byte) bool {
	meta, err := metaOf(item)
	return err == nil && meta.Kind != ""
}

// metaOf reads the kind of an object, and no further than to where it stands.
func metaOf(data []byte) (typeMeta, error) {
	var meta typeMeta
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return meta, cmp.Or(err, errors.New("an object was expected"))
	}
	for dec.More() && (meta.APIVersion == "" || meta.Kind == "") {
		key, err := dec.Token()
		if err != nil {
			return meta, err
		}
		var into any = new(json.RawMessage)
		switch key {
		case "apiVersion":
			into = &meta.APIVersion
		case "kind":
			into = &meta.Kind
		}
		err = dec.Decode(into)
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			err = &wrongField{fmt.Sprint(key), wrong, err}
		}
		if err != nil {
			return meta, err
		}
	}
	return meta, nil
}

// splitYAML reads documents with a line --- between them. The items of a list in block style, as
// kubectl writes it, are taken apart by their indentation; anything else is a document as a whole.
func splitYAML(file string, in *bufio.Reader, line int, emit func(piece) error) error {
	s := &yamlSplitter{file: file, emit: emit}
	for ; ; line++ {
		text, err := in.ReadBytes('\n')
		if len(text) > 0 {
			if err := s.take(line, text); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return s.end()
		}
		if err != nil {
			return readError(file, err)
		}
	}
}

type yamlSplitter struct {
	file string
	emit func(piece) error
	// head is the text of the document outside of its items, begun at line.
	head []byte
	line int
	// list is true below a line "items:"; dash is how an item begins, empty before the first. item is the
	// one that is being read. waiting are items that do not say their kind.
	list     bool
	dash     string
	item     []byte
	itemLine int
	waiting  []piece
}

func (s *yamlSplitter) take(line int, text []byte) error {
	if begins, rest := marker(text); begins {
		if err := s.end(); err != nil {
			return err
		}
		text = rest
	}
	if len(s.head) == 0 && !s.list && (onlyComment(text) || text[0] == '%') {
		return nil // before a document: nothing, or a directive
	}
	if s.list && (s.dash == "" || len(s.item) > 0) {
		inside, err := s.takeItem(line, text)
		if inside || err != nil {
			return err
		}
	}
	if len(s.head) == 0 && !s.list {
		s.line = line
	}
	if word, rest, ok := bytes.Cut(text, []byte(":")); ok && string(word) == "items" && !s.list && onlyComment(rest) {
		s.list = true
		return nil
	}
	s.head = append(s.head, text...)
	return nil
}

// takeItem takes a line below "items:". It is false for the first line that belongs to no item.
func (s *yamlSplitter) takeItem(line int, text []byte) (inside bool, err error) {
	indent := len(text) - len(bytes.TrimLeft(text, " "))
	bare := bytes.TrimSpace(text)
	dash := bytes.HasPrefix(bare, []byte("- ")) || string(bare) == "-"
	if s.dash == "" {
		if !dash {
			return len(bare) == 0 || bare[0] == '#', nil
		}
		s.dash = strings.Repeat(" ", indent) + "-"
	}
	switch {
	case dash && indent == len(s.dash)-1:
		if err := s.endItem(); err != nil {
			return true, err
		}
		s.itemLine = line
		// The item is parsed by itself: its dash becomes a part of its indentation.
		s.item = append(append(s.item[:0], text[:indent]...), ' ')
		s.item = append(s.item, text[indent+1:]...)
		return true, nil
	case indent >= len(s.dash) || len(bare) == 0 || bare[0] == '#':
		s.item = append(s.item, text...)
		return true, nil
	}
	return false, s.endItem()
}

func (s *yamlSplitter) endItem() error {
	if len(s.item) == 0 {
		return nil
	}
	p := piece{file: s.file, line: s.itemLine, data: bytes.Clone(s.item), yaml: true}
	s.item = s.item[:0]
	if !yamlSaysKind(p.data) {
		s.waiting = append(s.waiting, p)
		return nil
	}
	return s.emit(p)
}

// yamlSaysKind reports whether an item has a line with its kind, at the indentation of its first field.
func yamlSaysKind(item []byte) bool {
	first := -1
	for text := range bytes.Lines(item) {
		bare := bytes.TrimLeft(text, " ")
		if len(bytes.TrimSpace(bare)) == 0 {
			continue
		}
		indent := len(text) - len(bare)
		if first < 0 {
			first = indent
		}
		if indent == first && bytes.HasPrefix(bare, []byte("kind:")) {
			return true
		}
	}
	return false
}

// end ends a document.
func (s *yamlSplitter) end() error {
	if err := s.endItem(); err != nil {
		return err
	}
	head, waiting, line, list := s.head, s.waiting, s.line, s.list
	*s = yamlSplitter{file: s.file, emit: s.emit, item: s.item}
	if !list {
		if len(bytes.TrimSpace(head)) == 0 {
			return nil
		}
		return s.emit(piece{file: s.file, line: line, data: head, yaml: true})
	}
	if len(waiting) == 0 {
		return nil
	}
	var meta typeMeta
	for text := range bytes.Lines(head) {
		key, value, _ := strings.Cut(string(text), ":")
		switch value = strings.Trim(strings.TrimSpace(value), `"'`); key {
		case "apiVersion":
			meta.APIVersion = value
		case "kind":
			meta.Kind = value
		}
	}
	for _, p := range waiting {
		p.list = meta.itemKind()
		if err := s.emit(p); err != nil {
			return err
		}
	}
	return nil
}

// marker reports whether a line begins or ends a document, and gives what follows on it.
func marker(text []byte) (begins bool, rest []byte) {
	for _, mark := range []string{"---", "..."} {
		if rest, ok := bytes.CutPrefix(text, []byte(mark)); ok &&
			(len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0]))) {
			return true, rest
		}
	}
	return false, text
}

// onlyComment reports whether nothing but white space and a comment is there.
func onlyComment(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || text[0] == '#'
}
