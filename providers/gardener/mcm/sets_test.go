package mcm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

// set is one of the given age rank, 0 the oldest, sized for that many replicas.
func set(name string, rank, replicas, available, sized int) Set {
	return Set{Name: name, Created: epoch.Add(time.Duration(rank) * time.Hour), Replicas: replicas,
		Available: available, Sized: &sized}
}

func TestScale(t *testing.T) {
	for _, test := range []struct {
		name   string
		d      Deployment
		newest *Set
		old    []Set
		want   map[string]int
	}{
		{"one set grows", Deployment{5, 1, 0}, ptr(set("new", 1, 3, 3, 3)), nil, map[string]int{"new": 5}},
		{"one set shrinks", Deployment{1, 1, 0}, ptr(set("new", 1, 3, 3, 3)), nil, map[string]int{"new": 1}},
		{"the only one with machines is old", Deployment{5, 1, 0}, ptr(set("new", 1, 0, 0, 3)), []Set{set("old", 0, 3, 3, 3)}, map[string]int{"old": 5}},
		{"none has machines", Deployment{2, 1, 0}, ptr(set("new", 1, 0, 0, 0)), []Set{set("old", 0, 0, 0, 0)}, map[string]int{"new": 2}},
		{"none has machines and none is new", Deployment{2, 1, 0}, nil, []Set{set("b", 1, 0, 0, 0), set("a", 0, 0, 0, 0)}, map[string]int{"b": 2}},
		{"there is none", Deployment{2, 1, 0}, nil, nil, map[string]int{}},
		{"growth in a rollout goes to the newest", Deployment{6, 1, 0}, ptr(set("new", 1, 2, 1, 3)), []Set{set("old", 0, 2, 2, 3)}, map[string]int{"new": 5}},
		{"growth of a paused deployment goes to the latest", Deployment{6, 0, 1}, nil, []Set{set("a", 0, 2, 2, 4), set("b", 1, 2, 2, 4)}, map[string]int{"b": 4}},
		{"one less in a rollout: the older of equal ones", Deployment{2, 1, 0}, ptr(set("new", 1, 2, 2, 3)), []Set{set("old", 0, 2, 2, 3)}, map[string]int{"old": 1}},
		{"two less in a rollout: one of each", Deployment{1, 1, 0}, ptr(set("new", 1, 2, 2, 3)), []Set{set("old", 0, 2, 2, 3)}, map[string]int{"old": 1, "new": 1}},
		{"in proportion", Deployment{5, 1, 0}, ptr(set("new", 1, 3, 2, 11)), []Set{set("old", 0, 9, 9, 11)}, map[string]int{"old": 4, "new": 2}},
		{"to nothing", Deployment{0, 1, 0}, ptr(set("new", 1, 2, 2, 3)), []Set{set("old", 0, 2, 2, 3)}, map[string]int{"old": 0, "new": 0}},
		{"the newest has all that is asked for", Deployment{3, 1, 0}, ptr(set("new", 1, 3, 3, 3)), []Set{set("old", 0, 1, 1, 2)}, map[string]int{"old": 0}},
	} {
		if got := Scale(test.d, test.newest, test.old); !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestIsScaling(t *testing.T) {
	d := Deployment{Replicas: 3}
	for _, test := range []struct {
		name string
		all  []Set
		want bool
	}{
		{"sized for it", []Set{set("a", 0, 3, 3, 3)}, false},
		{"sized for less", []Set{set("a", 0, 2, 2, 2)}, true},
		{"an empty set tells nothing", []Set{set("a", 0, 0, 0, 2), set("b", 1, 3, 0, 3)}, false},
		{"no note for what", []Set{{Name: "a", Replicas: 2}}, false},
	} {
		if got := IsScaling(d, test.all); got != test.want {
			t.Errorf("%s: got %t", test.name, got)
		}
	}
}

func TestRoll(t *testing.T) {
	for _, test := range []struct {
		name   string
		d      Deployment
		newest Set
		old    []Set
		want   map[string]int
	}{
		{"up by the surge", Deployment{3, 1, 0}, set("new", 1, 0, 0, 3), []Set{set("old", 0, 3, 3, 3)}, map[string]int{"new": 1}},
		{"no down before the new one is there", Deployment{3, 1, 0}, set("new", 1, 1, 0, 3), []Set{set("old", 0, 3, 3, 3)}, map[string]int{}},
		{"down by what has come", Deployment{3, 1, 0}, set("new", 1, 1, 1, 3), []Set{set("old", 0, 3, 3, 3)}, map[string]int{"old": 2}},
		{"without surge, down first", Deployment{3, 0, 1}, set("new", 1, 0, 0, 3), []Set{set("old", 0, 3, 3, 3)}, map[string]int{"old": 2}},
		{"of the old ones the ill go first", Deployment{3, 0, 1}, set("new", 2, 0, 0, 3), []Set{set("a", 0, 2, 2, 3), set("b", 1, 1, 0, 3)}, map[string]int{"b": 0}},
		{"an ill old one stays while the new one is not there", Deployment{3, 1, 0}, set("new", 1, 1, 0, 3), []Set{set("old", 0, 3, 2, 3)}, map[string]int{}},
		{"the last step", Deployment{3, 1, 0}, set("new", 1, 3, 3, 3), []Set{set("old", 0, 1, 1, 3)}, map[string]int{"old": 0}},
		{"done", Deployment{3, 1, 0}, set("new", 1, 3, 3, 3), []Set{set("old", 0, 0, 0, 3)}, map[string]int{}},
		{"too many new ones", Deployment{1, 1, 0}, set("new", 1, 3, 3, 3), nil, map[string]int{"new": 1}},
		{"a new one that never comes stops it", Deployment{2, 1, 0}, set("new", 1, 1, 0, 2), []Set{set("old", 0, 2, 2, 2)}, map[string]int{}},
	} {
		if got := Roll(test.d, test.newest, test.old); !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestNewSize(t *testing.T) {
	for _, test := range []struct {
		d    Deployment
		old  []Set
		want int
	}{
		{Deployment{3, 1, 0}, nil, 3},
		{Deployment{3, 1, 0}, []Set{set("old", 0, 3, 3, 3)}, 1},
		{Deployment{3, 0, 1}, []Set{set("old", 0, 3, 3, 3)}, 0},
	} {
		if got := NewSize(test.d, test.old); got != test.want {
			t.Errorf("%+v beside %+v: got %d, want %d", test.d, test.old, got, test.want)
		}
	}
}

// Whatever the sets, a resize leaves exactly the machines that are allowed, and none
// gains by a shrinking.
func TestScaleLeavesWhatIsAllowed(t *testing.T) {
	for seed := range uint64(5000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var all []Set
		for i := range 1 + rng.IntN(4) {
			all = append(all, set(fmt.Sprintf("s%d", i), i, rng.IntN(7), 0, 99))
		}
		d := Deployment{Replicas: rng.IntN(12), MaxSurge: rng.IntN(3)}
		newest, old := all[len(all)-1], all[:len(all)-1]
		changed := Scale(d, &newest, old)
		active, sum, total := 0, 0, 0
		for _, s := range all {
			size, ok := changed[s.Name]
			if !ok {
				size = s.Replicas
			}
			if size < 0 {
				t.Fatalf("seed %d: %+v of %+v: %v", seed, d, all, changed)
			}
			if s.Replicas > 0 {
				active++
			}
			sum, total = sum+size, total+s.Replicas
		}
		want := d.Replicas
		if active > 1 && want > 0 {
			want += d.MaxSurge
		}
		if sum != want {
			t.Fatalf("seed %d: %+v of %+v leaves %d, want %d: %v", seed, d, all, sum, want, changed)
		}
		for _, s := range all {
			if active > 1 && total > want && changed[s.Name] > s.Replicas {
				t.Fatalf("seed %d: %s gains while all shrink: %v", seed, s.Name, changed)
			}
		}
	}
}

// A rollout of machines that come at once ends, within its bounds at every step.
func TestRollEnds(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		d := Deployment{Replicas: rng.IntN(9), MaxSurge: rng.IntN(3), MaxUnavailable: rng.IntN(3)}
		if d.MaxSurge+d.MaxUnavailable == 0 {
			d.MaxSurge = 1
		}
		all := []Set{set("old", 0, d.Replicas, d.Replicas, d.Replicas), set("new", 1, 0, 0, d.Replicas)}
		for step := 0; ; step++ {
			changed := Roll(d, all[1], all[:1])
			if len(changed) == 0 {
				break
			}
			for i := range all {
				if size, ok := changed[all[i].Name]; ok {
					all[i].Replicas = size
					all[i].Available = min(all[i].Available, size)
				}
			}
			total, available := all[0].Replicas+all[1].Replicas, all[0].Available+all[1].Available
			if total > d.Replicas+d.MaxSurge || available < d.Replicas-d.MaxUnavailable || step > 50 {
				t.Fatalf("seed %d, step %d: %+v: %+v", seed, step, d, all)
			}
			all[1].Available = all[1].Replicas
		}
		if all[0].Replicas != 0 || all[1].Replicas != d.Replicas {
			t.Fatalf("seed %d: %+v ends with %+v", seed, d, all)
		}
	}
}

func ptr(s Set) *Set { return &s }
