package sbom_test

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
	"github.com/plimsoll-dev/plimsoll/packaging/image/sbom"
)

func binaryFor(architecture string, deps ...*debug.Module) image.Binary {
	return image.Binary{
		Path:     "plimsoll-" + architecture,
		Platform: v1.Platform{OS: "linux", Architecture: architecture},
		SHA256:   strings.Repeat("a", 64),
		About:    image.About{Version: "v1.2.3", Commit: "c0ffee", Created: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)},
		Build: &buildinfo.BuildInfo{
			GoVersion: "go1.26.8", Main: debug.Module{Path: "github.com/plimsoll-dev/plimsoll", Version: "(devel)"}, Deps: deps,
		},
	}
}

func document(binaries ...image.Binary) *spdx.Document { return sbom.Document(binaries) }

var (
	client = &debug.Module{Path: "k8s.io/client-go", Version: "v0.37.0", Sum: "h1:sum="}
	azure  = &debug.Module{Path: "github.com/Azure/go-ansiterm", Version: "v0.1.0+incompatible", Sum: "h1:other="}
	forked = &debug.Module{
		Path:    "example.com/a",
		Version: "v1.0.0",
		Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1", Sum: "h1:fork="},
	}
	local = &debug.Module{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "../b"}}
)

// again writes a document and reads it back.
func again(t *testing.T, doc *spdx.Document) *spdx.Document {
	t.Helper()
	var text bytes.Buffer
	if err := sbom.Write(doc, &text); err != nil {
		t.Fatal(err)
	}
	got, err := sbom.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestModules(t *testing.T) {
	doc := again(t, document(binaryFor("amd64", client, azure, forked, local)))
	type module struct{ Version, Purl, Source, Licence string }
	got := map[string]module{}
	for _, p := range doc.Packages {
		m := module{Version: p.PackageVersion, Source: p.PackageSourceInfo, Licence: p.PackageLicenseDeclared}
		for _, ref := range p.PackageExternalReferences {
			m.Purl = ref.Category + " " + ref.RefType + " " + ref.Locator
		}
		got[p.PackageName] = m
	}
	if diff := cmp.Diff(map[string]module{
		"plimsoll":                     {"v1.2.3", "PACKAGE-MANAGER purl pkg:golang/github.com/plimsoll-dev/plimsoll@v1.2.3", "git commit c0ffee", "Apache-2.0"},
		"stdlib":                       {"1.26.8", "PACKAGE-MANAGER purl pkg:golang/stdlib@1.26.8", "", "BSD-3-Clause"},
		"k8s.io/client-go":             {"v0.37.0", "PACKAGE-MANAGER purl pkg:golang/k8s.io/client-go@v0.37.0", "go.sum: h1:sum=", "NOASSERTION"},
		"github.com/Azure/go-ansiterm": {"v0.1.0+incompatible", "PACKAGE-MANAGER purl pkg:golang/github.com/azure/go-ansiterm@v0.1.0%2Bincompatible", "go.sum: h1:other=", "NOASSERTION"},
		"example.com/fork":             {"v1.0.1", "PACKAGE-MANAGER purl pkg:golang/example.com/fork@v1.0.1", "go.sum: h1:fork=; in place of example.com/a v1.0.0", "NOASSERTION"},
		"../b":                         {"", "", "in place of example.com/b v1.0.0", "NOASSERTION"},
	}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPlatforms: a module that two binaries share is listed once, and each binary says which
// it has.
func TestPlatforms(t *testing.T) {
	doc := again(t, document(binaryFor("amd64", client, azure), binaryFor("arm64", client)))
	names := map[common.ElementID]string{"DOCUMENT": "DOCUMENT"}
	for _, p := range doc.Packages {
		names[p.PackageSPDXIdentifier] = p.PackageName
		if p.PackageName == "plimsoll" {
			names[p.PackageSPDXIdentifier] = p.PackageSummary
		}
	}
	got := map[string]int{}
	for _, r := range doc.Relationships {
		got[names[r.RefA.ElementRefID]+" "+r.Relationship+" "+names[r.RefB.ElementRefID]]++
	}
	const amd, arm = "plimsoll for linux/amd64", "plimsoll for linux/arm64"
	if diff := cmp.Diff(map[string]int{
		"DOCUMENT DESCRIBES " + amd: 1, "DOCUMENT DESCRIBES " + arm: 1,
		amd + " DEPENDS_ON stdlib": 1, arm + " DEPENDS_ON stdlib": 1,
		amd + " DEPENDS_ON k8s.io/client-go": 1, arm + " DEPENDS_ON k8s.io/client-go": 1,
		amd + " DEPENDS_ON github.com/Azure/go-ansiterm": 1,
	}, got); diff != "" {
		t.Error(diff)
	}
	if len(doc.Packages) != 5 {
		t.Errorf("%d packages, not two binaries, two modules and the library", len(doc.Packages))
	}
}

// TestReproducible: the same binaries give the same text; another binary, another namespace.
func TestReproducible(t *testing.T) {
	text := func(binaries ...image.Binary) string {
		var out bytes.Buffer
		if err := sbom.Write(document(binaries...), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	one := binaryFor("amd64", client, azure, forked)
	if text(one) != text(one) {
		t.Error("two documents of the same binary differ")
	}
	other := one
	other.SHA256 = strings.Repeat("b", 64)
	if document(one).DocumentNamespace == document(other).DocumentNamespace {
		t.Error("two binaries share a namespace")
	}
}

// TestCheck: each thing that SPDX asks for is missed when it is not there.
func TestCheck(t *testing.T) {
	for says, breaks := range map[string]func(*spdx.Document){
		"its head":           func(d *spdx.Document) { d.DataLicense = "MIT" },
		"absolute URI":       func(d *spdx.Document) { d.DocumentNamespace = "plimsoll" },
		"creators":           func(d *spdx.Document) { d.CreationInfo.Creators = nil },
		"whole seconds":      func(d *spdx.Document) { d.CreationInfo.Created = "2026-11-22" },
		"two packages":       func(d *spdx.Document) { d.Packages = append(d.Packages, d.Packages[0]) },
		"not allowed":        func(d *spdx.Document) { d.Packages[1].PackageSPDXIdentifier = "a_b" },
		"download location":  func(d *spdx.Document) { d.Packages[1].PackageDownloadLocation = "" },
		"not analysed":       func(d *spdx.Document) { d.Packages[1].FilesAnalyzed = true },
		"which is not in it": func(d *spdx.Document) { d.Packages = d.Packages[:1] },
		"which package it describes": func(d *spdx.Document) {
			d.Relationships = slices.DeleteFunc(d.Relationships, func(r *spdx.Relationship) bool {
				return r.RefA.ElementRefID == "DOCUMENT"
			})
		},
	} {
		t.Run(says, func(t *testing.T) {
			doc := document(binaryFor("amd64", client))
			if err := sbom.Check(doc); err != nil {
				t.Fatal(err)
			}
			breaks(doc)
			if err := sbom.Check(doc); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("it says %v, not %q", err, says)
			}
		})
	}
}

// TestTheProduct: what is shipped is made of Kubernetes' client library, among much else.
func TestTheProduct(t *testing.T) {
	path := filepath.Join("..", "..", "..", "bin", "plimsoll")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run `make build` first", err)
	}
	b, err := image.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	doc := again(t, document(b))
	versions := map[string]string{}
	for _, p := range doc.Packages {
		versions[p.PackageName] = p.PackageVersion
	}
	for _, m := range b.Build.Deps {
		if _, ok := versions[m.Path]; !ok && m.Replace == nil {
			t.Errorf("%s is not listed", m.Path)
		}
	}
	for _, name := range []string{"k8s.io/client-go", "k8s.io/kubernetes", "github.com/prometheus/client_golang"} {
		if !strings.HasPrefix(versions[name], "v") {
			t.Errorf("%s has the version %q", name, versions[name])
		}
	}
}
