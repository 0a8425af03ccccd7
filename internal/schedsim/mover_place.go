package schedsim

import (
	"cmp"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// refusal is a class that cannot be placed, and the hosts by what they have
// against it.
type refusal struct {
	class model.ClassID
	hosts tally
}

// hopeless finds a class that no host takes, wherever the other classes go. Enough is false where
// the steps ran out.
func (m *Mover) hopeless(wants []want) (no *refusal, enough bool) {
	for _, x := range wants {
		if m.w.classes[x.class].unsupported != "" {
			return &refusal{class: x.class}, true
		}
		if m.someHost(x.class) {
			continue
		}
		if m.exhausted() {
			return nil, false
		}
		return m.refuse(m.sight(x.class)), true
	}
	return nil, true
}

func (m *Mover) someHost(c model.ClassID) bool {
	s := m.sight(c)
	m.passed, m.passes = tally{}, 0
	for r := range s.roster.split.domain {
		if m.next(s, r, 0) >= 0 {
			return true
		}
	}
	return false
}

// settle places pods of all classes. A class that other domains refuse is tried again after the
// others have been placed: it may depend on them.
func (m *Mover) settle(wants []want) (no *refusal, enough bool) {
	for {
		no, progress := (*refusal)(nil), false
		for i := range wants {
			x := &wants[i]
			if x.left == 0 {
				continue
			}
			s := m.sight(x.class)
			if s.rank == rankHost || s.rank == rankFree {
				if x.left = m.pack(s, x.left); x.left > 0 {
					return m.refuse(s), !m.exhausted()
				}
				progress = true
				continue
			}
			for x.left > 0 {
				if !m.one(s) {
					if m.exhausted() {
						return nil, false
					}
					if no == nil {
						no = m.refuse(s)
					}
					break
				}
				x.left--
				progress = true
			}
		}
		if no == nil || !progress {
			return no, true
		}
	}
}

// pack puts pods of a free or host class onto the first hosts that take them, and
// tells how many are left.
func (m *Mover) pack(s *sight, count int) (left int) {
	m.passed, m.passes = tally{}, 0
	for p := m.next(s, 0, 0); p >= 0; p = m.next(s, 0, p+1) {
		i := int(m.host(s, p))
		n, no := m.w.fill(s.class, i, count)
		if count -= n; count == 0 {
			return 0
		}
		if n > 0 {
			m.pass(s, p, m.w.full(s.class, i))
		} else {
			m.pass(s, p, no.reason)
		}
	}
	return count
}

// full tells why a node takes no more pods of a class that it has just been
// filled with.
func (w *World) full(c model.ClassID, i int) model.Reason {
	if why := w.obstacle(c, i); why != "" {
		return why
	}
	if no := w.check(c, i); no != nil {
		return no.reason
	}
	return model.Fits
}

// refuse sums up what hosts have against a class: those passed over in the attempt
// that failed, and those struck off before.
func (m *Mover) refuse(s *sight) *refusal {
	r, hosts := s.roster, m.passed
	for why, n := range r.tally {
		hosts[why] += n
	}
	if h := m.placeOf(m.moving); h >= 0 {
		if why := r.out[r.split.at[h]]; why > closed {
			hosts[why]--
		}
	}
	return &refusal{s.class, hosts}
}

// one places one pod of a domain or single class: it tries the regions in the order of what they have
// of the pods that matter, and in each the first host with room. The host with the fewest pods is not
// preferred: that would scatter pods over nodes that could go.
func (m *Mover) one(s *sight) bool {
	m.passed, m.passes = tally{}, 0
	w, r := m.w, s.roster
	o := w.outlook(s.class)
	m.regions, m.weights = m.regions[:0], m.weights[:0]
	for i, d := range r.split.domain {
		m.regions = append(m.regions, i)
		m.weights = append(m.weights, o.regionWeight(d))
	}
	w.prefer(s.class, m.regions, m.weights)
	for _, region := range m.regions {
		before := m.passes
		for p := m.next(s, region, 0); p >= 0; p = m.next(s, region, p+1) {
			i := int(m.host(s, p))
			no := w.reach(s.class, i)
			if no == nil {
				w.put(i, s.class, 1)
				return true
			}
			if no.region {
				m.passed[codeOf(no.reason)] += m.others(s, region) - (m.passes - before)
				break
			}
			if no.reason == model.TopologySpread || no.reason == model.PodAffinity {
				// It may be taken when pods have moved elsewhere.
				m.passed[codeOf(no.reason)]++
				m.passes++
				continue
			}
			m.pass(s, p, no.reason)
		}
	}
	return false
}

// others counts the hosts of a region that are not struck off, but for the node
// whose pods are moved.
func (m *Mover) others(s *sight, region int) int {
	n := s.roster.left(region)
	if h := m.placeOf(m.moving); h >= 0 {
		if p := s.roster.split.at[h]; int(s.roster.split.region[p]) == region && s.roster.out[p] == open {
			n--
		}
	}
	return n
}

// prefer sorts indexes of domains by weight: where a spread is wanted, the one
// with the fewest pods that count comes first; the fullest where affinity draws
// them together.
func (w *World) prefer(c model.ClassID, order, weight []int) {
	sign := 1
	if len(w.classes[c].affine) > 0 {
		sign = -1
	}
	slices.SortStableFunc(order, func(a, b int) int { return sign * cmp.Compare(weight[a], weight[b]) })
}
