package aws

import (
	"cmp"
	"errors"
	"slices"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// troubles are the questions behind these launches that EC2 does not answer, one
// notice for each cause: templates are made without those answers, and may be
// weaker for it.
func (s *sources) troubles(launches []launch) []provider.Notice {
	seen := map[provider.Notice]bool{}
	var out []provider.Notice
	tell := func(code, what string, err error) {
		if err == nil {
			return
		}
		if n := notice("", code, "%s", told(what, err)); !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	for _, l := range launches {
		if id := s.imageOf(l); id != "" {
			tell(noticeNoImages, "describe machine images, which tell the architecture of nodes", s.images.trouble(id))
		}
		if r, data := s.required(l); r != nil {
			if key, err := s.fitting(r, data); err == nil {
				tell(noticeNoFitting, "list the instance types that meet instance requirements (their least amounts stand for the types that are not known)", s.requirements.trouble(key))
			}
		}
		names, _, err := s.typesOf(l)
		if err != nil {
			continue
		}
		for _, name := range names {
			if err := s.machines.live.trouble(name); !errors.As(err, &noSuchType{}) {
				tell(noticeNoTypes, "describe instance types (facts are those read before, else those of the built-in list)", err)
			}
		}
	}
	slices.SortFunc(out, func(a, b provider.Notice) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return out
}
