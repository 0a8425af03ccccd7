package schedsim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// verdict puts a refusal into words. The world is as it was before the move.
func (m *Mover) verdict(id Node, no *refusal) model.Verdict {
	if r := m.w.classes[no.class].refusal(); r != nil {
		return model.Verdict{Reason: r.reason, Detail: r.said}
	}
	var codes []int
	for code, n := range no.hosts {
		if n > 0 {
			codes = append(codes, code)
		}
	}
	if len(codes) == 0 {
		return model.Verdict{Reason: model.InsufficientResources, Detail: "there is no other node to move pods to"}
	}
	slices.SortFunc(codes, func(a, b int) int {
		return cmp.Or(cmp.Compare(no.hosts[b], no.hosts[a]), cmp.Compare(a, b))
	})
	var b strings.Builder
	for i, code := range codes {
		switch {
		case i > 0:
			fmt.Fprintf(&b, ", %s on %d", whys[code], no.hosts[code])
		default:
			fmt.Fprintf(&b, "%s on %s", whys[code], spelling.Count(no.hosts[code], "node"))
		}
	}
	if no.hosts[codeOf(model.InsufficientResources)] > 0 {
		b.WriteString(m.lack(id, m.sight(no.class)))
	}
	return model.Verdict{Reason: whys[codes[0]], Detail: b.String()}
}

// numbersFor is how many hosts may be looked at to say things in numbers, beyond
// as many as the moves have looked at.
const numbersFor = 100_000

// lack says in numbers what the class lacks on the roomiest host. If finding that host would cost
// more than the moves did, there are no numbers.
func (m *Mover) lack(moving Node, s *sight) string {
	if s.version != m.version {
		if m.explained+m.open > m.used+numbersFor {
			return ""
		}
		m.explained += m.open
		m.roomiest(s)
	}
	h := s.best
	if h >= 0 && m.hosts[h] == moving {
		h = s.next
	}
	if h < 0 {
		return ""
	}
	if words := m.w.classes[s.class].shortage(&m.w.nodes[m.hosts[h]].free); words != "" {
		return "; " + words + " on the roomiest"
	}
	return ""
}

// roomiest finds the two open hosts on which the class lacks least of what it
// requests, among those that its labels and taints let it onto.
func (m *Mover) roomiest(s *sight) {
	s.best, s.next, s.version = -1, -1, m.version
	class := &m.w.classes[s.class]
	var least, second float64
	for h, id := range m.hosts {
		n := &m.w.nodes[id]
		if m.closed[h] || (!class.readsHost && m.w.staticVerdict(s.class, n.shape) != nil) {
			continue
		}
		switch lack := class.lack(&n.free); {
		case s.best < 0 || lack < least:
			s.next, second = s.best, least
			s.best, least = int32(h), lack
		case s.next < 0 || lack < second:
			s.next, second = int32(h), lack
		}
	}
}

// lack is the largest share of a request that free amounts do not cover; below
// zero where all is covered.
func (t *traits) lack(f *amounts) float64 {
	worst := 1 - float64(f.pods)
	over := func(want, have int64) {
		if want > 0 {
			worst = max(worst, 1-float64(have)/float64(want))
		}
	}
	over(t.request.cpu, f.cpu)
	over(t.request.memory, f.memory)
	over(t.request.ephemeral, f.ephemeral)
	for _, want := range t.request.ext {
		over(want.Value, f.of(want.Name))
	}
	return worst
}
