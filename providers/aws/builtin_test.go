package aws

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// TestTheListIsWrittenAnew in the form in which it is read, and the types that
// both know have the same facts.
func TestTheListIsWrittenAnew(t *testing.T) {
	cloud, err := awstest.New(awstest.Spec{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, cloud)
	cfg, err := awsconfig.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := WriteInstanceTypes(
		t.Context(), ec2.NewFromConfig(cfg), `a "source"`, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), &text,
	); err != nil {
		t.Fatal(err)
	}
	var list builtInList
	if err := json.Unmarshal(text.Bytes(), &list); err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if list.Sources["ec2"] != `a "source"` || list.Date != "2026-03-01" || len(list.Machines) < 10 ||
		strings.Count(text.String(), "\n") != len(list.Machines)+6 {
		t.Errorf("sources %v of %s, %d types", list.Sources, list.Date, len(list.Machines))
	}
	both := 0
	for _, m := range list.Machines {
		known, ok := builtIn[m.Type]
		if !ok {
			continue
		}
		both++
		known.source, known.From, m.From = "", "", ""
		if known.ENIPods == 0 {
			m.ENIPods = 0 // not known to the list
		}
		if diff := cmp.Diff(known, m, cmp.AllowUnexported(machine{})); diff != "" {
			t.Errorf("%s: %s", m.Type, diff)
		}
	}
	if both < 10 {
		t.Errorf("only %d types are known to both", both)
	}
}
