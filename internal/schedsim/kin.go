package schedsim

import (
	"encoding/binary"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file answers selectors for which no one label is needed, such as one that matches every pod but those of an
// app. They are compared with one class of each kind that they can tell apart, not with each class there is.

const (
	// fewKin is the least number of classes that kin are found among, mostKin how many sets of keys they are kept
	// for: each takes the memory of a list of all classes.
	fewKin  = 256
	mostKin = 8
)

// kin are the classes of a namespace, or of all, by what they have of some labels.
type kin struct {
	alike   [][]model.ClassID          // in one namespace, with the same values
	matched map[string][]model.ClassID // by which of them match: terms that match the same share a list
}

// kinFor are those that a selector can tell apart, nil where there is a shorter way.
func (b *bonds) kinFor(space string, s labels.Selector) *kin {
	if need := needed(s); len(need) != 1 || need[0].value != "" || len(b.having(space, need[0])) < fewKin {
		return nil
	}
	requirements, _ := s.Requirements()
	keys := make([]string, len(requirements))
	for i := range requirements {
		keys[i] = requirements[i].Key()
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	name := strings.Join(append([]string{space}, keys...), "\x00")
	k, ok := b.kin[name]
	if !ok && len(b.kin) < mostKin {
		k = b.findKin(space, keys)
		b.kin[name] = k
	}
	return k
}

func (b *bonds) findKin(space string, keys []string) *kin {
	k, known := &kin{matched: map[string][]model.ClassID{}}, map[string]int{}
	var name []byte
	for _, id := range b.membersOf(space) {
		c := &b.classes[id]
		name = append(name[:0], c.pod.Namespace...)
		for _, key := range keys {
			if v, has := c.labels[key]; has {
				name = append(append(name, 1), v...)
			}
			name = append(name, 0)
		}
		at, ok := known[string(name)]
		if !ok {
			at = len(k.alike)
			known[string(name)] = at
			k.alike = append(k.alike, nil)
		}
		k.alike[at] = append(k.alike[at], id)
	}
	b.steps += len(b.membersOf(space)) * looksPerValue
	return k
}

// matchKin lists the classes that a term matches, in order.
func (b *bonds) matchKin(k *kin, t *selection) []model.ClassID {
	var name []byte
	var which []int
	size := 0
	for i, list := range k.alike {
		if b.matchesClass(t, &b.classes[list[0]]) {
			name = binary.AppendUvarint(name, uint64(i))
			which, size = append(which, i), size+len(list)
		}
	}
	matches, ok := k.matched[string(name)]
	if !ok {
		matches = make([]model.ClassID, 0, size)
		for _, i := range which {
			matches = append(matches, k.alike[i]...)
		}
		slices.Sort(matches)
		b.steps += size / 16
		k.matched[string(name)] = matches
	}
	return matches
}
