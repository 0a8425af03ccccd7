package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
)

// Code names why a request is refused.
type Code string

// The codes of refusals.
const (
	BadRequest       Code = "BadRequest"       // a value that cannot be read
	Unauthenticated  Code = "Unauthenticated"  // no bearer token, or one that is not valid
	Forbidden        Code = "Forbidden"        // the token's owner lacks the right
	WrongHost        Code = "WrongHost"        // the Host header does not name the loopback
	OtherSite        Code = "OtherSite"        // a browser asks for another site
	NotFound         Code = "NotFound"         // there is no such thing
	MethodNotAllowed Code = "MethodNotAllowed" // anything but GET and HEAD
	TooManyRequests  Code = "TooManyRequests"  // of this source, or of this user
	Busy             Code = "Busy"             // too much is asked at once, by all
	NotLeading       Code = "NotLeading"       // another process leads, or none
	NothingDecided   Code = "NothingDecided"   // the first decision is not made yet
	Unreachable      Code = "Unreachable"      // the API server could not be asked who may look
	Internal         Code = "Internal"         // a fault of the program
)

// Refusal is the answer to a request that gets no other one.
type Refusal struct {
	Status    int
	Code      Code
	Why, Hint string
	After     time.Duration // when to ask again; 0: that would not help
}

func (r *Refusal) Error() string { return r.Why }

// Failure is the answer where there is none.
type Failure struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Code       Code   `json:"code"`
	Message    string `json:"message"`
	// Hint is what to do about it.
	Hint string `json:"hint,omitempty"`
}

// refuse answers with why there is no other answer: below /api as JSON, elsewhere as text.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	refusal := s.refusalOf(r.Context(), err)
	h := w.Header()
	if refusal.After > 0 {
		h.Set("Retry-After", strconv.Itoa(int(refusal.After.Seconds()+0.999)))
	}
	switch refusal.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", "GET, HEAD")
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		reply(w, refusal.Status, refusal.failure())
		return
	}
	http.Error(w, refusal.failure().Text(), refusal.Status)
}

// Text is a failure in one line.
func (f Failure) Text() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint
}

func (r *Refusal) failure() Failure {
	return Failure{explain.APIVersion, "Failure", r.Code, r.Why, r.Hint}
}

// refusalOf makes a refusal of any error. One that is not expected is told in the log.
func (s *Server) refusalOf(ctx context.Context, err error) *Refusal {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	if ctx.Err() == nil {
		s.log.Error("a request could not be answered: please report it", "err", err)
	}
	return &Refusal{Status: http.StatusInternalServerError, Code: Internal, Why: err.Error(),
		Hint: "the autoscaler's log has more; please report it"}
}

// unable says why a process has nothing to show.
func (c scene) unable() *Refusal {
	refusal := &Refusal{Status: http.StatusServiceUnavailable, Code: NothingDecided, After: askAgain,
		Why: "nothing is decided yet", Hint: "the cluster is being read; ask again soon"}
	switch {
	case !c.leads && c.leader == "":
		refusal.Code, refusal.Why = NotLeading, "this process does not lead, and knows of none that does"
		refusal.Hint = "wait until one has the lease"
	case !c.leads:
		refusal.Code, refusal.Why = NotLeading, fmt.Sprintf("this process does not lead; %s does", c.leader)
		refusal.Hint, refusal.After = "ask that one: plimsoll ui finds it", 0
	}
	return refusal
}
