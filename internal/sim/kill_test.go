package sim

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"
)

// drained is a world in which four of six nodes are emptied, two at a time, with
// budgets, a StatefulSet and pods of DaemonSets on them.
const drained = `lags restart=5s..15s memory=%s
flags --scale-down-unneeded-time=2m --max-drain-parallelism=2
group general min=0 max=8 cpu=4 memory=16Gi target=6
daemonset agent cpu=100m memory=100Mi
workload filler count=6 cpu=2900m
at 10s workload web count=3 cpu=600m memory=1Gi grace=20s stop=5s..20s
at 15s workload db count=3 cpu=600m memory=1Gi controller=StatefulSet grace=20s stop=1s..20s
at 20s workload api count=6 cpu=300m memory=1Gi priority=1000
budget web max=1
budget api min=4
at 1m workload filler count=0
`

// TestLeaderKilledAtEachCall plays one drain after the other with a leader that
// dies right after it has begun its first call, its second, and so on to the last:
// with a memory that is written soon, and with none. Every call may or may not
// have had its effect. Each world comes to rest, with all pods running on as few
// nodes as without a crash.
func TestLeaderKilledAtEachCall(t *testing.T) {
	for _, memory := range []string{"100ms", "10h"} {
		script := "seed 1\n" + fmt.Sprintf(drained, memory)
		n, want := playKilled(t, script, doom{})
		if n.calls < 20 || n.writes < 20 {
			t.Fatalf("only %+v are made without a crash", n)
		}
		for _, d := range n.dooms() {
			t.Run(fmt.Sprintf("memory=%s/%+v", memory, d), func(t *testing.T) {
				t.Parallel()
				if _, got := playKilled(t, script, d); got != want {
					t.Errorf("in the end:\n%swithout a crash it is:\n%s", got, want)
				}
			})
		}
	}
}

// made is what a leader does that lives: the calls that it begins, and those writes that take effect.
type made struct{ calls, writes int }

// dooms are the ways to die: right after each call has begun, and after each write took effect.
func (n made) dooms() (all []doom) {
	for i := range n.calls {
		all = append(all, doom{after: i + 1})
	}
	for i := range n.writes {
		all = append(all, doom{after: i + 1, effect: true})
	}
	return all
}

// playKilled plays a world for an hour, then in peace. A leader dies as told. It gives what was done in that
// hour, and how things stand in the end.
func playKilled(t *testing.T, script string, d doom) (n made, shown string) {
	t.Helper()
	s := newScript()
	if err := s.Add(script); err != nil {
		t.Fatal(err)
	}
	w := s.World()
	defer w.Close()
	w.doom = d
	if err := w.Run(time.Hour); err != nil {
		t.Errorf("%v\n%s", err, w.Timeline().Take())
	}
	if w.doom.after > 0 {
		t.Errorf("the leader is still to die: %+v", w.doom)
	}
	n = made{w.judge.begun, w.writes}
	w.Peace()
	if err := w.Run(30 * time.Minute); err != nil {
		t.Errorf("%v\n%s", err, w.Timeline().Take())
	}
	if lacking := w.Unrest(); len(lacking) > 0 {
		t.Errorf("the world is not at rest:\n  %s\n%s", strings.Join(lacking, "\n  "), w.Timeline().Take())
	}
	return n, w.Show()
}

// soldOut is a pool over three zones. One of them has no machine to sell, and one has a single one, while an app
// arrives. Later most of the app goes.
const soldOut = `seed 1
lags restart=5s..15s memory=%s
flags --scale-down-unneeded-time=2m --scale-down-delay-after-add=1m --max-node-provision-time=4m
pool p min=0 max=8
group a min=0 max=8 cpu=4 memory=16Gi zone=a pool=p %[2]s
group b min=0 max=8 cpu=4 memory=16Gi zone=b pool=p %[2]s
group c min=0 max=8 cpu=4 memory=16Gi zone=c pool=p
fault stock=0 group=a for=%[3]s
fault stock=1 group=b for=%[3]s
at 10s workload web count=16 cpu=900m memory=1Gi grace=20s stop=5s..20s
at 30m workload web count=4
`

// TestLeaderKilledInASoldOutPool plays that pool with a leader that dies right after it has begun its first call, its
// second, and so on, in four variants: with a memory that is written soon, and with none; a cloud that says nothing
// and takes requests back, and one that says that it is sold out and keeps them; sold out for a while, and until
// peace. Each ends as it does without a crash.
func TestLeaderKilledInASoldOutPool(t *testing.T) {
	kills := 0
	// Each two of the values are together in one of them.
	for _, v := range []struct{ memory, cloud, lasts string }{
		{"100ms", "", "12m"},
		{"100ms", "keeps-requests tells-stock-out", "2h"},
		{"10h", "", "2h"},
		{"10h", "keeps-requests tells-stock-out", "12m"},
	} {
		script := fmt.Sprintf(soldOut, v.memory, v.cloud, v.lasts)
		n, want := playKilled(t, script, doom{})
		dooms := n.dooms()
		kills += len(dooms)
		for _, d := range dooms {
			name := fmt.Sprintf("memory=%s/%s/for=%s/%+v", v.memory, cmp.Or(v.cloud, "silent"), v.lasts, d)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if _, got := playKilled(t, script, d); got != want {
					t.Errorf("in the end:\n%swithout a crash it is:\n%s", got, want)
				}
			})
		}
	}
	if kills < 88 {
		t.Errorf("only %d calls are made in all variants", kills)
	}
	t.Logf("%d kills", kills)
}

// dear is a world in which two dear nodes of three are emptied onto cheaper ones, which are bought for that.
const dear = `seed 1
lags restart=5s..15s memory=%s
flags --consolidation=WhenCheaper --scale-down-unneeded-time=2m --scale-down-delay-after-add=1m --move-stay=10m
group large min=0 max=4 cpu=8 memory=32Gi target=3 price=1
group small min=0 max=4 cpu=4 memory=16Gi price=0.3
at 10s workload web count=6 cpu=1100m memory=1Gi spread=host grace=20s stop=5s..20s
at 15s workload db count=3 cpu=600m memory=1Gi controller=StatefulSet spread=host grace=20s stop=1s..20s
budget web max=1
`

// TestLeaderKilledInAMove plays moves with a leader that dies right after it has begun its first call, its second, and
// so on to the last, with a memory that is written soon; and after each write took effect, with none. Each world ends
// with all pods running, on nodes that cost what they cost without a crash.
func TestLeaderKilledInAMove(t *testing.T) {
	for _, memory := range []string{"100ms", "10h"} {
		script := fmt.Sprintf(dear, memory)
		n, want := playKilled(t, script, doom{})
		if moved := "group large: target 1,"; !strings.Contains(want, moved) {
			t.Fatalf("without a crash it is:\n%snot: %s", want, moved)
		}
		t.Logf("memory=%s: %d calls are begun, %d writes take effect", memory, n.calls, n.writes)
		for _, d := range n.dooms() {
			if d.effect != (memory == "10h") {
				continue
			}
			t.Run(fmt.Sprintf("memory=%s/%+v", memory, d), func(t *testing.T) {
				t.Parallel()
				if _, got := playKilled(t, script, d); got != want {
					t.Errorf("in the end:\n%swithout a crash it is:\n%s", got, want)
				}
			})
		}
	}
}
