package ui

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// gate is the door with an API server that knows the tokens that begin with "good", but for one that is taken back.
type gate struct {
	allow    Allow
	reviewed []string
	revoked  string
}

func newGate() *gate {
	g := &gate{}
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		r := a.(k8stesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		g.reviewed = append(g.reviewed, r.Spec.Token)
		r.Status.Authenticated = strings.HasPrefix(r.Spec.Token, "good") && r.Spec.Token != g.revoked
		r.Status.User.Username = r.Spec.Token
		return true, r, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		r := a.(k8stesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		r.Status.Allowed = true
		return true, r, nil
	})
	g.allow = Ask(client)
	return g
}

// ask is the status of a request with a token from an address; 200 if it is let in.
func (g *gate) ask(t *testing.T, token, address string) int {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/state", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	r.RemoteAddr = address + ":1234"
	_, err := g.allow(r)
	refusal, refused := errors.AsType[*Refusal](err)
	switch {
	case err == nil:
		return http.StatusOK
	case !refused:
		t.Fatal(err)
	case refusal.Status == http.StatusTooManyRequests && (refusal.After <= 0 || refusal.After > failuresOf):
		t.Errorf("%v: ask again after %s", err, refusal.After)
	}
	return refusal.Status
}

// A stranger who sends one wrong token after the other is not asked about for long, and keeps out neither
// those who come from elsewhere, nor those who were let in before from the same address.
func TestStrangersKeepNoOneOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		expect := func(token, address string, want int) {
			t.Helper()
			if got := g.ask(t, token, address); got != want {
				t.Errorf("%s from %s: %d, not %d", token, address, got, want)
			}
		}
		expect("good-old", "10.0.0.9", 200)
		for i := range 1000 {
			want := http.StatusUnauthorized
			if i >= mostFailures {
				want = http.StatusTooManyRequests
			}
			expect(fmt.Sprintf("bad-%d", i), "10.0.0.9", want)
		}
		if len(g.reviewed) != 1+mostFailures {
			t.Errorf("%d tokens were reviewed", len(g.reviewed))
		}
		expect("good-old", "10.0.0.9", 200)
		expect("good-new", "10.0.0.8", 200)
		expect("good-new-there", "10.0.0.9", 429)
		time.Sleep(believed) // it is reviewed again, and not as a stranger's
		expect("good-old", "10.0.0.9", 200)
		time.Sleep(failuresOf)
		expect("good-new-there", "10.0.0.9", 200)
		if n := len(g.reviewed); n != 4+mostFailures {
			t.Errorf("%d tokens were reviewed", n)
		}
	})
}

// A token is believed for some seconds, and no longer.
func TestATokenThatIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		for i, want := range []int{200, 200, 401, 401} {
			if got := g.ask(t, "good", "10.0.0.9"); got != want {
				t.Errorf("request %d: %d", i, got)
			}
			g.revoked = "good"
			time.Sleep(believed - 2*time.Second)
		}
		if len(g.reviewed) != 3 {
			t.Errorf("reviewed: %q", g.reviewed)
		}
	})
}

// What the door remembers is bounded: addresses, tokens, and requests at a time.
func TestTheDoorIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(nil)
		for i := range mostReviews + 1 {
			if err := d.admit("10.0.0.9"); (err != nil) != (i == mostReviews) {
				t.Errorf("review %d at a time: %v", i+1, err)
			}
		}
		for i := range mostSources + 1 {
			address := fmt.Sprintf("10.1.%d.%d", i/256, i%256)
			if err := d.admit(address); err == nil {
				d.reviewed(address, true)
			}
		}
		if n := len(d.sources); n != mostSources {
			t.Errorf("%d addresses are remembered", n)
		}
		time.Sleep(failuresOf)
		if err := d.admit("10.2.0.1"); err != nil || len(d.sources) != 2 {
			t.Errorf("after a while: %v; %d addresses", err, len(d.sources))
		}
		for i := range 2 * mostKnown {
			d.remember([32]byte{byte(i), byte(i >> 8)}, guest{at: time.Now()})
		}
		if n := len(d.known); n != mostKnown {
			t.Errorf("%d tokens are remembered", n)
		}
		var last func()
		for range mostOfOne {
			leave, err := d.enter("ann")
			if err != nil {
				t.Fatal(err)
			}
			last = leave
		}
		if _, err := d.enter("ann"); err == nil {
			t.Error("one more request of ann")
		}
		if _, err := d.enter("bob"); err != nil {
			t.Error("ann keeps out bob:", err)
		}
		last()
		if _, err := d.enter("ann"); err != nil {
			t.Error("ann is kept out:", err)
		}
	})
}
