package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOneIsSingular: no golden file and no page of the docs says "1 pods". The timelines of the virtual world are
// spared, which tests alone read, and what kube-scheduler says.
func TestOneIsSingular(t *testing.T) {
	slip := regexp.MustCompile(`\b1 (new |more |equal |other )?(pods|nodes|groups|units|classes|kinds|machines|instances|` +
		`moves|requests|zones|steps|budgets|removals|answers|questions)([^=\w]|$)`)
	theirs := regexp.MustCompile(`0/1 nodes are available`)
	spared := []string{"internal/sim/testdata", "internal/sim/large", "internal/sim/check", "docs/adr", "testdata/rapid"}
	read := 0
	for _, folder := range []string{"internal", "cmd", "docs", "charts", "rehearse", "packaging", "README.md"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			local := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			for _, s := range spared {
				if strings.Contains(local, s) {
					return nil
				}
			}
			golden := strings.Contains(local, "/testdata/") && filepath.Ext(local) != ".gz"
			if d.IsDir() || !golden && filepath.Ext(local) != ".md" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read++
			for i, line := range strings.Split(string(text), "\n") {
				if said := slip.FindString(theirs.ReplaceAllString(line, "")); said != "" {
					t.Errorf("%s:%d says %q: spelling.Count says it of one and of many", local, i+1, said)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 200 {
		t.Errorf("%d files were read: there are more", read)
	}
}
