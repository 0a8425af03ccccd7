package observe

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// source is one kind of object, listed and watched for as long as the observer runs. It remembers
// the last failure, to report what could not be read.
type source struct {
	resource string
	lister   cache.ListerWatcher
	example  runtime.Object
	into     cache.ReflectorStore
	log      *slog.Logger
	// without says how the observer works without the permission to read the kind; empty: the kind
	// is required.
	without string

	mu       sync.Mutex
	synced   bool
	filledAt time.Time          // when it was last read in full
	failing  map[string]failure // by verb
}

// failure is an attempt that has not succeeded since.
type failure struct {
	err   error
	since time.Time
}

// Retries begin quickly and stay quick: after an outage of the API server the
// cluster is seen again within seconds.
var retries = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 5 * time.Second}

// api is how one kind is listed and watched through its typed client. The whole client says
// whether it can stream a list (a fake one cannot); fields narrows what is read.
type api[L runtime.Object] struct {
	client any
	list   func(context.Context, metav1.ListOptions) (L, error)
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	fields string
}

// newSource prepares the watch of one kind.
func newSource[L runtime.Object](
	resource string, a api[L], example runtime.Object, into cache.ReflectorStore, log *slog.Logger,
) *source {
	s := &source{resource: resource, example: example, into: into, log: log, failing: map[string]failure{}}
	s.lister = cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = a.fields
			list, err := a.list(ctx, o)
			s.record("list", err)
			if err != nil {
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = a.fields
			w, err := a.watch(ctx, o)
			s.record("watch", err)
			return w, err
		},
	}, a.client)
	return s
}

// run lists and watches until ctx ends.
func (s *source) run(ctx context.Context) {
	backoff := retries
	r := cache.NewReflectorWithOptions(s.lister, s.example, tracked{s.into, s}, cache.ReflectorOptions{
		Name: s.resource, Backoff: &backoff,
	})
	// The condition never ends the loop and never fails: only ctx ends it.
	_ = retries.DelayWithReset(clock.RealClock{}, time.Minute).Until(ctx, true, true,
		func(ctx context.Context) (bool, error) {
			if err := r.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil {
				s.log.Debug("watch ended, listing again", "resource", s.resource, "err", err)
			}
			return false, nil
		})
}

// record notes the end of an attempt, and logs once when attempts begin to fail and once when they
// succeed again. An expired watch is normal.
func (s *source) record(verb string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, wasFailing := s.failing[verb]
	switch {
	case err == nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		s.recovered(verb)
	case wasFailing:
		s.failing[verb] = failure{err, was.since}
	default:
		s.failing[verb] = failure{err, time.Now()}
		// An older server refuses to stream a list; the list itself follows.
		if !apierrors.IsInvalid(err) {
			s.log.Warn("cannot read the cluster", "verb", verb, "resource", s.resource, "err", err)
		}
	}
}

// recovered forgets a failure. The lock must be held.
func (s *source) recovered(verb string) {
	if was, ok := s.failing[verb]; ok {
		delete(s.failing, verb)
		s.log.Info("reading the cluster works again", "verb", verb, "resource", s.resource, "after",
			time.Since(was.since).Round(time.Millisecond))
	}
}

// filled notes that the kind has been read in full, as a list or as a stream: after a failed list,
// a stream may succeed without another list.
func (s *source) filled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced, s.filledAt = true, time.Now()
	s.recovered("list")
}

// ready reports whether the kind has been read in full and is being watched.
func (s *source) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced && len(s.failing) == 0
}

// seen reports whether the kind has been read in full at least once.
func (s *source) seen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

// or makes a kind optional: it may be unread where the permission is missing.
func (s *source) or(without string) *source {
	s.without = without
	return s
}

// spared reports whether the observer works without the kind, since the server refuses it.
func (s *source) spared(now time.Time) bool {
	denied, _ := s.problem(now)
	return s.without != "" && denied >= deniedFor
}

// asOf is the time of the picture of a kind that cannot be read or watched: when the failure began,
// or the last full read if that is later.
func (s *source) asOf() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var since time.Time
	for _, f := range s.failing {
		if since.IsZero() || f.since.Before(since) {
			since = f.since
		}
	}
	if s.filledAt.After(since) {
		return s.filledAt
	}
	return since
}

// problem is what keeps the kind from being read, nil for nothing. denied is how long the server
// has been refusing, zero if it is not.
func (s *source) problem(now time.Time) (denied time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, verb := range []string{"list", "watch"} {
		f, ok := s.failing[verb]
		if !ok {
			continue
		}
		hint := ""
		if apierrors.IsForbidden(f.err) || apierrors.IsUnauthorized(f.err) {
			denied = now.Sub(f.since)
			hint = " (grant get, list and watch on " + s.resource + " to Plimsoll's service account)"
		}
		return denied, fmt.Errorf("cannot %s %s: %w%s", verb, s.resource, f.err, hint)
	}
	if !s.synced {
		return 0, fmt.Errorf("%s have not been listed yet", s.resource)
	}
	return 0, nil
}

// tracked tells the source when its store has been filled for the first time.
type tracked struct {
	cache.ReflectorStore
	source *source
}

// Replace fills the store with a complete list.
func (t tracked) Replace(items []any, version string) error {
	err := t.ReflectorStore.Replace(items, version)
	if err == nil {
		t.source.filled()
	}
	return err
}

// Transformer cuts objects down as they arrive, so that a long list is never
// held in full.
func (t tracked) Transformer() cache.TransformFunc {
	if tr, ok := t.ReflectorStore.(cache.TransformingStore); ok {
		return tr.Transformer()
	}
	return nil
}

// intake is the store behind a reflector: it turns each object into a row and
// passes it on. It keeps nothing itself.
type intake[In runtime.Object, Row metav1.ObjectMetaAccessor] struct {
	// cut turns an object into its row. If both have one type, cutting twice must be harmless.
	cut     func(In) Row
	put     func(Row)
	drop    func(cache.ObjectName)
	replace func([]Row)
}

func (s intake[In, Row]) row(obj any) (Row, error) {
	switch v := obj.(type) {
	case In:
		return s.cut(v), nil
	case Row:
		return v, nil
	default:
		var none Row
		return none, fmt.Errorf("a watch delivered a %T where a %T was expected", obj, none)
	}
}

// Add stores an object.
func (s intake[In, Row]) Add(obj any) error {
	row, err := s.row(obj)
	if err != nil {
		return err
	}
	s.put(row)
	return nil
}

// Update stores an object.
func (s intake[In, Row]) Update(obj any) error { return s.Add(obj) }

// Delete forgets an object.
func (s intake[In, Row]) Delete(obj any) error {
	name, err := cache.ObjectToName(obj)
	if err != nil {
		return err
	}
	s.drop(name)
	return nil
}

// Replace stores exactly the given objects.
func (s intake[In, Row]) Replace(items []any, _ string) error {
	rows := make([]Row, 0, len(items))
	for _, obj := range items {
		row, err := s.row(obj)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	s.replace(rows)
	return nil
}

// Resync does nothing: there is no second store to bring in line.
func (s intake[In, Row]) Resync() error { return nil }

// Transformer makes rows of what a streamed list delivers.
func (s intake[In, Row]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.row(obj) }
}
