package aws

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// troubles are the questions behind these launches that EC2 does not answer, one
// notice for each cause: templates are made without those answers, and may be
// weaker for it.
func (s *sources) troubles(launches []launch) []provider.Notice {
	found := troubles{}
	for _, l := range launches {
		if id := s.imageOf(l); id != "" {
			found.add(noticeNoImages, "could not describe machine images, which tell the architecture of nodes",
				s.images.trouble(id))
		}
		if r, data := s.required(l); r != nil {
			if key, err := s.fitting(r, data); err == nil {
				found.add(noticeNoFitting, "could not list the instance types that meet instance requirements (their least "+
					"amounts stand for the types that are not known)", s.requirements.trouble(key))
			}
		}
		names, _, err := s.typesOf(l)
		if err != nil {
			continue
		}
		for _, name := range names {
			if err := s.machines.live.trouble(name); !errors.As(err, &noSuchType{}) {
				found.add(noticeNoTypes, "could not describe instance types (taken are the facts read before, else those of the "+
					"built-in list of "+builtInDate+")", err)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b provider.Notice) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
}

type troubles map[provider.Notice]bool

func (t troubles) add(code, what string, err error) {
	if err != nil {
		t[notice("", code, "%s", steady(what, err))] = true
	}
}
