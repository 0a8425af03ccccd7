package ui

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// What the door keeps to.
const (
	believed  = 10 * time.Second // a token that was valid is not reviewed again
	knownFor  = 10 * time.Minute // and its reviews are not limited
	mostKnown = 1000

	mostReviews  = 4  // of tokens that are not known, at a time, of one address
	mostFailures = 10 // of such in failuresOf, of one address
	failuresOf   = time.Minute
	mostSources  = 10_000

	mostOfOne = 20 // requests of one user at a time
)

// door finds out who sends a token. Strangers with tokens that are not valid are limited by the address that they come
// from, so that they neither shut out those with valid ones nor flood the API server.
type door struct {
	client kubernetes.Interface

	mu      sync.Mutex
	known   map[[sha256.Size]byte]guest
	sources map[string]*source
	inside  map[string]int // requests under way, by user
}

// guest is who sent a token that was valid at a time.
type guest struct {
	user authenticationv1.UserInfo
	at   time.Time
}

// source is an address that tokens come from which are not known.
type source struct {
	reviews, failures int
	since             time.Time // of the first failure
}

func newDoor(client kubernetes.Interface) *door {
	return &door{client: client, known: map[[sha256.Size]byte]guest{}, sources: map[string]*source{},
		inside: map[string]int{}}
}

// user is who sends a token.
func (d *door) user(ctx context.Context, token, address string) (authenticationv1.UserInfo, error) {
	key := sha256.Sum256([]byte(token))
	d.mu.Lock()
	g, known := d.known[key]
	d.mu.Unlock()
	age := time.Since(g.at)
	if known && age < believed {
		return g.user, nil
	}
	if !known || age >= knownFor {
		if err := d.admit(address); err != nil {
			return g.user, err
		}
	} else {
		address = "" // is not limited
	}
	review, err := d.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	d.mu.Lock()
	defer d.mu.Unlock()
	valid := err == nil && review.Status.Authenticated
	d.reviewed(address, err == nil && !valid)
	switch {
	case err != nil:
		return g.user, fmt.Errorf("review a bearer token: %w", err)
	case !valid:
		delete(d.known, key)
		return g.user, unauthenticated("the bearer token is not valid")
	}
	d.remember(key, guest{review.Status.User, time.Now()})
	return review.Status.User, nil
}

// admit counts a review for an address, unless it has too many.
func (d *door) admit(address string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sources[address]
	if s == nil {
		if len(d.sources) >= mostSources {
			maps.DeleteFunc(d.sources, func(_ string, s *source) bool { return s.idle() })
		}
		if len(d.sources) >= mostSources {
			return tooMany("tokens come from too many addresses", failuresOf)
		}
		s = &source{}
		d.sources[address] = s
	}
	if time.Since(s.since) >= failuresOf {
		s.failures = 0
	}
	switch {
	case s.failures >= mostFailures:
		return tooMany(fmt.Sprintf("%d bearer tokens from %s were not valid within %s", s.failures, address, failuresOf),
			failuresOf-time.Since(s.since))
	case s.reviews == mostReviews:
		return tooMany(fmt.Sprintf("%d bearer tokens from %s are being reviewed", s.reviews, address), askAgain)
	}
	s.reviews++
	return nil
}

// idle reports whether nothing of the address counts any more.
func (s *source) idle() bool { return s.reviews == 0 && time.Since(s.since) >= failuresOf }

// reviewed ends a review that was admitted. The lock is held.
func (d *door) reviewed(address string, failed bool) {
	s := d.sources[address]
	if s == nil {
		return
	}
	s.reviews--
	if failed {
		if s.failures == 0 {
			s.since = time.Now()
		}
		s.failures++
	}
	if s.failures == 0 && s.reviews == 0 {
		delete(d.sources, address)
	}
}

// remember keeps a guest, unless there are too many. The lock is held.
func (d *door) remember(key [sha256.Size]byte, g guest) {
	if _, known := d.known[key]; !known && len(d.known) >= mostKnown {
		maps.DeleteFunc(d.known, func(_ [sha256.Size]byte, g guest) bool { return time.Since(g.at) >= knownFor })
		if len(d.known) >= mostKnown {
			return
		}
	}
	d.known[key] = g
}

// enter counts a request of a user until the returned function is called.
func (d *door) enter(user string) (leave func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside[user] == mostOfOne {
		return nil, tooMany(fmt.Sprintf("%d requests of %s wait for the API server's word", mostOfOne, user), askAgain)
	}
	d.inside[user]++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.inside[user]--; d.inside[user] == 0 {
			delete(d.inside, user)
		}
	}, nil
}

func tooMany(why string, after time.Duration) *Refusal {
	return &Refusal{Status: http.StatusTooManyRequests, Code: TooManyRequests, Why: why, After: after,
		Hint: "ask again later, with a token that is valid"}
}
