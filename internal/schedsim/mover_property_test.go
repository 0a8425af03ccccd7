package schedsim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestMovesAreFeasible: whatever is asked of a Mover, the referee can carry out
// what it accepted, no node is over-committed by it, no pod is lost, no pod goes
// to a node that takes none, and what it refused left no trace.
func TestMovesAreFeasible(t *testing.T) {
	moved, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawCrowd(t)
		hosts, list := drawRequests(t, s)
		w := Load(nil, s)
		defer w.Close()
		countAll(w)
		m := w.Mover(hosts, plenty)
		excluded := map[Node]bool{}
		var closed []map[Node]bool
		before, pods := state(w), totals(w)
		was := slices.Clone(w.nodes)
		carryOut(w, m, list, func(i int, r result) {
			q := list[i]
			switch q.verb {
			case "exclude":
				excluded[q.node] = true
			case "mark":
				c := map[Node]bool{}
				for id := range excluded {
					c[id] = true
				}
				closed = append(closed, c)
			case "undo":
				if n := len(closed); n > 0 {
					excluded, closed = closed[n-1], closed[:n-1]
				}
			case "move":
				if !r.enough {
					t.Fatalf("%v: not enough steps", q)
				}
				if r.stuck != nil {
					refused++
					if now := state(w); now != before {
						t.Fatalf("%v was refused and left\n%s\nof\n%s", q, now, before)
					}
					break
				}
				moved++
				if got := w.nodes[q.node].kind; got != ghost {
					t.Fatalf("%v: the node is of kind %d", q, got)
				}
				count := 0
				for k, p := range r.put {
					h := &was[p.Node]
					if h.kind&(OnReady|OnComing) == 0 || p.Node == q.node || excluded[p.Node] ||
						!slices.Contains(hosts, p.Node) || (k > 0 && r.put[k-1].Node >= p.Node) {
						t.Fatalf("%v: %d pods were put on %s: %v", q, p.Count, h.called(), r.put)
					}
					if got := podsOn(&w.nodes[p.Node]) - podsOn(h); got != p.Count {
						t.Fatalf("%v: %s has %d pods more, not %d", q, h.called(), got, p.Count)
					}
					free := &w.nodes[p.Node].free
					if free.pods < 0 || (free.cpu < 0 && free.cpu < h.free.cpu) ||
						(free.memory < 0 && free.memory < h.free.memory) {
						t.Fatalf("%v: %s has %+v free", q, h.called(), *free)
					}
					count += p.Count
				}
				if want := podsOn(&was[q.node]) - podsOn(&w.nodes[q.node]); count != want {
					t.Fatalf("%v: %d pods left and %d were placed", q, want, count)
				}
				excluded[q.node] = true
			}
			if err := consistent(w); err != nil {
				t.Fatalf("after %v: %v", q, err)
			}
			if got := totals(w); !slices.Equal(got, pods) {
				t.Fatalf("after %v there are %v pods, there were %v", q, got, pods)
			}
			before, was = state(w), slices.Clone(w.nodes)
			for i := range was {
				was[i].batches = slices.Clone(was[i].batches)
			}
		})
		if err := Referee(w); err != nil {
			t.Fatal(err)
		}
	})
	if moved == 0 || refused == 0 {
		t.Errorf("%d moves and %d refusals show nothing", moved, refused)
	}
}

// TestVerdictsInACrowd: the verdict on every class and node is the scheduler's
// also with volumes, pinned pods and nodes of all kinds, before and after moves.
func TestVerdictsInACrowd(t *testing.T) {
	pairs := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawCrowd(t)
		hosts, list := drawRequests(t, s)
		w := Load(nil, s)
		defer w.Close()
		compare := func(when string) {
			for c := range w.classes {
				for i := range w.nodes {
					got, want := w.check(model.ClassID(c), i) == nil, schedulerSays(w, model.ClassID(c), i)
					if got != want {
						t.Fatalf("%s: class %d (coupling %d) on node %s: %v, the scheduler says %v", when, c,
							w.class(model.ClassID(c)).coupling, w.nodes[i].called(), got, want)
					}
					if want && !w.usable(model.ClassID(c), i) {
						t.Fatalf("%s: class %d on node %s: obstacle %s, the scheduler sees none", when, c,
							w.nodes[i].called(), w.obstacle(model.ClassID(c), i))
					}
				}
			}
		}
		compare("at first")
		pairs += sameRefusals(t, w, "at first")
		carryOut(w, w.Mover(hosts, plenty), list, func(int, result) { pairs += sameRefusals(t, w, "after a move") })
		compare("after moves")
	})
	t.Logf("%d pairs of a class and a node were compared", pairs)
}

// TestRefusalIsRight: where a Mover has refused to move a single pod, whatever
// came before, the scheduler lets it onto none of the hosts that are open; where
// it has moved it, it went to the first of them that the scheduler lets it onto,
// if its domain does not matter.
func TestRefusalIsRight(t *testing.T) {
	moved, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawCrowd(t)
		hosts, list := drawRequests(t, s)
		w := Load(nil, s)
		defer w.Close()
		m := w.Mover(hosts, plenty)
		carryOut(w, m, list, func(int, result) {})
		for id := range w.nodes {
			for _, b := range slices.Clone(w.nodes[id].batches) {
				if rapid.Bool().Draw(t, "skip") {
					continue
				}
				mark := w.Mark()
				w.vacate(id, []model.Batch{{Class: b.Class, Count: 1}})
				want := -1
				for h, host := range m.hosts {
					if !m.closed[h] && int(host) != id && schedulerSays(w, b.Class, int(host)) {
						want = int(host)
						break
					}
				}
				w.Undo(mark)
				put, stuck, _ := m.Move(Node(id), []model.Batch{{Class: b.Class, Count: 1}})
				if forFollowers(stuck) {
					continue
				}
				if (want >= 0) != (stuck == nil) {
					t.Fatalf("class %d (coupling %d) of node %d: %v %v, the scheduler says %d", b.Class,
						w.class(b.Class).coupling, id, put, stuck, want)
				}
				if stuck != nil {
					refused++
					continue
				}
				moved++
				if w.class(b.Class).coupling < domain && put[0].Node != Node(want) {
					t.Fatalf("class %d of node %d went to %d, and %d comes first", b.Class, id, put[0].Node, want)
				}
			}
		}
		if err := Referee(w); err != nil {
			t.Fatal(err)
		}
	})
	if moved == 0 || refused == 0 {
		t.Errorf("%d moves and %d refusals show nothing", moved, refused)
	}
}

// forFollowers reports whether a move was refused for pods that would be left behind,
// and not for want of a host: hosts have no part in that.
func forFollowers(stuck *Stuck) bool {
	return stuck != nil && strings.Contains(stuck.Verdict.Detail, "would be left behind in")
}

// TestVerdictCountsEveryHost: what a refusal says of hosts adds up to all hosts
// that are open, and the plugins agree with each reason.
func TestVerdictCountsEveryHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawCrowd(t)
		hosts, list := drawRequests(t, s)
		w := Load(nil, s)
		defer w.Close()
		m := w.Mover(hosts, plenty)
		carryOut(w, m, list, func(int, result) {})
		for id := range w.nodes {
			for _, b := range w.nodes[id].batches {
				others := m.open
				if h := m.placeOf(Node(id)); h >= 0 && !m.closed[h] {
					others--
				}
				_, stuck, _ := m.Move(Node(id), []model.Batch{{Class: b.Class, Count: 1}})
				if stuck == nil {
					return // the node is closed now, and its batches are others
				}
				if forFollowers(stuck) {
					continue
				}
				sum, most := 0, 0
				for _, word := range reasonsIn(stuck.Verdict.Detail) {
					sum += word.hosts
					if most == 0 {
						most = word.hosts
						if word.reason != stuck.Verdict.Reason {
							t.Fatalf("%+v: not the commonest reason", stuck.Verdict)
						}
					}
					if word.hosts > most {
						t.Fatalf("%+v: not the commonest reason", stuck.Verdict)
					}
				}
				if sum != others {
					t.Fatalf("class %d (coupling %d) of node %d: %d hosts are open, and the verdict counts %d: %+v",
						b.Class, w.class(b.Class).coupling, id, others, sum, stuck.Verdict)
				}
			}
		}
	})
}

type counted struct {
	reason model.Reason
	hosts  int
}

// reasonsIn reads "X on 3 nodes, Y on 1; ...".
func reasonsIn(detail string) []counted {
	var out []counted
	for _, r := range whys {
		for at := 0; at+len(r) < len(detail); at++ {
			if at > 0 && detail[at-1] != ' ' {
				continue
			}
			var n int
			if k, _ := fmt.Sscanf(detail[at:], string(r)+" on %d", &n); k == 1 {
				out = append(out, counted{r, n})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b counted) int { return indexOf(detail, a.reason) - indexOf(detail, b.reason) })
	return out
}

func indexOf(text string, r model.Reason) int {
	for at := range text {
		if len(text) >= at+len(r) && text[at:at+len(r)] == string(r) {
			return at
		}
	}
	return -1
}

// TestMovesDoNotDependOnRefusals: without the requests that were refused, the
// others come out alike; and the same requests come out alike again.
func TestMovesDoNotDependOnRefusals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawCrowd(t)
		hosts, list := drawRequests(t, s)
		run := func(list []request) (results []string, accepted []request, verdicts []string) {
			w := Load(nil, s)
			defer w.Close()
			carryOut(w, w.Mover(hosts, plenty), list, func(i int, r result) {
				if r.stuck != nil {
					verdicts = append(verdicts, fmt.Sprintf("%+v", *r.stuck))
					return
				}
				results, accepted = append(results, r.String()), append(accepted, list[i])
			})
			return results, accepted, append(verdicts, state(w))
		}
		first, accepted, verdicts := run(list)
		again, _, same := run(list)
		if !slices.Equal(first, again) || !slices.Equal(verdicts, same) {
			t.Fatalf("first\n%v\n%v\nand then\n%v\n%v", first, verdicts, again, same)
		}
		if alone, _, _ := run(accepted); !slices.Equal(first, alone) {
			t.Fatalf("with refusals\n%v\nwithout\n%v", first, alone)
		}
	})
}

// TestStepsEndAMove: with too few steps a Mover has no answer at some move and
// leaves no trace of it; what it said before is what it says with plenty.
func TestStepsEndAMove(t *testing.T) {
	short := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawCrowd(t)
		hosts, list := drawRequests(t, s)
		list = slices.DeleteFunc(list, func(q request) bool { return q.verb == "undo" || q.verb == "mark" })
		full := Load(nil, s)
		defer full.Close()
		var want []string
		carryOut(full, full.Mover(hosts, plenty), list, func(_ int, r result) { want = append(want, r.String()) })
		w := Load(nil, s)
		defer w.Close()
		countAll(w)
		steps := rapid.IntRange(0, 60).Draw(t, "steps")
		m := w.Mover(hosts, steps)
		before, ended := state(w), false
		carryOut(w, m, list, func(i int, r result) {
			if list[i].verb != "move" {
				return
			}
			if !r.enough {
				short++
				ended = true
				if now := state(w); now != before {
					t.Fatalf("%v had no answer and left\n%s\nof\n%s", list[i], now, before)
				}
				return
			}
			if ended && (r.stuck != nil || len(r.put) > 0) {
				t.Fatalf("%v had an answer after the steps had ended: %v", list[i], r)
			}
			if !ended && r.String() != want[i] {
				t.Fatalf("%v: %v, with plenty of steps %v", list[i], r, want[i])
			}
			before = state(w)
		})
	})
	if short == 0 {
		t.Error("the steps ended no move")
	}
}

// TestTallyHasRoomForAllReasons: a reason with the use refusesPod has a place in a tally.
func TestTallyHasRoomForAllReasons(t *testing.T) {
	if len(whys) > mostWhys {
		t.Errorf("%d reasons may refuse a pod a node: raise mostWhys to that", len(whys))
	}
	if whys[codeOf("of no table")] != model.OtherFilter {
		t.Error("a reason that no node is refused for does not count as another filter's")
	}
}
