package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// TestTheListIsTheTables: the list is generated, and not edited by hand.
func TestTheListIsTheTables(t *testing.T) {
	made, err := readTable(typesText)
	if err != nil {
		t.Fatal(err)
	}
	want, err := made.json()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../instancetypes.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("go run ./providers/aws/internal/instancetypes -table > providers/aws/instancetypes.json")
	}
}

// TestEveryRowIsCredible: a name that AWS has, a source for each row, and amounts
// that some machine may have.
func TestEveryRowIsCredible(t *testing.T) {
	made, err := readTable(typesText)
	if err != nil {
		t.Fatal(err)
	}
	if made.date == "" || len(made.rows) < 1000 {
		t.Errorf("date %q, %d rows", made.date, len(made.rows))
	}
	names := ec2types.InstanceType("").Values()
	used := map[string]bool{}
	for _, r := range made.rows {
		if !slices.Contains(names, ec2types.InstanceType(r.Type)) {
			t.Errorf("AWS has no instance type %s", r.Type)
		}
		for key := range strings.SplitSeq(r.From, ",") {
			used[key] = true
			if !strings.HasPrefix(made.sources[key], "https://") {
				t.Errorf("%s is from %q", r.Type, key)
			}
		}
		family, _, _ := strings.Cut(r.Type, ".")
		// AWS marks ARM by a g behind the generation; A1 came before that.
		arm := family == "a1" || strings.Contains(strings.TrimLeft(family, "abcdefghijklmnopqrstuvwxyz"), "g")
		if r.Arch != map[bool]string{true: "arm64", false: "amd64"}[arm] {
			t.Errorf("%s has the architecture %s", r.Type, r.Arch)
		}
		if perCPU := float64(r.MemoryMiB) / float64(r.CPU); r.CPU < 1 || perCPU < 250 || perCPU > 64*1024 {
			t.Errorf("%s has %d vCPUs and %d MiB", r.Type, r.CPU, r.MemoryMiB)
		}
		if r.ENIPods < 0 || r.ENIPods > 1514 || r.NVIDIA > 8 || r.AMD > 4 || r.Neuron > 16 ||
			(r.Neuron > 0) != (r.NeuronCores > 0) {
			t.Errorf("%+v", r)
		}
	}
	for key := range made.sources {
		if !used[key] {
			t.Errorf("no row is from %s", key)
		}
	}
}

func TestATableThatIsWrong(t *testing.T) {
	const head = "date 2026-01-01\nsource s https://example.com\npods p large=29\n"
	for text, want := range map[string]string{
		"families x":                                   "no line of this table",
		"family x9 amd64 4 pods=q from=s: large":       "no pattern of pods",
		"family x9 amd64 4 pods=p from=t: large":       "names no source",
		"family x9 amd64 4 pods=p from=s: huge":        "no number of vCPUs",
		"family x9 amd64 4 pods=p from=s: metal":       "no number of vCPUs",
		"family x9 amd64 4 pods=p from=s: large~":      "no number after",
		"family x9 amd64 0.3 pods=p from=s: large":     "fraction of a MiB",
		"family x9 amd64 4 pods=p from=s: large large": "twice",
		"type x9.huge amd64 8 1 pods=3 from=s gpus=1":  "nothing that a type has",
		"type x9.huge amd64 8 1 pods=3 from=t":         "names no source",
		"type x9.huge amd64 8 many pods=3 from=s":      "invalid syntax",
	} {
		if _, err := readTable(head + text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	made, err := readTable(head + "family x9 amd64 1.5 pods=p from=s: large xlarge 3xlarge~7 metal:96 metal-24xl")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range made.rows {
		got = append(got,
			strings.Join([]string{r.Type, fmt.Sprint(r.CPU), fmt.Sprint(r.MemoryMiB), fmt.Sprint(r.ENIPods)}, " "))
	}
	want := []string{"x9.3xlarge 12 18432 7", "x9.large 2 3072 29", "x9.metal 96 147456 0", "x9.metal-24xl 96 147456 0",
		"x9.xlarge 4 6144 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
