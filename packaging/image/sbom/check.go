package sbom

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

var allowed = regexp.MustCompile(`^[a-zA-Z0-9.-]+$`)

// Check says what SPDX 2.3 asks for and a document lacks. The library reads such documents
// without a word.
func Check(doc *spdx.Document) error {
	var wrong []error
	fail := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("the SPDX document %q: "+format, append([]any{doc.DocumentName}, args...)...))
	}
	if doc.SPDXVersion != spdx.Version || doc.DataLicense != spdx.DataLicense || doc.SPDXIdentifier != "DOCUMENT" ||
		doc.DocumentName == "" {
		fail("its head must have %s, the data licence %s, the identifier DOCUMENT and a name", spdx.Version, spdx.DataLicense)
	}
	if at, err := url.Parse(doc.DocumentNamespace); err != nil || !at.IsAbs() || at.Fragment != "" {
		fail("its namespace %q must be an absolute URI without a #", doc.DocumentNamespace)
	}
	if c := doc.CreationInfo; c == nil || len(c.Creators) == 0 {
		fail("it must name its creators")
	} else if _, err := time.Parse("2006-01-02T15:04:05Z", c.Created); err != nil {
		fail("its time must be in UTC and whole seconds: %w", err)
	}
	known := map[common.ElementID]bool{doc.SPDXIdentifier: true}
	for _, p := range doc.Packages {
		id := p.PackageSPDXIdentifier
		if known[id] {
			fail("two packages have the identifier %s", id)
		}
		known[id] = true
		if !allowed.MatchString(string(id)) {
			fail("the identifier %q has characters that are not allowed", id)
		}
		if p.PackageName == "" || p.PackageDownloadLocation == "" {
			fail("the package %s must have a name and a download location, if only %s", id, unknown)
		}
		if p.FilesAnalyzed {
			fail("the package %s must say that its files were not analysed", id)
		}
	}
	described := false
	for _, r := range doc.Relationships {
		for _, end := range []common.DocElementID{r.RefA, r.RefB} {
			if !known[end.ElementRefID] {
				fail("a relationship %s names %s, which is not in it", r.Relationship, end.ElementRefID)
			}
		}
		described = described ||
			r.Relationship == common.TypeRelationshipDescribe && r.RefA.ElementRefID == doc.SPDXIdentifier
	}
	if !described {
		fail("it must say which package it describes")
	}
	return errors.Join(wrong...)
}
