package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestGroups walks testdata/groups: each case is an inventory in YAML, and what
// the command prints of it.
func TestGroups(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "groups"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var inv provider.Inventory
			if err := yaml.UnmarshalStrict([]byte(d.Input), &inv); err != nil {
				d.Fatalf(t, "the case's inventory: %v", err)
			}
			var out bytes.Buffer
			var shares []model.PoolShareOf
			for i := range inv.Groups {
				if d.HasArg("shares") && inv.Groups[i].Pool == "sized" {
					shares = append(shares, model.PoolShareOf{Group: inv.Groups[i].ID, Pool: "sized", Min: i, Max: 2 * i})
				}
			}
			if err := Groups(&out, inv, shares, Format(d.Cmd)); err != nil {
				return "error: " + err.Error() + "\n" + out.String()
			}
			return out.String()
		})
	})
}

// What json and yaml print is the inventory itself.
func TestGroupsPrintTheWholeInventory(t *testing.T) {
	text := "groups:\n- {id: a, min: 0, max: 3, target: 1, instances: [{id: a-1, state: Running}],\n  template: " +
		"{version: v, node: {metadata: {labels: {x: \"y\"}}}, sources: {label/x: here}}}\nasOf: \"2026-01-01T00:00:00Z\"\n"
	var want provider.Inventory
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	for format, parse := range map[Format]func([]byte, *provider.Inventory) error{
		JSON: func(b []byte, inv *provider.Inventory) error { return json.Unmarshal(b, inv) },
		YAML: func(b []byte, inv *provider.Inventory) error { return yaml.UnmarshalStrict(b, inv) },
	} {
		var out bytes.Buffer
		if err := Groups(&out, want, nil, format); err != nil {
			t.Fatal(err)
		}
		var got provider.Inventory
		if err := parse(out.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v\n%s", format, err, out.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", format, diff)
		}
	}
}

func TestGroupsTellsAWriterThatFails(t *testing.T) {
	for _, format := range []Format{Table, JSON, YAML} {
		if err := Groups(brokenPipe{}, provider.Inventory{}, nil, format); err == nil ||
			!strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("%s: %v", format, err)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
