package clusterfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// parsed is what a piece holds.
type parsed struct {
	objects []runtime.Object
	dump    *dump
	groups  *provider.Inventory
	memory  *model.Memory
	odd     string            // a note
	skipped string            // a kind that is not read
	flagsAt map[string]string // where a dump's flags stand
	kind    string            // of what is read, also if nothing of it is kept
	file    string
	newest  time.Time
}

// wrongAt gives an error within a piece its place: the line that the parser names, or where the piece
// begins.
func (p piece) wrongAt(data []byte, err error) error {
	line := p.line
	var typed *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case p.yaml:
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			if n, bad := strconv.Atoi(m[2]); bad == nil && n > 0 {
				line += n - 1
			}
			text, _, _ := strings.Cut(strings.Replace(err.Error(), m[0], m[1], 1), "\n") // the first of several
			err = errors.New(text)
		} else if number := endless.FindIndex(p.data); number != nil {
			line += linesBefore(p.data, int64(number[0]))
			err = fmt.Errorf("%s: no number of a cluster is endless, or none", bytes.TrimSpace(p.data[number[0]:number[1]]))
		}
	case errors.As(err, &typed):
		line += linesBefore(data, typed.Offset)
	case errors.As(err, &syntax):
		line += linesBefore(data, syntax.Offset)
	}
	return mistake(p.file, line, err)
}

// placesOf says where some names stand below a field of the piece, as FILE:LINE; where the piece begins, if they are
// not found.
func (p piece) placesOf(field string, names []string) map[string]string {
	out := map[string]string{}
	from := 0
	if at := regexp.MustCompile(`(?m)^` + field + `:|"` + field + `"\s*:`).FindIndex(p.data); at != nil {
		from = at[1]
	}
	for _, name := range names {
		line := p.line
		if at := regexp.MustCompile(`[\s{,"']` + regexp.QuoteMeta(name) + `["']?\s*:`).FindIndex(p.data[from:]); at != nil {
			line += linesBefore(p.data, int64(from+at[0]+1))
		}
		out[name] = fmt.Sprintf("%s:%d", p.file, line)
	}
	return out
}

// yamlLine is how the YAML parser names a line of what it was given.
var yamlLine = regexp.MustCompile(`(yaml: )(?:unmarshal errors:\s+)?line (\d+): `)

// endless finds a number of YAML that JSON lacks, with its field.
var endless = regexp.MustCompile(`(?i)[^\s{,]+[ \t]+[-+]?\.(inf|nan)\b`)

func linesBefore(data []byte, offset int64) int {
	return bytes.Count(data[:min(max(0, int(offset)), len(data))], []byte("\n"))
}

// relativeTime is how kwokctl snapshot export writes a time: as nanoseconds since the export.
var relativeTime = regexp.MustCompile(`\$\(time-offset-nanosecond (-?\d+)\)`)

// absolute puts times into a text that are relative to when it was written. It reports whether there are any.
func absolute(text []byte, written time.Time) ([]byte, bool) {
	if !bytes.Contains(text, []byte("$(time-offset-nanosecond ")) {
		return text, false
	}
	return relativeTime.ReplaceAllFunc(text, func(found []byte) []byte {
		n, err := strconv.ParseInt(string(relativeTime.FindSubmatch(found)[1]), 10, 64)
		if err != nil {
			return found
		}
		// Whole seconds are what most times are kept in.
		return []byte(written.Add(time.Duration(n)).UTC().Truncate(time.Second).Format(metav1.RFC3339Micro))
	}), true
}

// parse reads a piece.
func (p piece) parse() ([]parsed, error) {
	var relative bool
	if p.data, relative = absolute(p.data, p.written); relative {
		p.written = p.written.Truncate(time.Second)
	}
	all, err := p.parsed()
	for i := range all {
		all[i].file = p.file
		if relative { // it says when it was written
			all[i].newest = p.written
		}
	}
	return all, err
}

func (p piece) parsed() ([]parsed, error) {
	data, err := p.json()
	if data == nil || err != nil {
		return nil, err
	}
	all, err := p.object(data, p.list)
	if err != nil {
		return nil, p.wrongAt(data, err)
	}
	return all, nil
}

// json is the piece as JSON; nil if nothing but comments are in it.
func (p piece) json() ([]byte, error) {
	if !p.yaml {
		return p.data, nil
	}
	data, err := yaml.YAMLToJSONStrict(p.data)
	switch {
	case err != nil:
		return nil, p.wrongAt(nil, err)
	case string(data) == "null":
		return nil, nil
	}
	return data, nil
}

// errNoVersion is of what says its kind only: of which group the kind is, and how it is read, is not known then.
var errNoVersion = errors.New("apiVersion: missing; it stands beside each kind that kubectl prints, as v1 beside Node")

// object reads an object of JSON. list is the kind that it has if it says none.
func (p piece) object(data []byte, list typeMeta) ([]parsed, error) {
	meta, err := metaOf(data)
	if err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	if meta.Kind == "" {
		if list.Kind == "" {
			return groupsOnly(data)
		}
		meta = list
	}
	if meta.APIVersion == "" && !strings.HasSuffix(meta.Kind, "List") { // a list's items say it, or are refused
		return nil, fmt.Errorf("%s: %w", called(meta.Kind, data), errNoVersion)
	}
	gv, err := schema.ParseGroupVersion(meta.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("%s: apiVersion: %w", meta.Kind, err)
	}
	switch {
	case meta.Kind == endKind && gv.Group == dumpGroup:
		return []parsed{{kind: endKind}}, nil
	case meta.Kind != dumpKind || gv.Group != dumpGroup:
	case gv.String() != dumpVersion:
		return nil, fmt.Errorf("%s: apiVersion: %q is not known; want %s. Read it with the Plimsoll that wrote it",
			dumpKind, meta.APIVersion, dumpVersion)
	default:
		d, err := readDump(data)
		if err == nil {
			d.flagsAt = p.placesOf("flags", slices.Collect(maps.Keys(d.dump.Flags)))
		}
		return one(d, err)
	}
	k, ok := kinds()[gv.WithKind(meta.Kind)]
	switch {
	case ok:
	case strings.HasSuffix(meta.Kind, "List"):
		return p.wholeList(data)
	case misspelt(gv, meta.Kind) != "":
		return nil, fmt.Errorf("%s: there is no such kind in %s; did you mean %s?", called(meta.Kind, data), gv,
			misspelt(gv, meta.Kind))
	case gv.Group == "" && gv.Version != "v1":
		return nil, fmt.Errorf("%s: apiVersion: there is no %s; did you mean v1?", called(meta.Kind, data), gv)
	default:
		return []parsed{{skipped: skippedKind(gv, meta)}}, nil
	}
	obj := reflect.New(reflect.TypeOf(k.Example).Elem()).Interface().(runtime.Object)
	err = located(json.Unmarshal(data, obj), data, obj, false)
	if err == nil {
		err = cmp.Or(checkObject(obj), refused(obj))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", called(meta.Kind, data), err)
	}
	return one(taken(obj, meta.Kind))
}

// misspelt is the kind that is meant by one in letters of another case; else empty.
func misspelt(gv schema.GroupVersion, kind string) string {
	for known := range kinds() {
		if known.Group == gv.Group && known.Kind != kind && strings.EqualFold(known.Kind, kind) {
			return known.Kind
		}
	}
	return ""
}

// skippedKind is how a kind that is not read is called: with its version, where another version of it is read.
func skippedKind(gv schema.GroupVersion, meta typeMeta) string {
	for known := range kinds() {
		if known.Kind == meta.Kind && known.Group == gv.Group {
			return meta.APIVersion + " " + meta.Kind
		}
	}
	return meta.Kind
}

func one(p parsed, err error) ([]parsed, error) { return []parsed{p}, err }

// taken cuts an object down.
func taken(obj runtime.Object, kind string) (parsed, error) {
	meta, ok := obj.(metav1.Object)
	if !ok || meta.GetName() == "" {
		return parsed{}, fmt.Errorf("%s: metadata.name: missing", kind)
	}
	out := parsed{newest: newest(obj, meta), kind: kind, odd: farHeartbeat(obj)}
	if m, ok := obj.(*corev1.ConfigMap); ok && m.Annotations[status.MemoryAnnotation] != "" {
		memory, err := status.MemoryIn(m)
		if err != nil {
			return parsed{}, err
		}
		out.memory = &memory
	}
	if cut := observe.Cut(obj); cut != nil {
		out.objects = []runtime.Object{cut}
	} else if out.memory == nil && !ended(obj) {
		out.skipped = kind
	}
	return out, nil
}

func ended(obj runtime.Object) bool {
	_, ok := obj.(*corev1.Pod)
	return ok
}

// newest is the latest time that an object has of something that has happened: a cluster that was
// printed does not say when it was.
func newest(obj runtime.Object, meta metav1.Object) time.Time {
	at := meta.GetCreationTimestamp().Time
	see := func(t metav1.Time) {
		if t.Time.Before(lastTime) {
			at = model.Latest(at, t.Time)
		}
	}
	switch o := obj.(type) {
	case *corev1.Node:
		for i := range o.Status.Conditions {
			see(o.Status.Conditions[i].LastHeartbeatTime)
			see(o.Status.Conditions[i].LastTransitionTime)
		}
	case *corev1.Pod:
		for i := range o.Status.Conditions {
			see(o.Status.Conditions[i].LastTransitionTime)
		}
	}
	return at
}

// called is the kind and the name of an object that cannot be read, as far as it can be.
func called(kind string, data []byte) string {
	var named struct {
		Metadata struct{ Namespace, Name string }
	}
	_ = json.Unmarshal(data, &named)
	if named.Metadata.Namespace == "" {
		return strings.TrimSpace(kind + " " + named.Metadata.Name)
	}
	return kind + " " + named.Metadata.Namespace + "/" + named.Metadata.Name
}

// wholeList reads a list that was not taken apart: one of a list, or of YAML in flow style.
func (p piece) wholeList(data []byte) (out []parsed, err error) {
	inner := jsonSplitter{file: p.file, within: true, emit: func(item piece) error {
		all, err := item.parse()
		out = append(out, all...)
		return err
	}}
	err = inner.all(bytes.NewReader(data), p.line)
	return out, err
}

// groupsOnly reads what `plimsoll groups -o yaml` prints, which is no Kubernetes object.
func groupsOnly(data []byte) ([]parsed, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	if fields["groups"] == nil {
		return nil, errors.New(
			"neither a Kubernetes object, with apiVersion and kind, nor what plimsoll groups -o yaml prints")
	}
	var inventory provider.Inventory
	err := exactly(data, &inventory)
	if err == nil {
		err = checkGroups("", &inventory)
	}
	if err != nil {
		return nil, fmt.Errorf("node groups: %w", err)
	}
	return []parsed{{groups: &inventory, newest: inventory.AsOf}}, nil
}
