package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

//go:embed types.txt
var typesText string

// row is an instance type, in the form of the built-in list.
type row struct {
	Type        string `json:"type"`
	Arch        string `json:"arch"`
	CPU         int64  `json:"cpu"`
	MemoryMiB   int64  `json:"memoryMiB"`
	ENIPods     int64  `json:"eniPods,omitempty"`
	NVIDIA      int64  `json:"nvidia,omitempty"`
	AMD         int64  `json:"amd,omitempty"`
	Neuron      int64  `json:"neuron,omitempty"`
	NeuronCores int64  `json:"neuronCores,omitempty"`
	From        string `json:"from"`
}

// table is what types.txt says.
type table struct {
	date    string
	sources map[string]string
	pods    map[string]map[string]int64 // by pattern and size
	rows    []row
}

// readTable derives the rows. A line that it does not understand is an error, and
// so are a source that is not named and a type that is there twice.
func readTable(text string) (table, error) {
	t := table{sources: map[string]string{}, pods: map[string]map[string]int64{}}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if err := t.take(fields[0], fields[1:]); err != nil {
			return table{}, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	slices.SortFunc(t.rows, func(a, b row) int { return cmp.Compare(a.Type, b.Type) })
	for i := range len(t.rows) - 1 {
		if t.rows[i].Type == t.rows[i+1].Type {
			return table{}, fmt.Errorf("%s is there twice", t.rows[i].Type)
		}
	}
	return t, nil
}

func (t *table) take(kind string, fields []string) error {
	switch {
	case kind == "date" && len(fields) == 1:
		t.date = fields[0]
		return nil
	case kind == "source" && len(fields) == 2:
		t.sources[fields[0]] = fields[1]
		return nil
	case kind == "pods" && len(fields) > 1:
		t.pods[fields[0]] = map[string]int64{}
		for _, field := range fields[1:] {
			size, n, err := numbered(field, "=")
			if err != nil {
				return err
			}
			t.pods[fields[0]][size] = n
		}
		return nil
	case kind == "family" && len(fields) > 5:
		return t.family(fields)
	case kind == "type" && len(fields) > 5:
		return t.one(fields)
	}
	return fmt.Errorf("%q is no line of this table", kind)
}

// family derives the rows of a family, in which memory follows from the vCPUs, and
// these from the size.
func (t *table) family(fields []string) error {
	ratio, err := strconv.ParseFloat(fields[2], 64)
	if err != nil {
		return fmt.Errorf("%s: %w", fields[0], err)
	}
	pattern, _ := strings.CutPrefix(fields[3], "pods=")
	if t.pods[pattern] == nil && pattern != "-" {
		return fmt.Errorf("%s: there is no pattern of pods %q", fields[0], pattern)
	}
	from, err := t.from(strings.TrimSuffix(fields[4], ":"))
	if err != nil {
		return fmt.Errorf("%s: %w", fields[0], err)
	}
	for _, field := range fields[5:] {
		size, pods := field, int64(0)
		if strings.Contains(field, "~") {
			if size, pods, err = numbered(field, "~"); err != nil {
				return err
			}
		}
		name, _, _ := strings.Cut(size, ":")
		vcpu, err := vcpusOf(size)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", fields[0], size, err)
		}
		memory := ratio * 1024 * float64(vcpu)
		if memory != math.Trunc(memory) {
			return fmt.Errorf("%s.%s has a fraction of a MiB", fields[0], name)
		}
		t.rows = append(t.rows, row{Type: fields[0] + "." + name, Arch: fields[1], CPU: vcpu, MemoryMiB: int64(memory),
			ENIPods: cmp.Or(pods, t.pods[pattern][name]), From: from})
	}
	return nil
}

// one is a row that is stated as a whole.
func (t *table) one(fields []string) error {
	r := row{Type: fields[0], Arch: fields[1]}
	into := map[string]*int64{
		"pods": &r.ENIPods, "nvidia": &r.NVIDIA, "amd": &r.AMD, "neuron": &r.Neuron, "neuronCores": &r.NeuronCores,
	}
	var err error
	if r.CPU, err = strconv.ParseInt(fields[2], 10, 64); err == nil {
		r.MemoryMiB, err = strconv.ParseInt(fields[3], 10, 64)
	}
	for _, field := range fields[4:] {
		switch {
		case err != nil:
		case strings.HasPrefix(field, "from="):
			r.From, err = t.from(field)
		case field != "pods=-":
			var name string
			var n int64
			if name, n, err = numbered(field, "="); err == nil && into[name] == nil {
				err = fmt.Errorf("%q is nothing that a type has", name)
			} else if err == nil {
				*into[name] = n
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Type, err)
	}
	t.rows = append(t.rows, r)
	return nil
}

func (t *table) from(field string) (string, error) {
	keys, ok := strings.CutPrefix(field, "from=")
	for key := range strings.SplitSeq(keys, ",") {
		if !ok || t.sources[key] == "" {
			return "", fmt.Errorf("%q names no source", field)
		}
	}
	return keys, nil
}

// vcpusOf are the vCPUs that follow from a size.
func vcpusOf(size string) (int64, error) {
	if name, n, err := numbered(size, ":"); err == nil && name == "metal" {
		return n, nil
	}
	switch size {
	case "medium":
		return 1, nil
	case "large":
		return 2, nil
	case "xlarge":
		return 4, nil
	}
	text := strings.TrimSuffix(size, "xlarge")
	if metal, ok := strings.CutPrefix(size, "metal-"); ok {
		text = strings.TrimSuffix(metal, "xl")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 2 {
		return 0, fmt.Errorf("no number of vCPUs follows from the size")
	}
	return 4 * n, nil
}

func numbered(field, by string) (string, int64, error) {
	name, text, _ := strings.Cut(field, by)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return "", 0, fmt.Errorf("%q has no number after %q", field, by)
	}
	return name, n, nil
}

// json is the table in the form of the built-in list, one type a line.
func (t table) json() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"date\": %q,\n  \"sources\": {\n", t.date)
	for i, key := range slices.Sorted(maps.Keys(t.sources)) {
		fmt.Fprintf(&b, "    %q: %q%s\n", key, t.sources[key], comma(i, len(t.sources)))
	}
	b.WriteString("  },\n  \"machines\": [\n")
	for i, r := range t.rows {
		line, err := json.Marshal(r)
		if err != nil {
			return "", fmt.Errorf("write the instance type %s: %w", r.Type, err)
		}
		fmt.Fprintf(&b, "    %s%s\n", line, comma(i, len(t.rows)))
	}
	b.WriteString("  ]\n}\n")
	return b.String(), nil
}

func comma(i, of int) string {
	if i < of-1 {
		return ","
	}
	return ""
}
