package aws

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// apiError is a refusal as the SDK gives it.
func apiError(status int, code string) error {
	return &smithy.OperationError{ServiceID: "EKS", OperationName: "DescribeNodegroup", Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      &smithy.GenericAPIError{Code: code, Message: "no"},
	}}
}

var (
	errDenied    = apiError(403, "AccessDeniedException")
	errNotFound  = apiError(404, "ResourceNotFoundException")
	errThrottled = apiError(429, "ThrottlingException")
	errServer    = apiError(500, "ServerException")
)

// fakeEKS answers with what it is told, and counts.
type fakeEKS struct {
	mu     sync.Mutex
	calls  int
	now    int // under way
	peak   int
	delay  time.Duration
	answer nodegroup
	err    error
}

func (f *fakeEKS) ask(ctx context.Context, _ nodegroupKey) (nodegroup, error) {
	f.mu.Lock()
	f.calls++
	f.now++
	f.peak = max(f.peak, f.now)
	delay, answer, err := f.delay, f.answer, f.err
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.now--
		f.mu.Unlock()
	}()
	select {
	case <-time.After(delay):
		return answer, err
	case <-ctx.Done():
		return nodegroup{}, ctx.Err()
	}
}

func (f *fakeEKS) set(label string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer, f.err = nodegroup{labels: map[string]string{"is": label}}, err
}

// cached is a cache over a fake EKS, in virtual time, with its metric's counts.
func cached(f *fakeEKS) (*managedNodegroups, func(string) int64) {
	counts := map[string]*atomic.Int64{lookupHit: {}, lookupMiss: {}, lookupError: {}, lookupStale: {}}
	c := newManagedNodegroups(time.Minute, time.Now, func(r string) { counts[r].Add(1) }, f.ask)
	return c, func(r string) int64 { return counts[r].Load() }
}

var keyA = nodegroupKey{"cluster", "a"}

func wantLabel(t *testing.T, n *nodegroup, want string) {
	t.Helper()
	got := ""
	if n != nil {
		got = n.labels["is"]
	}
	if got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
}

func TestTC2CacheAnswersWithinItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{}
		f.set("first", nil)
		c, count := cached(f)
		for range 5 {
			n, err := c.get(t.Context(), keyA, false)
			if err != nil {
				t.Fatal(err)
			}
			wantLabel(t, n, "first")
			time.Sleep(10 * time.Second)
		}
		if f.calls != 1 || count(lookupHit) != 4 || count(lookupMiss) != 1 {
			t.Errorf("%d calls, %d hits, %d misses", f.calls, count(lookupHit), count(lookupMiss))
		}
	})
}

func TestTC3CacheAsksForWhatItHasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{}
		f.set("x", nil)
		c, _ := cached(f)
		for _, key := range []nodegroupKey{keyA, {"cluster", "b"}, {"other", "a"}} { // one name in two clusters
			n, _ := c.get(t.Context(), key, false)
			wantLabel(t, n, "x")
		}
		if f.calls != 3 {
			t.Errorf("%d calls for three node groups", f.calls)
		}
	})
}

func TestTC4CacheAsksAgainAfterItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{}
		f.set("first", nil)
		c, _ := cached(f)
		_, _ = c.get(t.Context(), keyA, false)
		f.set("second", nil)
		time.Sleep(59 * time.Second)
		n, _ := c.get(t.Context(), keyA, false)
		wantLabel(t, n, "first")
		time.Sleep(8 * time.Second) // a minute and a tenth, at most
		n, _ = c.get(t.Context(), keyA, false)
		wantLabel(t, n, "second")
		if f.calls != 2 {
			t.Errorf("%d calls", f.calls)
		}
	})
}

// TestTC5MissingPermissionFallsBackAtOnce, and is not asked for again and again;
// not found is the same. What was known does not outlive it.
func TestTC5MissingPermissionFallsBackAtOnce(t *testing.T) {
	for _, final := range []error{errDenied, errNotFound} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeEKS{}
			f.set("old", nil)
			c, count := cached(f)
			_, _ = c.get(t.Context(), keyA, false)
			time.Sleep(70 * time.Second)
			f.set("", final)
			for range 10 {
				n, err := c.get(t.Context(), keyA, false)
				if n != nil || !errors.Is(err, final) {
					t.Errorf("%v, %v", n, err)
				}
				time.Sleep(time.Second)
			}
			if f.calls != 2 || count(lookupError) != 1 {
				t.Errorf("%d calls, %d errors", f.calls, count(lookupError))
			}
			f.set("new", nil)
			time.Sleep(time.Minute)
			n, err := c.get(t.Context(), keyA, false)
			if err != nil {
				t.Error(err)
			}
			wantLabel(t, n, "new")
		})
	}
}

// TestTheLastGoodAnswerSurvivesTrouble: throttling, time-outs, server errors.
// Upstream keeps an empty answer instead.
func TestTheLastGoodAnswerSurvivesTrouble(t *testing.T) {
	for _, trouble := range []error{
		errThrottled, errServer, context.DeadlineExceeded, errors.New("connection reset by peer"),
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeEKS{}
			f.set("good", nil)
			c, count := cached(f)
			_, _ = c.get(t.Context(), keyA, false)
			f.set("", trouble)
			for range 30 { // five minutes of it
				time.Sleep(10 * time.Second)
				n, _ := c.get(t.Context(), keyA, false)
				wantLabel(t, n, "good")
			}
			if f.calls < 3 || f.calls > 12 || count(lookupStale) == 0 {
				t.Errorf("%d calls, %d stale answers", f.calls, count(lookupStale))
			}
			if n, err := c.get(t.Context(), nodegroupKey{"cluster", "new"}, false); n != nil || err == nil {
				t.Errorf("of a node group never seen: %v, %v", n, err)
			}
		})
	}
}

// TestCallersShareOneQuestion: fifty at once, and none holds up another group.
func TestCallersShareOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{delay: 2 * time.Second}
		f.set("x", nil)
		c, _ := cached(f)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				n, _ := c.get(t.Context(), keyA, false)
				wantLabel(t, n, "x")
			})
		}
		wg.Wait()
		if f.calls != 1 {
			t.Errorf("%d calls", f.calls)
		}
	})
}

// TestOneCallersEndIsNotTheOthersFailure: it gives up, they get their answer.
func TestOneCallersEndIsNotTheOthersFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{delay: 2 * time.Second}
		f.set("x", nil)
		c, _ := cached(f)
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun := time.Now()
			if n, err := c.get(ctx, keyA, false); n != nil || err == nil || time.Since(begun) != time.Second {
				t.Errorf("the caller that gave up: %v, %v after %s", n, err, time.Since(begun))
			}
		})
		synctest.Wait()
		wg.Go(func() {
			n, err := c.get(t.Context(), keyA, false)
			if err != nil {
				t.Error(err)
			}
			wantLabel(t, n, "x")
		})
		wg.Wait()
		if f.calls != 1 {
			t.Errorf("%d calls", f.calls)
		}
	})
}

// TestFewQuestionsAtOnce, and a slow EKS is given up.
func TestFewQuestionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{delay: time.Hour}
		c, _ := cached(f)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if n, err := c.get(t.Context(), nodegroupKey{"cluster", string(rune('a' + i))}, false); n != nil ||
					!errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, %v", n, err)
				}
			})
		}
		begun := time.Now()
		wg.Wait()
		if f.peak != askAtOnce || time.Since(begun) != 3*askPatience {
			t.Errorf("%d at once, in %s", f.peak, time.Since(begun))
		}
	})
}

// TestASilentEKSMakesOneReadLate: the first. The others take what there is, while
// EKS is asked in the background; and take its answer when it speaks again.
func TestASilentEKSMakesOneReadLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{}
		f.set("good", nil)
		c, _ := cached(f)
		_, _ = c.get(t.Context(), keyA, false)
		time.Sleep(70 * time.Second)
		f.mu.Lock()
		f.delay = time.Hour
		f.mu.Unlock()
		late := 0
		read := func() (*nodegroup, error) {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			n, err := c.get(ctx, keyA, false)
			if time.Since(begun) > 0 {
				late++
			}
			if n, err := c.get(ctx, nodegroupKey{"cluster", "new"}, false); n != nil || err == nil {
				t.Errorf("of one that was never described: %v, %v", n, err)
			}
			return n, err
		}
		for range 30 {
			n, _ := read()
			wantLabel(t, n, "good")
			time.Sleep(20 * time.Second)
		}
		f.mu.Lock()
		calls := f.calls
		f.delay = 0
		f.mu.Unlock()
		if late != 1 || calls < 10 {
			t.Errorf("%d of 30 reads are late, with %d calls", late, calls)
		}
		f.set("spoke", nil)
		time.Sleep(time.Minute)
		_, _ = c.get(t.Context(), keyA, false)
		synctest.Wait()
		n, err := c.get(t.Context(), keyA, false)
		if err != nil {
			t.Error(err)
		}
		wantLabel(t, n, "spoke")
	})
}

// TestGroupsWithNodesAreAskedOnce, and then seldom: the template comes from
// here, and must know the labels before the group has ever been at zero.
func TestGroupsWithNodesAreAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{}
		f.set("x", nil)
		c, _ := cached(f)
		for range 19 {
			n, _ := c.get(t.Context(), keyA, true)
			wantLabel(t, n, "x")
			time.Sleep(time.Minute)
		}
		if f.calls != 1 {
			t.Errorf("%d calls in 19 minutes", f.calls)
		}
		time.Sleep(2 * time.Minute)
		_, _ = c.get(t.Context(), keyA, true)
		if f.calls != 2 {
			t.Errorf("%d calls in 21 minutes", f.calls)
		}
	})
}

// TestTroubleIsNotLazy: a group with nodes that EKS could not be asked for is
// asked for again soon, and its trouble ends with EKS's.
func TestTroubleIsNotLazy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{}
		f.set("x", nil)
		c, _ := cached(f)
		_, _ = c.get(t.Context(), keyA, true)
		time.Sleep(70 * time.Second)
		f.set("", errServer)
		if _, err := c.get(t.Context(), keyA, false); err == nil { // its nodes are away for a moment
			t.Fatal("no error of EKS is told")
		}
		f.set("y", nil)
		time.Sleep(time.Minute)
		n, err := c.get(t.Context(), keyA, true)
		if err != nil {
			t.Errorf("EKS answers again, and is still reported as failing: %v", err)
		}
		wantLabel(t, n, "y")
	})
}

// TestAnswersDoNotFallDueTogether: a hundred groups that were asked in one
// moment spread over some seconds.
func TestAnswersDoNotFallDueTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{}
		c, _ := cached(f)
		ask := func() {
			for i := range 100 {
				_, _ = c.get(t.Context(), nodegroupKey{"cluster", string(rune('a' + i))}, false)
			}
		}
		ask()
		time.Sleep(time.Minute + 3*time.Second)
		ask()
		if again := f.calls - 100; again < 20 || again > 80 {
			t.Errorf("%d of 100 fell due in the first half of the tenth", again)
		}
	})
}

func TestForgetsWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEKS{}
		c, _ := cached(f)
		_, _ = c.get(t.Context(), keyA, false)
		c.forget(map[nodegroupKey]bool{keyA: true})
		c.forget(nil)
		if len(c.entries) > 0 {
			t.Error("it is still there")
		}
	})
}
