package report

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// shelf is an API server with one ConfigMap at most; it refuses updates of an
// older version, as the real one does, and can be made to fail.
type shelf struct {
	*fake.Clientset
	mu     sync.Mutex
	writes []*corev1.ConfigMap
	verbs  []string
	fail   map[string]error // by verb
	hold   chan struct{}    // while not nil, writes wait for it
}

func newShelf(objects ...runtime.Object) *shelf {
	s := &shelf{Clientset: fake.NewClientset(objects...), fail: map[string]error{}}
	version := 100
	s.PrependReactor("*", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		hold := s.hold
		s.mu.Unlock()
		if hold != nil && a.GetVerb() != "get" {
			<-hold
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.verbs = append(s.verbs, a.GetVerb())
		if err := s.fail[a.GetVerb()]; err != nil {
			return true, nil, err
		}
		w, ok := a.(clienttesting.CreateAction) // updates have the same methods
		if !ok {
			return false, nil, nil
		}
		m := w.GetObject().(*corev1.ConfigMap)
		if a.GetVerb() == "update" {
			is, err := s.Tracker().Get(a.GetResource(), a.GetNamespace(), m.Name)
			if err != nil {
				return true, nil, err
			}
			if is.(*corev1.ConfigMap).ResourceVersion != m.ResourceVersion {
				return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), m.Name,
					errors.New("it has changed"))
			}
		}
		version++
		m.ResourceVersion = strconv.Itoa(version)
		s.writes = append(s.writes, m.DeepCopy())
		return false, nil, nil
	})
	return s
}

func (s *shelf) set(verb string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[verb] = err
}

// count tells how many writes there were, and the last one.
func (s *shelf) count() (int, *corev1.ConfigMap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.writes) == 0 {
		return 0, &corev1.ConfigMap{}
	}
	return len(s.writes), s.writes[len(s.writes)-1]
}

// keeping runs a desk that keeps the status ConfigMap, inside of a bubble.
type keeping struct {
	*desk
	shelf  *shelf
	writer *StatusWriter
	lead   error // what may says
	stop   func()
}

func keep(t *testing.T, s *shelf, before status.Document) *keeping {
	t.Helper()
	k := &keeping{desk: newDesk(func(s *Settings) { s.StatusInterval = 10 * time.Second }), shelf: s}
	var mu sync.Mutex
	k.writer = k.KeepStatus(s, func() error { mu.Lock(); defer mu.Unlock(); return k.lead }, before)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { k.writer.Run(ctx) })
	k.stop = func() { cancel(); running.Wait() }
	t.Cleanup(k.stop)
	synctest.Wait()
	return k
}

// after lets time pass and gives the number of writes, and the last one.
func (k *keeping) after(d time.Duration) (int, *corev1.ConfigMap) {
	time.Sleep(d)
	synctest.Wait()
	return k.shelf.count()
}

func remembering(node string) model.Cycle {
	return model.Cycle{Snapshot: snapshot(0),
		Memory: model.Memory{Unneeded: map[string]time.Time{node: time.Unix(900, 0).UTC()}}}
}

func stateOf(t *testing.T, m *corev1.ConfigMap) status.State {
	t.Helper()
	d, _, err := status.DocumentIn(m)
	if err != nil {
		t.Fatal(err)
	}
	return d.AutoscalerStatus
}

// From nothing: Initializing at once, then the first cycle within a second, and
// then times alone once per interval.
func TestStatusIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, newShelf(), status.Document{})
		n, m := k.shelf.count()
		if n != 1 || stateOf(t, m) != status.Initializing || m.Namespace != "kube-system" || m.Name != "status" {
			t.Fatalf("at first: %d writes, %+v", n, m)
		}
		if _, there := m.Annotations[status.MemoryAnnotation]; there {
			t.Error("a memory before there is one")
		}
		k.report(t, remembering("n"))
		if n, _ := k.after(0); n != 1 {
			t.Errorf("within the same second: %d writes", n)
		}
		n, m = k.after(time.Second)
		if n != 2 || stateOf(t, m) != status.Running {
			t.Fatalf("after a second: %d writes, %+v", n, m)
		}
		if got := m.Annotations[status.MemoryAnnotation]; got != `{"version":2,"unneeded":{"n":"1970-01-01T00:15:00Z"}}` {
			t.Error(got)
		}
		d, _, err := status.DocumentIn(m)
		if err != nil || m.Annotations[status.LastUpdated] != d.Time || d.NodeGroups[0].Name != "a" {
			t.Errorf("%v %+v %v", m.Annotations, d, err)
		}
		// A cycle each second changes nothing but times.
		for range 9 {
			k.report(t, remembering("n"))
			k.after(time.Second)
		}
		if n, _ := k.shelf.count(); n != 2 {
			t.Errorf("times alone, after 9 s: %d writes", n)
		}
		k.report(t, remembering("n"))
		if n, m = k.after(time.Second); n != 3 {
			t.Errorf("times alone, after 10 s: %d writes", n)
		}
		if at := parsed(t, m).Made(); !at.Equal(time.Now().Add(-time.Second)) {
			t.Errorf("it is %s, and the newest is written as of %s", time.Now(), at)
		}
		// Without a cycle there is nothing new to say.
		if n, _ := k.after(time.Hour); n != 3 {
			t.Errorf("without cycles: %d writes", n)
		}
	})
}

func parsed(t *testing.T, m *corev1.ConfigMap) status.Document {
	t.Helper()
	d, _, err := status.DocumentIn(m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A memory that changes is written within a second; of many changes the newest.
func TestMemoryIsWrittenPromptly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, newShelf(), status.Document{})
		k.report(t, remembering("a"))
		k.after(5 * time.Second)
		k.report(t, remembering("b"))
		n, m := k.after(0)
		if n != 3 || !strings.Contains(m.Annotations[status.MemoryAnnotation], `"b"`) {
			t.Errorf("at once: %d writes, %v", n, m.Annotations)
		}
		for _, node := range []string{"c", "d", "e"} {
			k.report(t, remembering(node))
			k.after(100 * time.Millisecond)
		}
		n, m = k.after(700 * time.Millisecond)
		if n != 4 || !strings.Contains(m.Annotations[status.MemoryAnnotation], `"e"`) {
			t.Errorf("after three more: %d writes, %v", n, m.Annotations)
		}
	})
}

// A cycle does not wait for a write that hangs, and the write ends by itself.
func TestACycleDoesNotWaitForTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		k := keep(t, s, status.Document{})
		s.mu.Lock()
		s.hold = make(chan struct{})
		s.mu.Unlock()
		began := time.Now()
		for _, node := range []string{"a", "b", "c"} {
			k.report(t, remembering(node))
			k.after(time.Second)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("three cycles took %s", took)
		}
		s.mu.Lock()
		close(s.hold)
		s.hold = nil
		s.mu.Unlock()
		if n, m := k.after(2 * time.Second); n != 3 ||
			!strings.Contains(m.Annotations[status.MemoryAnnotation], `"c"`) {
			t.Errorf("%d writes, %v", n, m.Annotations)
		}
	})
}

// What others keep in the same ConfigMap stays, also if they write between.
func TestOthersMayWriteToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "status",
			ResourceVersion: "1",
			Labels:          map[string]string{"team": "x"},
			Annotations:     map[string]string{status.MemoryAnnotation: `{"unneeded":{"old":"2026-01-01T00:00:00Z"}}`}}})
		k := keep(t, s, status.Document{})
		_, m := s.count()
		if m.Labels["team"] != "x" || !strings.Contains(m.Annotations[status.MemoryAnnotation], "old") {
			t.Errorf("the first write: %+v", m.ObjectMeta)
		}
		theirs := m.DeepCopy()
		theirs.Annotations["theirs"] = "y"
		if _, err := s.CoreV1().ConfigMaps("kube-system").Update(t.Context(), theirs,
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		k.report(t, remembering("n"))
		if _, m = k.after(2 * time.Second); m.Annotations["theirs"] != "y" ||
			!strings.Contains(m.Annotations[status.MemoryAnnotation], `"n"`) {
			t.Errorf("after theirs: %+v", m.ObjectMeta)
		}
		// And if a user deletes it, it is there again.
		if err := s.CoreV1().ConfigMaps("kube-system").Delete(t.Context(), "status",
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		k.report(t, remembering("m"))
		k.after(2 * time.Second)
		if m, err := s.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "status", metav1.GetOptions{}); err != nil ||
			stateOf(t, m) != status.Running {
			t.Errorf("after a deletion: %v, %v", m, err)
		}
		if log := k.takeLog(); len(log) != 0 {
			t.Errorf("log: %v", log)
		}
	})
}

// An outage is said once, with what to do, and counted each time; it ends by
// itself.
func TestOutageOfTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, newShelf(), status.Document{})
		k.shelf.set("update", apierrors.NewForbidden(corev1.Resource("configmaps"), "status", errors.New("no")))
		for range 10 {
			k.report(t, remembering("n"))
			k.after(10 * time.Second)
		}
		log := k.takeLog()
		if len(log) != 1 || !strings.Contains(log[0],
			"grant get and update on the ConfigMap status, and create on ConfigMaps, in the namespace kube-system") {
			t.Errorf("log:\n%s", strings.Join(log, "\n"))
		}
		k.shelf.mu.Lock()
		tries := 0
		for _, v := range k.shelf.verbs {
			if v == "update" {
				tries++
			}
		}
		k.shelf.mu.Unlock()
		if tries < 4 || tries > 12 {
			t.Errorf("%d tries in 100 s", tries)
		}
		if _, got := k.page(t, "/metrics"); strings.Contains(got, `errors_total{type="apiCallError"} 0`) {
			t.Error("the outage is not counted")
		}
		k.shelf.set("update", nil)
		if n, m := k.after(time.Minute); n != 2 || stateOf(t, m) != status.Running {
			t.Errorf("after the outage: %d writes", n)
		}
		if log := k.takeLog(); len(log) != 1 || !strings.Contains(log[0], "written again") {
			t.Errorf("log:\n%s", strings.Join(log, "\n"))
		}
	})
}

// A process that has lost its lease writes nothing, and makes no noise of it.
func TestOnlyTheLeaderWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, newShelf(), status.Document{})
		k.lead = errors.New("another leads")
		k.report(t, remembering("n"))
		if n, _ := k.after(time.Minute); n != 1 {
			t.Errorf("%d writes", n)
		}
		if log := k.takeLog(); len(log) != 0 {
			t.Errorf("log: %v", log)
		}
		k.stop()
		if err := k.writer.Close(t.Context()); err == nil {
			t.Error("the last write was made all the same")
		}
	})
}

// At a clean end the newest is written, whatever was written a moment ago; and
// nothing after it.
func TestLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, newShelf(), status.Document{})
		k.report(t, remembering("n"))
		k.stop()
		if n, _ := k.shelf.count(); n != 1 {
			t.Fatalf("before the end: %d writes", n)
		}
		if err := k.writer.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		n, m := k.shelf.count()
		if n != 2 || stateOf(t, m) != status.Running ||
			!strings.Contains(m.Annotations[status.MemoryAnnotation], `"n"`) ||
			!strings.Contains(m.Annotations[status.MemoryAnnotation], `"closed":true`) {
			t.Errorf("%d writes, %+v", n, m)
		}
		if n, _ := k.after(time.Minute); n != 2 {
			t.Errorf("after the end: %d writes", n)
		}
	})
}

// Since when things stand as they do survives a restart.
func TestTransitionTimesSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, newShelf(), status.Document{})
		k.report(t, remembering("n"))
		_, m := k.after(time.Second)
		k.stop()
		began := parsed(t, m).ClusterWide.Health.LastTransitionTime
		time.Sleep(time.Hour)
		left, err := ReadLeft(t.Context(), k.shelf, "kube-system", "status")
		if err != nil {
			t.Fatal(err)
		}
		next := keep(t, k.shelf, left.Document)
		next.report(t, remembering("n"))
		_, m = next.after(time.Second)
		if got := parsed(t, m).ClusterWide.Health; !got.LastTransitionTime.Equal(&began) ||
			got.LastProbeTime.Equal(&began) {
			t.Errorf("since %s, was %s", got.LastTransitionTime, began)
		}
		if !left.Memory.Unneeded["n"].Equal(time.Unix(900, 0)) {
			t.Errorf("%+v", left.Memory)
		}
	})
}

// A process that ends before its first cycle writes a document beside the memory that
// it found: that is as old as it was. A memory without a date says nothing of unneeded nodes.
func TestAnOldMemoryStaysOld(t *testing.T) {
	const unneeded = `{"unneeded":{"n":"2026-01-01T00:00:00Z"},"lastGrowth":"2026-01-01T00:00:00Z"}`
	for _, c := range []struct {
		name        string
		annotations map[string]string
		dated       bool
	}{
		{"dated", map[string]string{status.MemoryAnnotation: unneeded,
			status.MemoryWritten: "2026-01-02 03:04:05.5 +0000 UTC"}, true},
		{"of a version that does not date it", map[string]string{status.MemoryAnnotation: unneeded}, false},
		{"with a date that is none", map[string]string{status.MemoryAnnotation: unneeded,
			status.MemoryWritten: "yesterday"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "status",
					ResourceVersion: "1", Annotations: c.annotations},
					Data: map[string]string{status.Key: "autoscalerStatus: Running\ntime: 2026-01-02 03:04:05.5 +0000 UTC\n"}})
				for _, process := range []string{"first", "second"} {
					left, err := ReadLeft(t.Context(), s, "kube-system", "status")
					if err != nil {
						t.Fatal(err)
					}
					_, there := left.Memory.Unneeded["n"]
					if want := time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC); there != c.dated || there &&
						!left.Memory.Written.Equal(want) || !c.dated && !left.Memory.Written.IsZero() {
						t.Errorf("the %s process: as of %s, %v", process, left.Memory.Written, left.Memory.Unneeded)
					}
					if left.Memory.LastGrowth.IsZero() {
						t.Errorf("the %s process: the rest is lost, too: %+v", process, left.Memory)
					}
					k := keep(t, s, left.Document)
					k.after(2 * time.Second)
					k.stop()
				}
				if _, m := s.count(); stateOf(t, m) != status.Initializing {
					t.Errorf("%+v", m)
				}
				// The first cycle dates it again.
				k := keep(t, s, status.Document{})
				k.report(t, remembering("n"))
				k.after(time.Second)
				left, err := ReadLeft(t.Context(), s, "kube-system", "status")
				if err != nil || !left.Memory.Written.Equal(time.Now().Add(-time.Second)) ||
					len(left.Memory.Unneeded) != 1 {
					t.Errorf("after a cycle, a second before %s: %+v, %v", time.Now(), left.Memory, err)
				}
			})
		})
	}
}

// Where the memory does not fit at all, the document is written without, the memory of
// before stays with its date, and a person is informed once.
func TestADocumentWithoutItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, newShelf(), status.Document{})
		k.report(t, remembering("n"))
		_, before := k.after(time.Second)
		c := remembering("n")
		ask := model.Ask{ID: "grow/a/1", Group: "a"}
		seed := uint64(1)
		for range 30000 {
			seed = seed*6364136223846793005 + 1442695040888963407
			ask.Units = append(ask.Units, model.Unit{Instance: provider.InstanceID(fmt.Sprintf("i-%016x", seed))})
		}
		c.Memory.Asks = []model.Ask{ask}
		for range 3 {
			k.report(t, c)
			k.after(time.Minute)
		}
		n, m := k.shelf.count()
		if at := parsed(t, m).Made(); n != 5 || !at.Equal(time.Now().Add(-time.Minute)) {
			t.Errorf("%d writes, the last one of %s, now it is %s", n, at, time.Now())
		}
		for _, a := range []string{status.MemoryAnnotation, status.MemoryWritten} {
			if m.Annotations[a] != before.Annotations[a] || m.Annotations[a] == "" {
				t.Errorf("%s was %q, is %q", a, before.Annotations[a], m.Annotations[a])
			}
		}
		if log := k.takeLog(); len(log) != 1 || !strings.Contains(log[0], "level=WARN") ||
			!strings.Contains(log[0], "1 asks") {
			t.Errorf("log: %v", log)
		}
		// At the end, too: and the process that ends hears of it.
		k.stop()
		k.report(t, c)
		if err := k.writer.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "1 asks") {
			t.Errorf("the end: %v", err)
		}
		if n, _ := k.shelf.count(); n != 6 {
			t.Errorf("at the end: %d writes", n)
		}
		// What fits again is written again.
		next := keep(t, k.shelf, status.Document{})
		next.report(t, c)
		next.after(time.Second)
		next.report(t, remembering("m"))
		if _, m := next.after(time.Second); !strings.Contains(m.Annotations[status.MemoryAnnotation], `"m"`) {
			t.Errorf("%v", m.Annotations)
		}
	})
}

// A memory that does not fit is cut, and that is said once.
func TestMemoryIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, newShelf(), status.Document{})
		c := remembering("n")
		seed := uint64(1)
		for range 20000 {
			seed = seed*6364136223846793005 + 1442695040888963407
			name := make([]byte, 16)
			for i := range name {
				name[i] = 'a' + byte(seed>>(4*i)&15)
			}
			c.Memory.Unneeded[string(name)] = time.Unix(1000, int64(seed%1e9))
		}
		k.report(t, c)
		k.after(time.Minute)
		c.Decided = true // another cycle
		k.report(t, c)
		k.after(time.Minute)
		if log := k.takeLog(); len(log) != 1 || !strings.Contains(log[0], "does not fit") ||
			!strings.Contains(log[0], "of=20001") {
			t.Errorf("log: %v", log)
		}
	})
}

func TestReadLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := func(s *shelf) (Left, time.Duration, error) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			left, err := ReadLeft(ctx, s, "kube-system", "status")
			return left, time.Since(began), err
		}
		stored := func(data map[string]string, memory string) *shelf {
			return newShelf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "status",
				Annotations: map[string]string{status.MemoryAnnotation: memory}}, Data: data})
		}
		// 1. Nothing there.
		if left, _, err := read(newShelf()); err != nil || len(left.Memory.Asks) != 0 {
			t.Errorf("absent: %+v, %v", left, err)
		}
		// 2. All there.
		left, _, err := read(stored(map[string]string{status.Key: "autoscalerStatus: Running\n"},
			`{"asks":[{"id":"a","group":"g","units":[{}]}]}`))
		if err != nil || len(left.Memory.Asks) != 1 || left.Document.AutoscalerStatus != status.Running {
			t.Errorf("%+v, %v", left, err)
		}
		// 3. A memory that cannot be read leaves the document, and the reverse.
		left, _, err = read(stored(map[string]string{status.Key: "autoscalerStatus: Running\n"}, `{"asks":`))
		if err == nil || !strings.Contains(err.Error(), status.MemoryAnnotation) || len(left.Memory.Asks) != 0 ||
			left.Document.AutoscalerStatus != status.Running {
			t.Errorf("unreadable: %+v, %v", left, err)
		}
		left, _, err = read(stored(map[string]string{status.Key: "free text"},
			`{"asks":[{"id":"a","group":"g","units":[{}]}]}`))
		if err != nil || len(left.Memory.Asks) != 1 {
			t.Errorf("free text: %+v, %v", left, err)
		}
		// 4. A missing permission is reported at once, an outage after a while.
		s := newShelf()
		s.set("get", apierrors.NewForbidden(corev1.Resource("configmaps"), "status", errors.New("no")))
		if _, took, err := read(s); err == nil || took != 0 || !strings.Contains(err.Error(), "the permission to get it") {
			t.Errorf("forbidden: %v after %s", err, took)
		}
		s.set("get", apierrors.NewServiceUnavailable("etcd"))
		if _, took, err := read(s); err == nil || took != 10*time.Second {
			t.Errorf("an outage: %v after %s", err, took)
		}
		time.AfterFunc(2500*time.Millisecond, func() { s.set("get", nil) })
		if _, took, err := read(s); err != nil || took != 3*time.Second {
			t.Errorf("a short outage: %v after %s", err, took)
		}
	})
}

// Without KeepStatus nothing is written and nothing is made.
func TestStatusIsNotKeptUnasked(t *testing.T) {
	d := newDesk()
	d.report(t, model.Cycle{Snapshot: snapshot(0),
		Changes: []model.Change{{Kind: model.AskArrived, Group: provider.GroupID("a")}}})
	if d.writer != nil || d.document.AutoscalerStatus != "" {
		t.Error("a document without a writer")
	}
}

// TestDocumentsWithMovesAreCompared: moves and budgets have times, and the same ones are no news.
func TestDocumentsWithMovesAreCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		k := keep(t, s, status.Document{})
		c := remembering("n")
		c.Snapshot.Moves = []model.Move{{ID: "m", Goes: []string{"n"}, Began: time.Unix(900, 0)}}
		k.report(t, c)
		before, _ := k.after(2 * time.Second)
		k.report(t, c)
		if writes, m := k.after(2 * time.Second); writes != before || len(parsed(t, m).Moves) != 1 {
			t.Errorf("%d writes, and %d before", writes, before)
		}
		c.Snapshot.Moves[0].Stage = model.MoveEmptying
		k.report(t, c)
		if writes, _ := k.after(2 * time.Second); writes != before+1 {
			t.Errorf("%d writes, and %d before", writes, before)
		}
	})
}
