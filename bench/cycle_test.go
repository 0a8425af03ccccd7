package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/loop"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// BenchmarkCycle takes the time of one turn of the loop, from the observer's stores to the report, where
// little or nothing has changed since the turn before: 15,000 nodes with 30 pods each, 40 % used (D2).
// B/op says what a turn allocates; live_MB is what the process keeps, and rss_MB what it has.
func BenchmarkCycle(b *testing.B) {
	var l *live
	for _, bm := range []struct {
		name   string
		change func(b *testing.B, l *live)
	}{
		{"same", func(*testing.B, *live) {}},
		{"read-again", func(b *testing.B, l *live) { l.readAgain(b) }},
		{"pod-changed", func(b *testing.B, l *live) { l.changePod(b) }},
		{"pod-waits", func(b *testing.B, l *live) { l.addPod(b) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			if l == nil {
				l = newLive(d2(15000, 0))
				for range 3 {
					l.turn(b)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				bm.change(b, l)
				l.turn(b)
			}
			b.StopTimer()
			inUse, resident := memory(b)
			b.ReportMetric(inUse, "live_MB")
			b.ReportMetric(resident, "rss_MB")
		})
	}
	if l != nil {
		l.stop()
	}
}

// live is the loop of the product over a cluster whose API server and cloud a benchmark plays. It does no
// write: whatever is planned ends as not begun.
type live struct {
	*loop.Loop
	observer *observe.Observer
	cloud    *sky
	watches  map[string]*watch.FakeWatcher
	pods     []*corev1.Pod
	now      time.Time
	stop     func()
	changed  int
}

func newLive(c *testkit.Cluster) *live {
	ctx, cancel := context.WithCancel(context.Background())
	l := &live{
		cloud:   &sky{asked: make(chan struct{}), answers: make(chan provider.Inventory), inventory: c.Inventory()},
		watches: map[string]*watch.FakeWatcher{"pods": watch.NewFake(), "nodes": watch.NewFake()},
		stop:    cancel, now: time.Now(),
	}
	client := fake.NewClientset()
	for kind, w := range l.watches {
		client.PrependWatchReactor(kind, clienttesting.DefaultWatchReactor(w, nil))
	}
	var nodes []apiruntime.Object
	for _, o := range c.Objects() {
		switch o := o.(type) {
		case *corev1.Pod:
			l.pods = append(l.pods, o)
		case *corev1.Node:
			nodes = append(nodes, o)
		default:
			_ = client.Tracker().Add(o)
		}
	}
	quiet := slog.New(slog.DiscardHandler)
	scan := observe.Settings{ScanInterval: time.Hour, InventoryDeadline: time.Hour}
	l.observer = observe.New(client, l.cloud, scan, quiet)
	go l.observer.Run(ctx)
	<-l.cloud.asked
	l.cloud.answers <- l.cloud.read()
	for _, o := range nodes {
		l.watches["nodes"].Add(o)
	}
	for _, o := range l.pods {
		l.watches["pods"].Add(o)
	}
	l.pods = slices.Clone(l.pods[:1000]) // the benchmark's own memory is not to count
	reporter := report.New(report.Silent(), report.Settings{}, quiet)
	l.Loop = loop.New(l.observer, idle{}, reporter, testkit.Policy(), func() time.Time { return l.now },
		ledger.New(testkit.Policy().Rules))
	return l
}

// turn is one turn of the loop, a hundredth of a second after the one before.
func (l *live) turn(b *testing.B) {
	l.now = l.now.Add(10 * time.Millisecond)
	if err := l.RunOnce(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// readAgain lets the cloud be read with the same answer. Only what happens after the answer is timed.
func (l *live) readAgain(b *testing.B) {
	b.StopTimer()
	l.cloud.notify()
	<-l.cloud.asked
	answer := l.cloud.read()
	b.StartTimer()
	l.cloud.answers <- answer
	if err := l.observer.WaitForInventory(b.Context(), answer.AsOf); err != nil {
		b.Fatal(err)
	}
}

// changePod lets a bound pod get another label that a budget or a selector might read.
func (l *live) changePod(b *testing.B) {
	b.StopTimer()
	l.changed++
	p := l.pods[l.changed%len(l.pods)].DeepCopy()
	p.Spec.Priority = new(int32(l.changed % 2))
	l.send(watch.Modified, p)
	b.StartTimer()
}

// addPod lets one more pod wait, which the scheduler has not looked at.
func (l *live) addPod(b *testing.B) {
	b.StopTimer()
	l.changed++
	p := l.pods[l.changed%len(l.pods)].DeepCopy()
	p.Name, p.Spec.NodeName = fmt.Sprintf("more-%d", l.changed), ""
	p.UID = types.UID(p.Name)
	l.send(watch.Added, p)
	b.StartTimer()
}

// send returns when the observer has taken in what the API server says: a watch is read one event after
// the other, and the second of these changes nothing.
func (l *live) send(kind watch.EventType, p *corev1.Pod) {
	l.watches["pods"].Action(kind, p)
	l.watches["pods"].Modify(p)
}

// memory is what the heap has in use, and what the process has of the machine's memory, in MB.
func memory(b *testing.B) (inUse, resident float64) {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return float64(m.HeapAlloc) / 1e6, pages * float64(os.Getpagesize()) / 1e6
}

// sky is a cloud that answers when it is told to.
type sky struct {
	inventory provider.Inventory
	asked     chan struct{}
	answers   chan provider.Inventory
	notify    func()
}

// read is an answer of its own: it shares no list with the one before.
func (s *sky) read() provider.Inventory {
	out := s.inventory
	out.AsOf, out.Groups = time.Now(), slices.Clone(out.Groups)
	for i := range out.Groups {
		out.Groups[i].Instances = slices.Clone(out.Groups[i].Instances)
	}
	return out
}

func (s *sky) Notify(ctx context.Context, changed func()) error {
	s.notify = changed
	<-ctx.Done()
	return nil
}

func (s *sky) Inventory(ctx context.Context) (provider.Inventory, error) {
	select {
	case s.asked <- struct{}{}:
	case <-ctx.Done():
		return provider.Inventory{}, ctx.Err()
	}
	select {
	case in := <-s.answers:
		return in, nil
	case <-ctx.Done():
		return provider.Inventory{}, ctx.Err()
	}
}

func (*sky) Grow(context.Context, provider.GrowRequest) (provider.GrowResult, error) {
	panic("a benchmark buys nothing")
}

func (*sky) Remove(context.Context, provider.RemoveRequest) (provider.RemoveResult, error) {
	panic("a benchmark removes nothing")
}

func (*sky) Cancel(context.Context, provider.CancelRequest) (provider.CancelResult, error) {
	panic("a benchmark cancels nothing")
}

// idle starts nothing.
type idle struct{}

func (idle) Start(context.Context, []model.Call) {}
func (idle) Collect() []model.Outcome            { return nil }
