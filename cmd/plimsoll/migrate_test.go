package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// migrated runs plimsoll migrate.
func migrated(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := root()
	var out, told bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&told)
	cmd.SetArgs(append([]string{"migrate"}, args...))
	err = cmd.Execute()
	return out.String(), told.String(), err
}

const smallValues = "autoDiscovery: {clusterName: prod}\nawsRegion: eu-west-1\nextraArgs: {v: 2, stderrthreshold: " +
	"info}\n"

// TestMigrate: a file or standard input, the translation on standard output, what
// changes on standard error.
func TestMigrate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(smallValues), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile, told, err := migrated(t, "", "-f", file)
	if err != nil {
		t.Fatal(err)
	}
	fromStdin, _, err := migrated(t, smallValues, "-f", "-")
	if err != nil || fromStdin != fromFile {
		t.Errorf("%v: the same values from standard input:\n%s", err, fromStdin)
	}
	// As helm get values says it without -o yaml.
	if titled, _, err := migrated(t, "USER-SUPPLIED VALUES:\n"+smallValues, "-f", "-"); err != nil || titled != fromFile {
		t.Errorf("%v: with a title:\n%s", err, titled)
	}
	for _, want := range []string{"cloudProvider: aws\n", "\n  v: 2\n"} {
		if !strings.Contains(fromFile, want) {
			t.Errorf("%q is not in\n%s", want, fromFile)
		}
	}
	if strings.Contains(fromFile, "\nimage:") {
		t.Errorf("the image is not left to the chart:\n%s", fromFile)
	}
	// What differs is said once, and not where the translation goes.
	for _, want := range []string{
		"\n- --stderrthreshold=info is dropped: logs go to standard error", "--set mode=observe",
	} {
		if strings.Count(told, want) != 1 || strings.Contains(fromFile, strings.TrimPrefix(want, "\n- ")) {
			t.Errorf("%q is not once in what is told, or is in the translation:\n%s\n%s", want, told, fromFile)
		}
	}
	if _, told, err := migrated(t, smallValues, "-f", "-", "-n", "autoscaling"); err != nil ||
		!strings.Contains(told, "install Plimsoll into namespace autoscaling:") {
		t.Errorf("%v: with the release's namespace:\n%s", err, told)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(smallValues)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	plain, _, _ := migrated(t, smallValues, "-f", "-")
	if got, _, err := migrated(t, packed.String(), "-f", "-"); err != nil || got != plain {
		t.Errorf("packed: %v\n%s", err, got)
	}
	_, _, err = migrated(t, packed.String()[:packed.Len()/2], "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "stdin: the packed file is cut off") {
		t.Errorf("cut off: %v", err)
	}
	withImage, _, err := migrated(t, smallValues, "-f", "-", "--image=registry:5000/plimsoll:v1")
	if err != nil || !strings.Contains(withImage, "image:\n  repository: registry:5000/plimsoll\n  tag: v1\n") {
		t.Errorf("%v\n%s", err, withImage)
	}
	deployment, err := os.ReadFile(filepath.Join("..", "..", "internal", "migrate", "testdata", "aws-example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ours, _, err := migrated(t, string(deployment), "-f", "-")
	if err != nil || !strings.Contains(ours, "image: "+defaultImage()+"\n") {
		t.Errorf("%v\n%s", err, ours)
	}
}

// TestMigrateEndsWithNextSteps: whatever it is given, the last that it says is what to do next.
func TestMigrateEndsWithNextSteps(t *testing.T) {
	for _, file := range []string{"aws-example.yaml", "aws-groups.values.yaml", "karpenter/pools.yaml"} {
		var out, told bytes.Buffer
		line := []string{"plimsoll", "migrate", "-f", filepath.Join("..", "..", "internal", "migrate", "testdata", file)}
		code := execute(t.Context(), line, &out, &told)
		_, steps, _ := strings.Cut(told.String(), "\nWhat to do next:\n")
		if code != 0 || strings.Count("\n"+steps, "\n- ") < 2 || strings.Contains(steps, ":\n") {
			t.Errorf("%s: exit %d; it ends with:\n%s", file, code, &told)
		}
	}
}

// TestMigrateRefuses: an error names the file and the field, and nothing is printed.
func TestMigrateRefuses(t *testing.T) {
	for _, c := range []struct {
		stdin string
		args  []string
		says  []string
	}{
		{args: nil, says: []string{"--filename"}},
		{args: []string{"-f", "a", "-f", "b"}, says: []string{"--filename (-f) is given 2 times"}},
		{stdin: smallValues, args: []string{"-f", "-", "--image=not an image!!"}, says: []string{"--image", `"not an image!!"`}},
		{stdin: smallValues, args: []string{"-f", "-", "--image=https://example.com/plimsoll:v1"}, says: []string{"--image"}},
		{stdin: smallValues, args: []string{"-f", "-", "--image=example.com/plimsoll:"}, says: []string{"--image"}},
		{stdin: smallValues, args: []string{"-f", "-", "--namespace=../x"}, says: []string{"--namespace", `"../x"`}},
		{args: []string{"-f", "/does/not/exist"}, says: []string{"/does/not/exist"}},
		{stdin: "cloudProvider: gce\nautoDiscovery: {clusterName: a}\n", args: []string{"-f", "-"}, says: []string{"stdin: cloudProvider: ", `"gce"`}},
		{stdin: smallValues + "customArgs: [oops]\nautoscalingGroups: [{name: a, minSize: 1}]\n", args: []string{"-f", "-"}, says: []string{"stdin: customArgs[0]: ", "stdin: autoscalingGroups[0].maxSize: "}},
	} {
		out, told, err := migrated(t, c.stdin, c.args...)
		if err == nil || out != "" || told != "" {
			t.Errorf("%v: error %v, printed %q and %q", c.args, err, out, told)
			continue
		}
		for _, say := range c.says {
			if !strings.Contains(err.Error(), say) {
				t.Errorf("%v: %v does not say %q", c.args, err, say)
			}
		}
	}
}
