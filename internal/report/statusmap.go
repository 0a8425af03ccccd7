package report

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
)

const (
	// statusPace is the least time between two writes.
	statusPace = time.Second
	// statusPatience bounds the time between two tries of a write that fails.
	statusPatience = 30 * time.Second
	// statusDeadline is how long one write may take.
	statusDeadline = 10 * time.Second
	// statusTries is how often one write is tried while others change the ConfigMap.
	statusTries = 3
)

// StatusWriter keeps the status ConfigMap up to date while a process leads. Only
// the newest cycle counts; a change is written within about a second, and times
// alone once per interval.
type StatusWriter struct {
	maps            typedcorev1.ConfigMapInterface
	namespace, name string
	interval        time.Duration
	may             func() error
	failed          func()
	log             *slog.Logger

	mu      sync.Mutex
	newest  offer
	offered chan struct{} // holds one

	// The rest belongs to Run, and after it to Close.
	last          *corev1.ConfigMap // as last written or read; nil: to be read
	written       status.Document   // what was last written, but for times
	writtenMemory string
	writtenAt     time.Time // when
	taken         uint64    // the offer that was last written
	tried         time.Time
	rest          time.Duration // after failures, longer than statusPace
	failing       bool
	shortened     bool  // a log line said that the memory is cut
	unkept        error // why the newest memory was not written, as logged
}

// offer is what to write. Without a memory, the one in the ConfigMap stays.
type offer struct {
	number   uint64
	document status.Document
	memory   *model.Memory
}

// KeepStatus makes the writer of the status ConfigMap, and hands it every cycle from now on. The
// caller runs it. may reports whether this process still leads; before is the previous leader's
// document.
func (r *Reporter) KeepStatus(client kubernetes.Interface, may func() error, before status.Document) *StatusWriter {
	w := &StatusWriter{
		maps: client.CoreV1().ConfigMaps(r.settings.Namespace), namespace: r.settings.Namespace,
		name:     r.settings.StatusConfigMap,
		interval: r.settings.StatusInterval, may: may, failed: r.metrics.apiCallFailed, log: r.log,
		offered: make(chan struct{}, 1), rest: statusPace,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writer, r.document = w, before
	w.offer(r.stated(status.Starting(time.Now())), nil)
	return w
}

// offer hands over the newest state. It never waits.
func (w *StatusWriter) offer(d status.Document, memory *model.Memory) {
	w.mu.Lock()
	w.newest = offer{w.newest.number + 1, d, memory}
	w.mu.Unlock()
	select {
	case w.offered <- struct{}{}:
	default:
	}
}

// Run writes until ctx ends.
func (w *StatusWriter) Run(ctx context.Context) {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.offered:
		case <-again.C:
		}
		again.Stop()
		if wait := w.writeIfDue(ctx); wait > 0 {
			again.Reset(wait)
		}
	}
}

// Close writes once more, at a clean end, and waits for it. Run must have
// returned.
func (w *StatusWriter) Close(ctx context.Context) error {
	w.mu.Lock()
	o := w.newest
	w.mu.Unlock()
	if o.memory != nil {
		closed := *o.memory
		closed.Closed = true
		o.memory = &closed
	}
	document, memory, err := w.render(o)
	if err == nil {
		err = w.write(ctx, document, o.document.Time, memory)
	}
	if err == nil {
		err = w.unkept
	}
	if err != nil {
		return fmt.Errorf("write the ConfigMap %s/%s for the last time: %w", w.namespace, w.name, err)
	}
	return nil
}

// writeIfDue writes if there is something to write. It returns when to try again by itself, 0 for
// never.
func (w *StatusWriter) writeIfDue(ctx context.Context) (again time.Duration) {
	w.mu.Lock()
	o := w.newest
	w.mu.Unlock()
	if o.number == w.taken {
		return 0
	}
	// 1. Not too often.
	now := time.Now()
	if wait := w.tried.Add(w.rest).Sub(now); wait > 0 {
		return wait
	}
	w.tried = now
	// 2. Not for times alone, before the interval is over.
	document, memory, err := w.render(o)
	if err != nil {
		return w.outage(err)
	}
	timeless := o.document.WithoutTimes()
	same := memory == w.writtenMemory && equalities.DeepEqual(timeless, w.written)
	if wait := w.writtenAt.Add(w.interval).Sub(now); same && wait > 0 {
		return wait
	}
	// 3. Only while this process leads.
	err = w.write(ctx, document, o.document.Time, memory)
	var lost notLeading
	switch {
	case errors.As(err, &lost):
		w.log.Debug("the status ConfigMap is left to the process that leads", "err", err)
		w.taken = o.number
		return 0
	case ctx.Err() != nil:
		return 0
	case err != nil:
		return w.outage(err)
	}
	if w.failing {
		w.log.Info("the status ConfigMap is written again", "configmap", w.namespace+"/"+w.name)
	}
	w.failing, w.rest = false, statusPace
	w.written, w.writtenMemory, w.writtenAt, w.taken = timeless, memory, now, o.number
	return 0
}

// outage takes note of a write that failed. It is logged once, and tried again less and less often.
func (w *StatusWriter) outage(err error) (again time.Duration) {
	w.failed()
	if !w.failing {
		w.log.Warn("the status ConfigMap could not be written; it is tried again, and cycles go on meanwhile. If the "+
			"process ends now, its timers begin again",
			"configmap", w.namespace+"/"+w.name, "err", err, "hint", mapHint(err, w.namespace, w.name))
	}
	w.failing = true
	w.rest = min(2*w.rest, statusPatience)
	return w.rest
}

// render makes the texts of an offer. A memory that does not fit is shortened. If that does not
// help, it is empty: the document is written, and the former memory stays with its time.
func (w *StatusWriter) render(o offer) (document, memory string, err error) {
	if document, err = o.document.Text(); err != nil {
		return "", "", fmt.Errorf("render the document: %w", err)
	}
	if o.memory == nil {
		return document, "", nil
	}
	memory, dropped, err := status.EncodeMemory(*o.memory)
	if err != nil {
		if w.unkept == nil {
			w.log.Warn("the memory does not fit, and is not written until it does; if the process ends before, the next one "+
				"finds out from the cloud what boots, and timers begin again",
				"configmap", w.namespace+"/"+w.name, "err", err)
		}
		w.unkept = fmt.Errorf("render the memory: %w", err)
		return document, "", nil
	}
	w.unkept = nil
	if dropped.Unneeded+dropped.Arrivals > 0 && !w.shortened {
		w.shortened = true
		w.log.Warn("the memory does not fit into an annotation as a whole; after a restart, the nodes that were unneeded "+
			"for the shortest time will start to wait again, and a scale-up that does not help may be repeated once",
			"unneeded_left_out", dropped.Unneeded, "of", len(o.memory.Unneeded), "arrivals_left_out", dropped.Arrivals)
	}
	return document, memory, nil
}

// write creates or updates the ConfigMap. It keeps what others have put there.
func (w *StatusWriter) write(ctx context.Context, document, made, memory string) error {
	ctx, cancel := context.WithTimeout(ctx, statusDeadline)
	defer cancel()
	var err error
	for range statusTries {
		// 1. Read the ConfigMap, unless it is known.
		if w.last == nil {
			if w.last, err = w.maps.Get(ctx, w.name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
				w.last, err = nil, nil
			} else if err != nil {
				w.last = nil
				return fmt.Errorf("read it: %w", err)
			}
		}
		// 2. Does this process still lead? Another one may have written since.
		if err := w.may(); err != nil {
			return notLeading{err}
		}
		// 3. Write. The API server refuses an update of what has changed since it was read.
		var written *corev1.ConfigMap
		if w.last == nil {
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.name}}
			status.Put(m, document, made, memory)
			written, err = w.maps.Create(ctx, m, metav1.CreateOptions{})
		} else {
			m := w.last.DeepCopy()
			status.Put(m, document, made, memory)
			written, err = w.maps.Update(ctx, m, metav1.UpdateOptions{})
		}
		if err == nil {
			w.last = written
			return nil
		}
		w.last = nil
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return err
}

// notLeading is the error of a process that has lost the lead.
type notLeading struct{ why error }

func (e notLeading) Error() string { return "this process does not lead: " + e.why.Error() }
func (e notLeading) Unwrap() error { return e.why }

// mapHint says what a person can do about an error on the status ConfigMap.
func mapHint(err error, namespace, name string) string {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("grant get and update on the ConfigMap %s, and create on ConfigMaps, in the namespace %s; or "+
			"set --write-status-configmap=false", name, namespace)
	case apierrors.IsUnauthorized(err):
		return "the API server does not know these credentials; renew them"
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("is there a namespace %s? --namespace names it", namespace)
	case apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsInvalid(err):
		return "the API server rejects the content; if others write into the same ConfigMap, remove what they wrote"
	}
	status := apierrors.APIStatus(nil)
	if errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError {
		return ServerFault
	}
	return "does the API server answer?"
}

// ServerFault is what a person can do where the API server has answered that it cannot.
const ServerFault = "the API server has answered, and could not do it: try again, and look into its log"

// StatusMap reads the status ConfigMap. An error says what a person can do; for
// one that is not there, apierrors.IsNotFound holds.
func StatusMap(ctx context.Context, client kubernetes.Interface, namespace, name string) (*corev1.ConfigMap, error) {
	m, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return m, nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf(
			"there is no ConfigMap %s/%s; does an autoscaler run with --namespace=%s, --status-config-map-name=%s and "+
				"--write-status-configmap? %w",
			namespace, name, namespace, name, err)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("read the ConfigMap %s/%s: %w; the permission to get it is missing", namespace, name, err)
	default:
		return nil, fmt.Errorf("read the ConfigMap %s/%s: %w; %s", namespace, name, err, mapHint(err, namespace, name))
	}
}

// Left is what the previous leader left in the status ConfigMap.
type Left struct {
	Document status.Document
	Memory   model.Memory
}

// ReadLeft reads what the previous leader left, before the loop begins. A missing ConfigMap is no
// error. What cannot be parsed is empty, and the error says why. A read that fails is tried again
// until ctx ends, unless a retry cannot help.
func ReadLeft(ctx context.Context, client kubernetes.Interface, namespace, name string) (Left, error) {
	var m *corev1.ConfigMap
	for {
		var err error
		if m, err = StatusMap(ctx, client, namespace, name); err == nil {
			break
		}
		if apierrors.IsNotFound(err) {
			return Left{}, nil
		}
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return Left{}, err
		}
		select {
		case <-ctx.Done():
			return Left{}, err
		case <-time.After(statusPace):
		}
	}
	return LeftIn(m)
}

// LeftIn is what a status ConfigMap has of it.
func LeftIn(m *corev1.ConfigMap) (Left, error) {
	var left Left
	// A document that cannot be parsed only costs the times since when states hold. The Cluster
	// Autoscaler's can be parsed.
	if d, _, err := status.DocumentIn(m); err == nil {
		left.Document = d
	}
	memory, err := status.MemoryIn(m)
	left.Memory = memory
	return left, err
}

// equalities compares documents: nil and empty are the same, and a time is the same in any zone.
var equalities = conversion.EqualitiesOrDie(
	func(a, b time.Time) bool { return a.Equal(b) },
	func(a, b metav1.Time) bool { return a.Equal(&b) },
)
