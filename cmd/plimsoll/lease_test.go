package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// TestTheLeaseIsHeldUntilLeadingHasEnded: a renewal that failed makes the election give the
// lease away, while the writes that were begun may be under way.
func TestTheLeaseIsHeldUntilLeadingHasEnded(t *testing.T) {
	client := fake.NewClientset()
	lock := &resourcelock.LeaseLock{Client: client.CoordinationV1()}
	lock.LeaseMeta.Namespace, lock.LeaseMeta.Name = "kube-system", "cluster-autoscaler"
	var inLead atomic.Bool
	l := lease{lock, "kube-system", "cluster-autoscaler", false, &inLead}
	if err := l.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		leads  bool
		holder string
		held   string // by whom, afterwards
	}{
		{"renewed", true, "a", "a"},
		{"given away in the middle", true, "", "a"},
		{"given away at the end", false, "", ""},
		{"got by another", false, "b", "b"},
	} {
		inLead.Store(c.leads)
		err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: c.holder})
		// a conflict is tried again at once
		if refused := c.held != c.holder; refused != (err != nil) || apierrors.IsConflict(err) {
			t.Errorf("%s: %v", c.name, err)
		}
		record, _, err := l.Get(t.Context())
		if err != nil || record.HolderIdentity != c.held {
			t.Errorf("%s: held by %q, want %q, %v", c.name, record.HolderIdentity, c.held, err)
		}
	}
}

// leaseServer is an API server that has one Lease, as a client's transport. While it is out
// it answers nothing.
type leaseServer struct {
	mu    sync.Mutex
	lease *coordinationv1.Lease
	out   bool
}

func (s *leaseServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := func(code int, of any) (*http.Response, error) {
		body, err := json.Marshal(of)
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
	}
	switch {
	case s.out:
		return nil, errors.New("no route to host")
	case r.Method == http.MethodGet && s.lease == nil:
		return answer(http.StatusNotFound,
			apierrors.NewNotFound(coordinationv1.Resource("leases"), "cluster-autoscaler").Status())
	case r.Method != http.MethodGet:
		s.lease = &coordinationv1.Lease{}
		if err := json.NewDecoder(r.Body).Decode(s.lease); err != nil {
			return nil, err
		}
	}
	return answer(http.StatusOK, s.lease)
}

func (s *leaseServer) set(out bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = out
}

// holder is who has the Lease, empty if no process has it.
func (s *leaseServer) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil || s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.lease.Spec.HolderIdentity
}

// TestElected: the lease is held until what was begun under it has ended, whether the
// process is asked to end or cannot renew it any more; and given away only if it led on.
func TestElected(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(s *leaseServer, stop func()) // after 19 s of leading
		lost bool
		held bool // after the end
	}{
		{"asked to end", func(_ *leaseServer, stop func()) { stop() }, false, false},
		{"an outage", func(s *leaseServer, _ func()) {
			// The last renewal was at 18 s. From 21 s on they fail; at 31 s the election
			// gives up, and is answered again.
			s.set(true)
			time.AfterFunc(11500*time.Millisecond, func() { s.set(false) })
		}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &leaseServer{}
				conf := config.Config{}
				conf.Leader.Namespace, conf.Leader.Name = "kube-system", "cluster-autoscaler"
				conf.Leader.LeaseDuration, conf.Leader.RenewDeadline, conf.Leader.RetryPeriod = 15*time.Second,
					10*time.Second, 3*time.Second
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				time.AfterFunc(19*time.Second, func() { c.end(server, stop) })
				led := false
				rc := &rest.Config{
					Host: "http://api", Transport: server, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
				}
				err := elected(ctx, conf, config.Mode{}, rc, slog.New(
					slog.DiscardHandler,
				), leading{noted: func(string, bool) {}, lead: func(ctx context.Context, may func() error) error {
					led = true
					if err := may(); err != nil {
						t.Errorf("it leads, and must not: %v", err)
					}
					select {
					case <-ctx.Done():
					case <-time.After(time.Hour):
						t.Error("it leads on")
					}
					time.Sleep(5 * time.Second) // the write under way ends
					if server.holder() == "" {
						t.Error("the lease was given away while a write was under way")
					}
					if lost, ok := errors.AsType[lostLease](context.Cause(ctx)); ok {
						return lost
					}
					return nil
				}})
				_, lost := errors.AsType[lostLease](err)
				if !led || lost != c.lost || (err != nil) != c.lost {
					t.Errorf("led: %v, got %v", led, err)
				}
				if held := server.holder() != ""; held != c.held {
					t.Errorf("held: %v, want %v", held, c.held)
				}
			})
		})
	}
}

// TestAForbiddenLease: an error on a Lease says what to grant; other errors
// stay as they are, and all can be told apart as before.
func TestAForbiddenLease(t *testing.T) {
	for _, c := range []struct {
		name     string
		observes bool
		says     []string
	}{
		{"plimsoll-observe", true, []string{"observer", "kube-system", "plimsoll-observe", "docs/observe.md#rights"}},
		{"mine-observe", true, []string{"observer", "mine-observe", "docs/observe.md#rights"}},
		{"cluster-autoscaler", false, []string{"kube-system", "cluster-autoscaler", "docs/install.md#rights"}},
		{"team-observe", false, []string{"team-observe", "docs/install.md#rights"}}, // its name is no matter
	} {
		client := fake.NewClientset()
		lock := &resourcelock.LeaseLock{Client: client.CoordinationV1()}
		lock.LeaseMeta.Namespace, lock.LeaseMeta.Name = "kube-system", c.name
		l := lease{lock, "kube-system", c.name, c.observes, new(atomic.Bool)}
		if _, _, err := l.Get(t.Context()); !apierrors.IsNotFound(err) || strings.Contains(err.Error(), "docs/") {
			t.Errorf("of a Lease that is not there: %v", err)
		}
		if err := l.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a"}); err != nil {
			t.Fatal(err)
		}
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(coordinationv1.Resource("leases"), c.name, nil)
		})
		_, _, got := l.Get(t.Context())
		for verb, err := range map[string]error{
			"get": got, "create": l.Create(t.Context(), resourcelock.LeaderElectionRecord{}),
			"update": l.Update(t.Context(), resourcelock.LeaderElectionRecord{}),
		} {
			if !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v", verb, err)
			}
			for _, words := range c.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%s of %s: got %v, want it to say %q", verb, c.name, err, words)
				}
			}
		}
	}
}
