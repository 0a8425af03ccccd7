package status

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// cycle has a group of each kind: one that grows, one that rests, one that is
// unhealthy, one with candidates, and nodes of no group; and nodes that go, stay
// unneeded, and are kept.
func cycle() model.Cycle {
	ago := func(d time.Duration) time.Time { return start.Add(-d) }
	group := func(id provider.GroupID, least, most int, st model.GroupStanding) model.Group {
		return model.Group{Group: provider.Group{ID: id, Min: least, Max: most, Target: st.Expected}, GroupStanding: st}
	}
	s := &model.Snapshot{Now: start, Groups: []model.Group{
		group("calm", 1, 5, model.GroupStanding{Expected: 3, Counts: model.Counts{Total: 3, Ready: 3}}),
		group("grows", 0, 10, model.GroupStanding{Expected: 5,
			Counts: model.Counts{Total: 3, Ready: 1, Young: 1, BeingDeleted: 1, Unregistered: 1},
			Asks: []model.Ask{{ID: "ask", Group: "grows", At: start,
				Units: []model.Unit{{}, {State: model.UnitMade, Instance: "i"}}}}}),
		group("rests", 0, 10, model.GroupStanding{Expected: 0, Rests: model.Rests{{
			Cause: model.RestFailed, Until: start.Add(time.Minute), Kind: provider.NoCapacity, Code: "OutOfStock",
			Message: "NoCapacity (OutOfStock): " + strings.Repeat("ü", 501)}},
			Missing: 10, MissingSince: ago(5 * time.Minute)}),
		group("sick", 0, 10, model.GroupStanding{Expected: 6, Unhealthy: &model.Verdict{Reason: model.GroupUnhealthy,
			Detail: "4 of its 6 nodes are missing or not ready", Fix: "at most 3 of them, or 45%, are"},
			Counts: model.Counts{Total: 5, Unready: 2, ResourceUnready: 1, NeverStarted: 2, Suspended: 1,
				LongUnregistered: 1}}),
	}}
	for i := range s.Groups {
		s.Counts = s.Counts.Plus(s.Groups[i].Counts)
	}
	s.Others = model.Counts{Total: 2, Ready: 1, Unready: 1}
	s.Nodes = []*model.Node{
		{Name: "a"}, {Name: "b"},
		{Name: "busy", Standing: model.NodeStanding{Held: model.NotUnderutilized, HeldSince: ago(time.Hour)}},
		{Name: "goes", Occupants: 3, Standing: model.NodeStanding{Drain: &model.Drain{
			Node: "goes", Group: "grows", Stage: model.Evicting, Since: ago(time.Minute),
			Began: ago(2 * time.Minute), Occupied: true,
			Evictions: []model.Eviction{
				{Pod: "ns/db-0", First: ago(50 * time.Second), Last: ago(10 * time.Second),
					Why: "budget ns/db: 2 of 3 healthy, 2 wanted"},
				{Pod: "ns/db-1", First: ago(50 * time.Second), Last: ago(20 * time.Second), Why: "an older refusal"},
				{Pod: "ns/web-0", First: ago(50 * time.Second), Last: ago(5 * time.Second), Granted: true,
					Why: "it was refused before"},
			}}}},
		{Name: "guarded", Standing: model.NodeStanding{Held: model.NotUnderutilized, HeldSince: ago(time.Hour)}},
		{Name: "returns", Occupants: 1, Standing: model.NodeStanding{Drain: &model.Drain{
			Node: "returns", Group: "grows", Stage: model.RollingBack, Since: ago(time.Second), Began: ago(time.Minute),
			Code: model.PodLanded, Why: "pod ns/late is on it"}}},
	}
	verdict := func(node string, group provider.GroupID, use float64, v model.Verdict) model.NodeVerdict {
		return model.NodeVerdict{Node: node, Group: group, Use: use, Verdict: v}
	}
	s.Notices = []provider.Notice{{Group: "calm", Code: "BadTag", Message: "the tag a has no effect"}}
	return model.Cycle{Snapshot: s, Plan: model.Plan{
		Notices: []provider.Notice{{Code: "DaemonSetDoesNotFit", Message: "DaemonSet ns/agent is too large"}},
		Unneeded: []model.NodeVerdict{
			verdict("a", "calm", 0, model.Verdict{Reason: model.Unneeded, Since: ago(10 * time.Minute)}),
			verdict("b", "calm", 0.125, model.Verdict{Reason: model.NotUnneededLongEnough, Detail: "10m0s are wanted",
				Since: ago(3 * time.Minute), Until: start.Add(7 * time.Minute)}),
		},
		Repair: []model.RepairVerdict{
			{Group: "grows", Count: 1, Verdict: model.Verdict{Reason: model.GroupBusy}},
			{Group: "sick", Instance: "i-1", Count: 1, Verdict: model.Verdict{Reason: model.MatchingBroken,
				Detail: "node x has no instance, and could be that of instance i-1", Fix: "provider ids that agree"}},
			{Group: "sick", Count: 2, Verdict: model.Verdict{Reason: model.NotCancellable, Since: ago(time.Hour),
				Detail: "2 did not come", Fix: "they come late"}},
		},
		Kept: []model.NodeVerdict{
			verdict("busy", "sick", 0.617, model.Verdict{Reason: model.NotUnderutilized, Detail: "cpu 62% >= 50%",
				Fix: "--scale-down-utilization-threshold"}),
			verdict("goes", "grows", 0.3, model.Verdict{Reason: model.CurrentlyBeingDeleted}),
			verdict("guarded", "sick", 0.3, model.Verdict{Reason: model.NotEnoughPdb,
				Detail: "pod ns/db-2: " + strings.Repeat("ü", maxDetail), Fix: "a pod of ns/db that is ready"}),
			verdict("returns", "grows", 0.3, model.Verdict{Reason: model.CurrentlyBeingDeleted}),
		},
	}}
}

func text(t *testing.T, d Document) string {
	t.Helper()
	out, err := d.Text()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var rewrite = flag.Bool("rewrite", false, "write the documents in testdata")

// The document is what it was: others parse it. After a change on purpose, -rewrite writes it.
func TestGolden(t *testing.T) {
	for name, d := range map[string]Document{"running": Of(start, cycle(), Document{}),
		"initializing": Starting(start)} {
		file := filepath.Join("testdata", name+".yaml")
		got := text(t, d)
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-rewrite writes it):\n%s", name, diff)
		}
	}
}

// A thousand notices do not fill the document; it says how many there are.
func TestNoticesAreBounded(t *testing.T) {
	c := cycle()
	c.Snapshot.Notices = slices.Repeat([]provider.Notice{{Code: "BadTag", Message: strings.Repeat("x", 2*maxError)}},
		1000)
	n := Of(start, c, Document{}).Notices
	if n.Total != 1001 || len(n.List) != mostNotices || len(n.List[0].Message) != maxError+len(truncated) {
		t.Errorf("%d, of them %d", n.Total, len(n.List))
	}
}

// Exporters walk the document by the names that they know, and parse its times.
func TestExportersCanReadIt(t *testing.T) {
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(text(t, Of(start, cycle(), Document{}))), &doc); err != nil {
		t.Fatal(err)
	}
	at := func(path ...any) any {
		var v any = doc
		for _, p := range path {
			switch p := p.(type) {
			case string:
				v = v.(map[string]any)[p]
			case int:
				v = v.([]any)[p]
			}
		}
		return v
	}
	for want, path := range map[string][]any{
		"Running":              {"autoscalerStatus"},
		"Healthy":              {"clusterWide", "health", "status"},
		"13":                   {"clusterWide", "health", "nodeCounts", "registered", "total"},
		"5":                    {"clusterWide", "health", "nodeCounts", "registered", "ready"},
		"InProgress":           {"clusterWide", "scaleUp", "status"},
		"CandidatesPresent":    {"clusterWide", "scaleDown", "status"},
		"2":                    {"clusterWide", "scaleDown", "candidates"},
		"grows":                {"nodeGroups", 1, "name"},
		"1":                    {"nodeGroups", 1, "health", "nodeCounts", "registered", "notStarted"},
		"10":                   {"nodeGroups", 1, "health", "maxSize"},
		"Backoff":              {"nodeGroups", 2, "scaleUp", "status"},
		"OutOfStock":           {"nodeGroups", 2, "scaleUp", "backoffInfo", "errorCode"},
		"6":                    {"nodeGroups", 3, "health", "cloudProviderTarget"},
		"Unhealthy":            {"nodeGroups", 3, "scaleUp", "status"},
		"4":                    {"nodeGroups", 3, "health", "nodeCounts", "registered", "unready", "total"},
		"2026-03-01T12:00:00Z": {"nodeGroups", 3, "health", "lastTransitionTime"},
		"2026-03-01 12:00:00.123456789 +0000 UTC": {"time"},
	} {
		if got := fmt.Sprint(at(path...)); got != want {
			t.Errorf("%v is %s, want %s", path, got, want)
		}
	}
	if got := at("nodeGroups", 2, "scaleUp", "backoffInfo", "errorMessage"); got != strings.Repeat("ü",
		500)+"<truncated>" {
		t.Errorf("a long message: %v", got)
	}
}

// What stands as it did keeps its time, over any number of cycles and through
// the text; what changes gets a new one.
func TestTransitionTimes(t *testing.T) {
	c := cycle()
	first, err := parse(text(t, Of(start, c, Document{})))
	if err != nil {
		t.Fatal(err)
	}
	later := start.Add(time.Minute) // at which the rest is over
	c.Snapshot.Unhealthy = &model.Verdict{Reason: model.ClusterUnhealthy, Detail: "5 of 9 nodes are not ready"}
	c.Snapshot.Groups[3].Unhealthy = nil
	c.Plan.Unneeded = nil
	d := Of(later, c, first)
	if d.ClusterWide.Health.Status != Unhealthy || !strings.Contains(d.Message, "5 of 9 nodes are not ready") {
		t.Errorf("%+v: %s", d.ClusterWide.Health, d.Message)
	}
	for what, x := range map[string]struct {
		times   Times
		changed bool
	}{
		"the cluster's health":  {d.ClusterWide.Health.Times, true},
		"its growth":            {d.ClusterWide.ScaleUp.Times, false},
		"its candidates":        {d.ClusterWide.ScaleDown.Times, true},
		"a calm group's health": {d.NodeGroups[0].Health.Times, false},
		"its candidates, gone":  {d.NodeGroups[0].ScaleDown.Times, true},
		"a growing group":       {d.NodeGroups[1].ScaleUp.Times, false},
		"a rest that is over":   {d.NodeGroups[2].ScaleUp.Times, true},
		"a group that is cured": {d.NodeGroups[3].Health.Times, true},
		"and may grow":          {d.NodeGroups[3].ScaleUp.Times, true},
		"and has no candidates": {d.NodeGroups[3].ScaleDown.Times, false},
	} {
		want := start.Truncate(time.Second)
		if x.changed {
			want = later
		}
		if !x.times.LastTransitionTime.Time.Equal(want) || !x.times.LastProbeTime.Time.Equal(later) {
			t.Errorf("%s: %+v", what, x.times)
		}
	}
}

// A time that lies ahead was written by a clock that was wrong: it is not kept.
func TestATransitionThatLiesAheadIsNotKept(t *testing.T) {
	ahead := Of(start.Add(time.Hour), cycle(), Document{})
	d := Of(start, cycle(), ahead)
	for what, got := range map[string]Times{
		"the cluster": d.ClusterWide.Health.Times, "its growth": d.ClusterWide.ScaleUp.Times,
		"a group": d.NodeGroups[0].Health.Times,
	} {
		if !got.LastTransitionTime.Time.Equal(start) {
			t.Errorf("%s: %s, want %s", what, got.LastTransitionTime, start)
		}
	}
}

func TestGrowthOfAGroup(t *testing.T) {
	backoff := model.Rests{{Cause: model.RestFailed, Until: start.Add(time.Second), Kind: provider.Quota, Message: "no"}}
	sick := &model.Verdict{Reason: model.NodeNeverStarted}
	busy := &model.Call{Verb: model.Grow, Group: "g"}
	ask := func(u ...model.Unit) []model.Ask { return []model.Ask{{Units: u}} }
	for _, c := range []struct {
		name string
		st   model.GroupStanding
		want State
		code string
	}{
		{"nothing", model.GroupStanding{}, NoActivity, ""},
		{"rests", model.GroupStanding{Rests: backoff}, Backoff, "Quota"},
		{"has rested", model.GroupStanding{Rests: model.Rests{{Cause: model.RestFailed, Until: start, Kind: provider.Quota}}}, NoActivity, ""},
		{"unhealthy, and rests", model.GroupStanding{Rests: backoff, Unhealthy: sick}, Unhealthy, "Quota"},
		{"a call is under way", model.GroupStanding{Busy: busy, Unhealthy: sick}, InProgress, ""},
		{"a call of its pool's other group", model.GroupStanding{Busy: &model.Call{Verb: model.Grow, Group: "h"}}, NoActivity, ""},
		{"a removal is under way", model.GroupStanding{Busy: &model.Call{Verb: model.Remove, Group: "g"}}, NoActivity, ""},
		{"a node boots", model.GroupStanding{Asks: ask(model.Unit{State: model.UnitRegistered, Instance: "i", Node: "n"})}, InProgress, ""},
		{"all ready or given up", model.GroupStanding{Asks: ask(model.Unit{State: model.UnitReady}, model.Unit{State: model.UnitGivenUp})}, NoActivity, ""},
	} {
		s := &model.Snapshot{Groups: []model.Group{{Group: provider.Group{ID: "g"}, GroupStanding: c.st}}}
		up := Of(start, model.Cycle{Snapshot: s}, Document{}).NodeGroups[0].ScaleUp
		if up.Status != c.want || up.BackoffInfo.ErrorCode != c.code {
			t.Errorf("%s: %s %q, want %s %q", c.name, up.Status, up.BackoffInfo.ErrorCode, c.want, c.code)
		}
	}
}

// Looking again changes times only.
func TestWithoutTimes(t *testing.T) {
	a := Of(start, cycle(), Document{})
	b := Of(start.Add(10*time.Second), cycle(), a)
	if cmp.Equal(a, b) || !cmp.Equal(a.WithoutTimes(), b.WithoutTimes()) {
		t.Error(cmp.Diff(a.WithoutTimes(), b.WithoutTimes()))
	}
	if a.NodeGroups[0].Health.LastProbeTime.IsZero() {
		t.Error("it changed the document itself")
	}
	c := cycle()
	c.Snapshot.Groups[0].Expected++
	if cmp.Equal(Of(start, c, a).WithoutTimes(), a.WithoutTimes()) {
		t.Error("another target is no change")
	}
}

// A document of too many groups still fits, with those that matter.
func TestTooManyGroups(t *testing.T) {
	c := cycle()
	for i := range 1800 {
		c.Snapshot.Groups = append(c.Snapshot.Groups,
			model.Group{Group: provider.Group{ID: provider.GroupID(fmt.Sprintf("z-%04d", i))}})
	}
	c.Snapshot.Groups[len(c.Snapshot.Groups)-1].Unhealthy = &model.Verdict{Reason: model.GroupUnhealthy}
	out := text(t, Of(start, c, Document{}))
	d, err := parse(out)
	if err != nil {
		t.Fatal(err)
	}
	n := len(d.NodeGroups)
	if len(out) > maxText || n < 1000 || n > 1799 || d.NodeGroups[n-1].Name != "z-1799" {
		t.Errorf("%d bytes, %d groups, the last is %s", len(out), n, d.NodeGroups[n-1].Name)
	}
	if want := fmt.Sprintf("%d groups do not fit in here", 1804-n); d.Message != want {
		t.Errorf("%q, want %q", d.Message, want)
	}
}

func TestParse(t *testing.T) {
	for what, doc := range map[string]string{
		"empty": "",
		"free text": "Cluster-autoscaler status at 2020-11-03 12:39:12 +0000 UTC:\nCluster-wide:\n  Health:      Healthy " +
			"(ready=1)\n",
		"a list":  "- a\n",
		"no YAML": "{",
	} {
		if d, err := parse(doc); err == nil {
			t.Errorf("%s: %+v", what, d)
		}
	}
	d, err := parse("autoscalerStatus: Running\nsomethingNew: 1\ntime: 2026-03-01 12:00:00.5 +0000 UTC\n")
	if err != nil || !d.Made().Equal(time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC)) {
		t.Errorf("%+v, %v", d, err)
	}
}

func memory(unneeded int) model.Memory {
	m := model.Memory{
		Asks: []model.Ask{{ID: "grow/g/1", Group: "g", At: start, For: []string{"class"},
			Units: []model.Unit{{},
				{State: model.UnitRegistered, Entered: start.Add(time.Second), Instance: "i", Node: "n", Exists: start}}}},
		Brakes: []model.Brake{{Group: "g", Class: "c", Template: "t", Reason: model.TemplateMismatch,
			Detail: "cpu", Node: "n", Since: start}},
		Backoffs: map[provider.GroupID]model.Rest{"g": {Until: start.Add(5 * time.Minute), Length: 5 * time.Minute,
			Since: start, Kind: provider.NoCapacity}},
		Unneeded: map[string]time.Time{},
		Drains: []model.Drain{{Node: "n", Group: "g", Instance: "i", Stage: model.Evicting, Since: start,
			Began: start.Add(-time.Minute), Occupied: true,
			Why: "w", Code: model.EvictionRefused, NotBefore: start}},
		Resume: "node-7",
	}
	// Names that do not pack well, from a fixed seed.
	random := rand.New(rand.NewPCG(1, 2))
	for i := range unneeded {
		m.Unneeded[fmt.Sprintf("node-%016x", random.Uint64())] = start.Add(time.Duration(i) * time.Second)
	}
	return m
}

func TestMemorySurvives(t *testing.T) {
	for unneeded, isPacked := range map[int]bool{0: false, 10: false, 3000: true} {
		want := memory(unneeded)
		out, dropped, err := EncodeMemory(want)
		if err != nil || dropped != (Dropped{}) || strings.HasPrefix(out, packed) != isPacked {
			t.Fatalf("%d: dropped %+v, packed %v, %v", unneeded, dropped, strings.HasPrefix(out, packed), err)
		}
		got, err := decodeMemory(out)
		if len(want.Unneeded) == 0 {
			want.Unneeded = nil
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%d: %v\n%s", unneeded, err, diff)
		}
	}
}

// Of a memory that does not fit, the nodes that were unneeded the longest stay,
// and all else.
func TestMemoryThatDoesNotFit(t *testing.T) {
	want := memory(20000)
	out, dropped, err := EncodeMemory(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeMemory(out)
	if err != nil {
		t.Fatal(err)
	}
	kept := len(got.Unneeded)
	if len(out) > maxMemory || len(out) < maxMemory*9/10 || dropped != (Dropped{Unneeded: 20000 - kept}) ||
		len(want.Unneeded) != 20000 {
		t.Errorf("%d bytes, %d kept, dropped %+v; %d are left in the original", len(out), kept,
			dropped, len(want.Unneeded))
	}
	for name, since := range got.Unneeded {
		if !since.Equal(want.Unneeded[name]) || since.After(start.Add(time.Duration(kept)*time.Second)) {
			t.Fatalf("%s since %s is kept, of %d", name, since, kept)
		}
	}
	got.Unneeded, want.Unneeded = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Asks are never dropped in silence.
	huge := memory(10)
	random := rand.New(rand.NewPCG(3, 4))
	for range 30000 {
		huge.Asks[0].Units = append(huge.Asks[0].Units,
			model.Unit{Instance: provider.InstanceID(fmt.Sprintf("i-%016x", random.Uint64()))})
	}
	if _, _, err := EncodeMemory(huge); err == nil || !strings.Contains(err.Error(), "1 asks") {
		t.Errorf("asks that do not fit: %v", err)
	}
}

// Of a large growth, nodes that have come are left out first: of what is still waited
// for nothing is lost.
func TestMemoryOfALargeGrowth(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	name := func() string { return fmt.Sprintf("%017x", random.Uint64()) }
	growth := func(ready, arrivals int) model.Memory {
		open := model.Unit{State: model.UnitRegistered, Entered: start.Add(time.Second),
			Instance: "i-open", Exists: start, Node: "open"}
		ask := model.Ask{ID: "grow/g/1", Group: "g", At: start, For: []string{name(), name()},
			Units: []model.Unit{{}, open, {State: model.UnitGivenUp, Entered: start, Why: "late"}}}
		var m model.Memory
		for range ready {
			at := start.Add(time.Duration(random.IntN(1e9)) * time.Microsecond)
			ask.Units = append(ask.Units, model.Unit{Instance: provider.InstanceID("i-" + name()),
				Node: "node-" + name(), Exists: at, State: model.UnitReady, Entered: at})
		}
		for i := range arrivals {
			m.Arrivals = append(m.Arrivals, model.Arrival{Node: "node-" + name(), Group: "g",
				Ready: start.Add(time.Duration(i) * time.Microsecond), For: ask.For})
		}
		// none of it is waited for
		all := model.Ask{ID: "grow/h/1", Group: "h", At: start, Units: slices.Clone(ask.Units[3:])}
		m.Asks = []model.Ask{ask, all}
		m.Unneeded = map[string]time.Time{"n": start}
		return m
	}
	for _, c := range []struct {
		ready, arrivals int
		cut             bool
	}{{100, 100, false}, {5000, 1000, true}, {5000, 40000, true}} {
		want := growth(c.ready, c.arrivals)
		out, dropped, err := EncodeMemory(want)
		if err != nil || len(out) > maxMemory {
			t.Errorf("%+v: %d bytes, %v", c, len(out), err)
			continue
		}
		got, err := decodeMemory(out)
		if err != nil {
			t.Fatal(err)
		}
		if !c.cut {
			if diff := cmp.Diff(want, got); diff != "" || dropped != (Dropped{}) {
				t.Errorf("%+v: dropped %+v\n%s", c, dropped, diff)
			}
			continue
		}
		if dropped.Ready != 2*c.ready || len(got.Arrivals)+dropped.Arrivals != c.arrivals ||
			len(got.Unneeded)+dropped.Unneeded != 1 || len(want.Asks[0].Units) != 3+c.ready ||
			len(want.Arrivals) != c.arrivals {
			t.Errorf("%+v: dropped %+v; %d arrivals are kept", c, dropped, len(got.Arrivals))
		}
		if fits := c.arrivals == 1000; fits != (dropped.Arrivals+dropped.Unneeded == 0) || len(got.Arrivals) == 0 {
			t.Errorf("%+v: dropped %+v", c, dropped)
		}
		asks := []model.Ask{want.Asks[0]}
		asks[0].Units = asks[0].Units[:3]
		if diff := cmp.Diff(asks, got.Asks); diff != "" {
			t.Errorf("%+v: what is waited for:\n%s", c, diff)
		}
	}
}

func TestMemoryThatCannotBeRead(t *testing.T) {
	long, _, err := EncodeMemory(memory(3000))
	if err != nil {
		t.Fatal(err)
	}
	for what, in := range map[string]string{"empty": "", "no JSON": "{", "a list": "[]", "cut": long[:len(long)/2],
		"no base64": packed + "%%%", "no gzip": packed + "aGVsbG8="} {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "status",
			Annotations: map[string]string{MemoryAnnotation: in}}}
		got, err := MemoryIn(m)
		if err == nil || !cmp.Equal(got, model.Memory{}) || !strings.Contains(err.Error(), "ns/status") {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	if got, err := MemoryIn(&corev1.ConfigMap{}); err != nil || !cmp.Equal(got, model.Memory{}) {
		t.Errorf("absent: %+v, %v", got, err)
	}
	if got, err := decodeMemory(`{"asks":[{"id":"a","group":"g","units":[],"later":1}],"newer":true}`); err != nil ||
		len(got.Asks) != 1 {
		t.Errorf("of a newer version: %+v, %v", got, err)
	}
}

// TestMemoryOfBefore: the memory that the version before wrote is read, with nothing lost.
// testdata/memory-1.json is what it wrote, and must stay as it is (ADR 35).
func TestMemoryOfBefore(t *testing.T) {
	text, err := os.ReadFile("testdata/memory-1.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeMemory(string(text))
	if err != nil {
		t.Fatal(err)
	}
	at := func(second int) time.Time { return time.Date(2026, 11, 22, 12, 0, second, 0, time.UTC) }
	late, dud := "no node within 15m0s", "its node did not become ready"
	units := []model.Unit{
		{},
		{Deadline: model.Deadline{Since: at(1), Stalled: at(2)}},
		{State: model.UnitMade, Entered: at(3), Instance: "i-made", Exists: at(3)},
		{State: model.UnitMade, Entered: at(4), Instance: "i-lost", Exists: at(4), Deadline: model.Deadline{Since: at(5)}, Lost: at(6)},
		{State: model.UnitRegistered, Entered: at(8), Instance: "i-node", Node: "n-node", Exists: at(7)},
		{State: model.UnitReady, Entered: at(11), Instance: "i-ready", Node: "n-ready", Exists: at(9)},
		{State: model.UnitGivenUp, Entered: at(12), Why: "no instance within 15m0s"},
		{State: model.UnitGivenUp, Entered: at(14), Instance: "i-late", Exists: at(13), Why: late},
		{State: model.UnitGivenUp, Entered: at(17), Instance: "i-dud", Node: "n-dud", Exists: at(15), Why: dud},
		{State: model.UnitReady, Entered: at(21), Instance: "i-slow", Node: "n-slow", Exists: at(18), Why: dud},
		{State: model.UnitKept, Entered: at(23), Why: "NoCapacity"},
	}
	if diff := cmp.Diff(units, got.Asks[0].Units); diff != "" {
		t.Error(diff)
	}
	found := []model.Unit{{State: model.UnitMade, Entered: at(25), Instance: "i-found", Exists: at(25)}}
	if diff := cmp.Diff(found, got.Asks[1].Units); diff != "" || !got.Asks[1].First {
		t.Error(diff)
	}
	// All else is written as it was read: what keeps its name keeps its meaning.
	again, _, err := EncodeMemory(got)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := decodeMemory(again); err != nil || cmp.Diff(got, back) != "" {
		t.Errorf("written and read again: %v\n%s", err, cmp.Diff(got, back))
	}
	var before, after map[string]any
	for in, out := range map[string]*map[string]any{string(text): &before, again: &after} {
		if err := json.Unmarshal([]byte(in), out); err != nil {
			t.Fatal(err)
		}
		delete(*out, "asks")
	}
	before["version"] = float64(memoryVersion)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// TestMemoryOfALaterVersion: it is not read in part, and the error says why.
func TestMemoryOfALaterVersion(t *testing.T) {
	got, err := decodeMemory(`{"version":3,"unneeded":{"n":"2026-01-01T00:00:00Z"}}`)
	if err == nil || !strings.Contains(err.Error(), "version 3") ||
		!strings.Contains(err.Error(), "up to version 2") || !cmp.Equal(got, model.Memory{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Whatever is in the annotation, it is read or refused, and what is read can be
// written.
func FuzzMemory(f *testing.F) {
	f.Add(`{"asks":[{"id":"a","group":"g","at":"2026-01-01T00:00:00Z","units":[{}]}]}`)
	f.Add(packed + "H4sIAAAAAAAA/6uuBQBDv6ajAgAAAA==")
	f.Fuzz(func(t *testing.T, in string) {
		m, err := decodeMemory(in)
		if err != nil {
			return
		}
		out, _, err := EncodeMemory(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeMemory(out); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPutLeavesWhatOthersWrote(t *testing.T) {
	m := &corev1.ConfigMap{Data: map[string]string{"other": "x"},
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b", MemoryAnnotation: "old"}}}
	Put(m, "doc", "now", "")
	want := map[string]string{"a": "b", MemoryAnnotation: "old", LastUpdated: "now"}
	if !cmp.Equal(m.Annotations, want) || !cmp.Equal(m.Data, map[string]string{"other": "x", Key: "doc"}) {
		t.Errorf("%v %v", m.Annotations, m.Data)
	}
	// Only a memory that is written gets a date.
	Put(m, "doc", "now", "new")
	if m.Annotations[MemoryAnnotation] != "new" || m.Annotations[MemoryWritten] != "now" {
		t.Error(m.Annotations)
	}
	Put(m, "doc", "later", "")
	if m.Annotations[MemoryAnnotation] != "new" || m.Annotations[MemoryWritten] != "now" ||
		m.Annotations[LastUpdated] != "later" {
		t.Error(m.Annotations)
	}
}

// TestTheCloudIsSilent: while the cloud cannot be read, the document says so, and why.
func TestTheCloudIsSilent(t *testing.T) {
	s := &model.Snapshot{AsOf: start, InventoryErr: "no answer within 1m0s"}
	d := Of(start.Add(time.Minute), model.Cycle{Snapshot: s}, Document{})
	if want := "the cloud could not be read since 12:00:00Z: no answer within 1m0s"; !strings.Contains(d.Message,
		want) {
		t.Errorf("got %q, want %q", d.Message, want)
	}
	s.InventoryErr = ""
	if d := Of(start.Add(2*time.Minute), model.Cycle{Snapshot: s}, d); d.Message != "" {
		t.Errorf("it stays: %q", d.Message)
	}
}
