// Package sbom lists what the product's binaries are made of, as SPDX 2.3.
//
// In flow binaries as package image reads them; out flows one document: each binary, the Go
// modules that were linked into it with their versions and sums, and Go's own library. It says
// what Go has written into the binaries and no more: who supplied a module, and under which
// licence, is NOASSERTION. What an image holds beside the binary (root certificates, or a base)
// is not in it. Check finds what would make a reader refuse it.
package sbom

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/plimsoll-dev/plimsoll/packaging/image"
)

const unknown = "NOASSERTION"

var forbidden = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

// Document describes binaries that belong together, as image.ReadAll gives them.
func Document(binaries []image.Binary) *spdx.Document {
	about := binaries[0].About
	doc := &spdx.Document{
		SPDXVersion:    spdx.Version,
		DataLicense:    spdx.DataLicense,
		SPDXIdentifier: "DOCUMENT",
		DocumentName:   "plimsoll-" + about.Version,
		// A namespace is of one document alone: other binaries, another name.
		DocumentNamespace: "https://github.com/plimsoll-dev/plimsoll/spdx/" + url.PathEscape(about.Version) + "-" +
			digest(binaries),
		CreationInfo: &spdx.CreationInfo{
			Created:        about.Created.UTC().Format(time.RFC3339),
			Creators:       []common.Creator{{CreatorType: "Tool", Creator: "plimsoll-packaging"}},
			CreatorComment: "The time is that of the commit, so that two builds give the same document.",
		},
	}
	parts := map[common.ElementID]*spdx.Package{}
	for _, b := range binaries {
		whole := programOf(b)
		parts[whole.PackageSPDXIdentifier] = whole
		doc.Relationships = append(doc.Relationships,
			relation("DOCUMENT", common.TypeRelationshipDescribe, whole.PackageSPDXIdentifier))
		used := []*spdx.Package{libraryOf(b.Build.GoVersion)}
		for _, m := range b.Build.Deps {
			used = append(used, moduleOf(m))
		}
		for _, p := range used {
			parts[p.PackageSPDXIdentifier] = p
			doc.Relationships = append(doc.Relationships,
				relation(whole.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, p.PackageSPDXIdentifier))
		}
	}
	for _, p := range parts {
		doc.Packages = append(doc.Packages, p)
	}
	slices.SortFunc(doc.Packages, func(a, b *spdx.Package) int {
		return cmp.Compare(a.PackageSPDXIdentifier, b.PackageSPDXIdentifier)
	})
	slices.SortFunc(doc.Relationships, func(a, b *spdx.Relationship) int {
		return cmp.Or(cmp.Compare(a.RefA.ElementRefID, b.RefA.ElementRefID),
			cmp.Compare(a.RefB.ElementRefID, b.RefB.ElementRefID))
	})
	return doc
}

func digest(binaries []image.Binary) string {
	hash := sha256.New()
	for _, b := range binaries {
		fmt.Fprintln(hash, b.Platform, b.SHA256)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func relation(of common.ElementID, kind string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(of)), Relationship: kind, RefB: common.MakeDocElementID("", string(to)),
	}
}

// programOf is the binary itself.
func programOf(b image.Binary) *spdx.Package {
	p := packageOf("Binary", "plimsoll-"+b.Platform.OS+"-"+b.Platform.Architecture, b.About.Version)
	p.PackageName = "plimsoll"
	p.PackageSummary = "plimsoll for " + b.Platform.String()
	p.PrimaryPackagePurpose = "APPLICATION"
	p.PackageLicenseDeclared = "Apache-2.0"
	p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: b.SHA256}}
	if b.About.Commit != "" {
		p.PackageSourceInfo = "git commit " + b.About.Commit
	}
	p.PackageExternalReferences = purl(b.Build.Main.Path, b.About.Version)
	return p
}

// libraryOf is Go's own library, which scanners call stdlib.
func libraryOf(goVersion string) *spdx.Package {
	version := strings.TrimPrefix(goVersion, "go")
	p := packageOf("Library", "stdlib", version)
	p.PackageLicenseDeclared = "BSD-3-Clause"
	p.PackageExternalReferences = purl("stdlib", version)
	return p
}

// moduleOf is a module as it was linked: its replacement, if it has one.
func moduleOf(m *debug.Module) *spdx.Package {
	linked := m
	if m.Replace != nil {
		linked = m.Replace
	}
	p := packageOf("Module", linked.Path, linked.Version)
	var known []string
	if linked.Sum != "" {
		// Go's sum is over the names and sums of the files, so it is not a checksum of any file.
		known = append(known, "go.sum: "+linked.Sum)
	}
	if m.Replace != nil {
		known = append(known, fmt.Sprintf("in place of %s %s", m.Path, m.Version))
	}
	p.PackageSourceInfo = strings.Join(known, "; ")
	if strings.HasPrefix(linked.Path, ".") || strings.HasPrefix(linked.Path, "/") {
		return p // a folder has no address elsewhere
	}
	p.PackageExternalReferences = purl(linked.Path, linked.Version)
	return p
}

func packageOf(kind, name, version string) *spdx.Package {
	return &spdx.Package{
		PackageName:             name,
		PackageSPDXIdentifier:   identifier(kind, name, version),
		PackageVersion:          version,
		PackageSupplier:         &common.Supplier{Supplier: unknown},
		PackageDownloadLocation: unknown,
		PackageLicenseConcluded: unknown,
		PackageLicenseDeclared:  unknown,
		PackageCopyrightText:    unknown,
		PrimaryPackagePurpose:   "LIBRARY",
	}
}

// identifier is readable, and of this package alone: other names may be spelt alike in the few
// characters that SPDX allows, so part of a sum of the true name follows.
func identifier(kind, name, version string) common.ElementID {
	sum := sha256.Sum256([]byte(kind + " " + name + " " + version))
	spelt := forbidden.ReplaceAllString(kind+"-"+name+"-"+version, "-")
	return common.ElementID(spelt + "-" + hex.EncodeToString(sum[:4]))
}

// purl is the module's package URL: lower case, as its type golang asks for.
func purl(module, version string) []*spdx.PackageExternalReference {
	locator := "pkg:golang/" + strings.ToLower(module)
	if version != "" {
		locator += "@" + strings.ReplaceAll(url.PathEscape(version), "+", "%2B")
	}
	return []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: locator}}
}

// Write writes a document as JSON.
func Write(doc *spdx.Document, to io.Writer) error {
	if err := json.Write(doc, to, json.Indent("  "), json.EscapeHTML(false)); err != nil {
		return fmt.Errorf("write the list of what the binaries are made of: %w", err)
	}
	return nil
}

// Read reads a document and checks it.
func Read(from io.Reader) (*spdx.Document, error) {
	doc, err := json.Read(from)
	if err != nil {
		return nil, fmt.Errorf("read an SPDX document: %w; is it SPDX 2.3 as JSON?", err)
	}
	if err := Check(doc); err != nil {
		return nil, err
	}
	return doc, nil
}
