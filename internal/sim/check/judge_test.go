package check

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestHistories plays the files in testdata: histories as text, a fact a line, and the rules that are
// broken in them. Each rule has one that breaks it and one that nearly does.
//
//	flags --max-nodes-total=3     what the operator said, for those that follow
//	history                       begins with what is under it; what is kept is in front of each
//	keep                          facts that all later histories of the file begin with
//
// A fact is when it becomes true, what it is, and its words, as in Event: "12m ends machine=m1 call=c".
func TestHistories(t *testing.T) {
	tested := map[string]int{}
	broke := map[string]bool{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		words, kept := []string(nil), ""
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "flags":
				words = nil
				for _, arg := range d.CmdArgs {
					words = append(words, arg.String())
				}
				return ""
			case "keep":
				kept = d.Input + "\n"
				return ""
			}
			flags, err := ParseFlags(words)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			flags.Start = begun
			j := New(flags, nil)
			for _, line := range strings.Split(kept+d.Input, "\n") {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				e, err := parse(line)
				if err != nil {
					d.Fatalf(t, "%q: %v", line, err)
				}
				if e.What == Rest {
					j.broken = append(j.broken, j.AtRest(e.At)...)
				} else {
					j.Observe(e)
				}
			}
			var out strings.Builder
			for _, b := range j.Broken() {
				broke[b.Rule] = true
				fmt.Fprintf(&out, "%s %s %s: %s\n", j.stamp(b.At), b.Rule, b.Subject, b.Truth)
			}
			for _, c := range j.Tested() {
				tested[c.Rule] += c.Times
			}
			if out.Len() == 0 {
				return "nothing is broken\n"
			}
			return out.String()
		})
	})
	for _, r := range rules {
		if !broke[r.id] {
			t.Errorf("no history breaks %s", r.id)
		}
	}
}

// begun is when histories begin.
var begun = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// parse reads a fact.
func parse(line string) (e Event, err error) {
	words := strings.Fields(line)
	at, err := time.ParseDuration(words[0])
	if err != nil || len(words) < 2 {
		return e, fmt.Errorf("when and what are wanted: %w", err)
	}
	e.At, e.What = begun.Add(at), What(words[1])
	fields := reflect.ValueOf(&e).Elem()
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		f := fields.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, key) })
		if !f.IsValid() {
			return e, fmt.Errorf("a fact has no %q", key)
		}
		switch v := f.Interface().(type) {
		case bool:
			f.SetBool(true)
		case time.Duration:
			d, err := time.ParseDuration(value)
			if err != nil {
				return e, err
			}
			f.SetInt(int64(d))
		case int, int64:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return e, err
			}
			f.SetInt(n)
		case float64:
			x, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return e, err
			}
			f.SetFloat(x)
		case []string:
			f.Set(reflect.ValueOf(strings.Split(value, "|")))
		case time.Time:
			v = begun
			d, err := time.ParseDuration(value)
			if err != nil {
				return e, err
			}
			f.Set(reflect.ValueOf(v.Add(d)))
		default:
			f.SetString(value)
		}
	}
	return e, nil
}

// TestRulesAreOnesOwn: ids are unique, and each rule has a sentence.
func TestRulesAreOnesOwn(t *testing.T) {
	var ids []string
	for _, r := range rules {
		if slices.Contains(ids, r.id) || !strings.HasSuffix(r.sentence, ".") {
			t.Errorf("%s: it is there twice, or has no sentence", r.id)
		}
		ids = append(ids, r.id)
	}
}
