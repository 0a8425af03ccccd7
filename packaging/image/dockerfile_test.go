package image_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
)

// TestDockerfile: what Docker builds starts as what make image builds, by the same Go.
func TestDockerfile(t *testing.T) {
	text := source(t, "Dockerfile")
	lines := strings.Split(text, "\n")
	for _, want := range []string{
		"WORKDIR " + image.Workdir,
		"USER " + image.User,
		`ENTRYPOINT ["` + image.Program + `"]`,
		"COPY --from=build /image/ /",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the Dockerfile lacks the line %q", want)
		}
	}
	for _, want := range []string{"/image" + image.Program + " ", "/image" + image.StandIn + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile does not make %q", want)
		}
	}
	if strings.Contains(text, "\nCMD ") {
		t.Error("the Dockerfile has a command, which flags alone would replace")
	}
	needs := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(source(t, "go.mod"))
	has := regexp.MustCompile(`golang:(\d+\.\d+)`).FindStringSubmatch(text)
	if needs == nil || has == nil || needs[1] != has[1] {
		t.Errorf("the Dockerfile builds with %v, and go.mod asks for %v", has, needs)
	}
}

// TestDockerignore: the folders that the product's packages are in are sent to the builder.
func TestDockerignore(t *testing.T) {
	sent := strings.Split(source(t, ".dockerignore"), "\n")
	// Those that are shipped beside the binary, or hold only tests.
	beside := []string{"bench", "bin", "charts", "deploy", "dist", "docs", "packaging", "rehearse", "tools"}
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || slices.Contains(beside, e.Name()) {
			continue
		}
		if !slices.Contains(sent, "!"+e.Name()) {
			t.Errorf("%s is not in .dockerignore; if no package of cmd/plimsoll is in it, name it in this test", e.Name())
		}
	}
}

func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
