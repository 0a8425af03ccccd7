package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// statusNow is when the cases of testdata/status are looked at.
var statusNow = time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)

// TestStatus walks testdata/status: each case is a ConfigMap in YAML, and what
// the command prints of it.
func TestStatus(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "status"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var m corev1.ConfigMap
			if err := yaml.UnmarshalStrict([]byte(d.Input), &m); err != nil {
				d.Fatalf(t, "the case's ConfigMap: %v", err)
			}
			var out bytes.Buffer
			if err := Status(&out, &m, statusNow, Format(d.Cmd)); err != nil {
				return "error: " + err.Error() + "\n" + out.String()
			}
			return out.String()
		})
	})
}

// json and yaml are the document as it is there, with what this version does not
// know, and without the memory.
func TestStatusPrintsTheDocumentAlone(t *testing.T) {
	document := "autoscalerStatus: Running\nnewer: {a: 1}\n"
	m := &corev1.ConfigMap{Data: map[string]string{"status": document}}
	m.Annotations = map[string]string{"plimsoll.dev/memory": "{"}
	var out bytes.Buffer
	if err := Status(&out, m, statusNow, "yaml"); err != nil || out.String() != document {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := Status(&out, m, statusNow, "json"); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got) != 2 || got["newer"] == nil {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestStatusTellsAWriterThatFails(t *testing.T) {
	m := &corev1.ConfigMap{Data: map[string]string{"status": "autoscalerStatus: Running\n"}}
	for _, format := range []Format{Table, JSON, YAML} {
		if err := Status(brokenPipe{}, m, statusNow, format); err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("%s: %v", format, err)
		}
	}
}
