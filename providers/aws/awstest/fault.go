package awstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Mishap is what befalls a request.
type Mishap string

// The mishaps. Those in the first block are answers, in the service's own words.
const (
	Throttled      Mishap = "throttled"
	Denied         Mishap = "denied"
	ExpiredToken   Mishap = "expired-token"
	BadCredentials Mishap = "bad-credentials"
	ServerError    Mishap = "server-error" // 500
	Unavailable    Mishap = "unavailable"  // 503
	Busy           Mishap = "busy"         // ScalingActivityInProgress
	Answer         Mishap = "answer"       // the fault's Status, Code and Message

	Hang      Mishap = "hang"       // no answer until the client goes
	Cut       Mishap = "cut"        // the connection is closed without an answer
	Truncated Mishap = "truncated"  // it is closed in the middle of the answer
	Garbled   Mishap = "garbled"    // 200, and a page that is not AWS's
	EmptyBody Mishap = "empty-body" // 200, and nothing
	EmptyList Mishap = "empty-list" // 200, and a well-formed answer with nothing in it
)

var mishaps = []Mishap{"", Throttled, Denied, ExpiredToken, BadCredentials, ServerError, Unavailable, Busy, Answer,
	Hang, Cut, Truncated, Garbled, EmptyBody, EmptyList}

// Fault is a disturbance on demand, of requests that match. Without a Mishap it
// only delays, and calls Met: a hook.
type Fault struct {
	// Action is the API's name of it, such as SetDesiredCapacity; empty is any.
	Action string `json:"action,omitempty"`
	// On is a name that the request mentions: an Auto Scaling group (by an
	// instance of it, too), a launch template or configuration, an instance
	// type, an image, or a node group as cluster/name. Empty is any. A listing
	// by filters or without any mentions no group.
	On     string `json:"on,omitempty"`
	Mishap Mishap `json:"mishap,omitempty"`
	// After lets the effect take place first.
	After bool `json:"after,omitempty"`
	// Times is how many requests are met; 0 means all, until ClearFaults.
	Times int `json:"times,omitempty"`
	// Delay is in real time, before anything else: as text, "1.5s", in JSON.
	Delay time.Duration `json:"-"`
	// Status is 400 if 0.
	Status  int    `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Met, if set, is called as a request meets the fault: before the effect, or
	// after it with After. It may use the Cloud.
	Met func() `json:"-"`
}

type plainFault Fault

type jsonFault struct {
	plainFault
	Delay string `json:"delay,omitempty"`
}

// MarshalJSON writes the delay as text.
func (f Fault) MarshalJSON() ([]byte, error) {
	out := jsonFault{plainFault: plainFault(f)}
	if f.Delay > 0 {
		out.Delay = f.Delay.String()
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes, and refuses a mishap that there
// is not.
func (f *Fault) UnmarshalJSON(text []byte) error {
	var in jsonFault
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*f = Fault(in.plainFault)
	if !slices.Contains(mishaps, f.Mishap) {
		return fmt.Errorf("read a fault: there is no mishap %q; there are %q", f.Mishap, mishaps[1:])
	}
	if in.Delay == "" {
		return nil
	}
	var err error
	if f.Delay, err = time.ParseDuration(in.Delay); err != nil {
		return fmt.Errorf("read a fault's delay: %w", err)
	}
	return nil
}

// faultList are the faults that are armed.
type faultList struct {
	mu    sync.Mutex
	armed []*Fault
}

// Arm adds a fault. Of several that match, the one that was armed first meets
// the request.
func (c *Cloud) Arm(f Fault) {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	c.faults.armed = append(c.faults.armed, &f)
}

// ClearFaults ends all faults; requests that hang go on doing so.
func (c *Cloud) ClearFaults() {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	c.faults.armed = nil
}

// meet finds the first fault that matches, and counts it.
func (l *faultList) meet(action string, mentions []string) (Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, f := range l.armed {
		if f.Action != "" && f.Action != action || f.On != "" && !slices.Contains(mentions, f.On) {
			continue
		}
		met := *f
		if f.Times == 1 {
			l.armed = slices.Delete(l.armed, i, i+1)
		}
		if f.Times > 1 {
			f.Times--
		}
		return met, true
	}
	return Fault{}, false
}

// refusal gives the mishaps that are answers, as each service words them. The
// codes are of the services' CommonErrors pages, of EC2's errors-overview and of
// the reports named; EKS's are of
// https://docs.aws.amazon.com/eks/latest/APIReference/CommonErrors.html
func (f Fault) refusal(q *query) *refusal {
	by := func(autoscaling, ec2, eks refusal) *refusal {
		switch q.service {
		case elasticCompute:
			return &ec2
		case kubernetes:
			return &eks
		}
		return &autoscaling
	}
	const bad, forbidden, internal, away = http.StatusBadRequest, http.StatusForbidden, http.StatusInternalServerError,
		http.StatusServiceUnavailable
	switch f.Mishap {
	case Answer:
		return &refusal{cmp.Or(f.Status, bad), f.Code, f.Message}
	case Throttled: // kubernetes/autoscaler#252, DataBiosphere/toil#1445
		return by(refusal{bad, "Throttling", "Rate exceeded"},
			refusal{away, "RequestLimitExceeded", "Request limit exceeded."},
			refusal{http.StatusTooManyRequests, "TooManyRequestsException", "Too Many Requests"})
	case Denied: // kubernetes/autoscaler#3384, kubernetes/kops#16853, awslabs/cdk-eks-blueprints#684
		who := fmt.Sprintf("User: arn:aws:sts::%s:assumed-role/awstest/session is not authorized to perform: %s:%s",
			q.account, q.service, q.action)
		return by(refusal{forbidden, "AccessDenied",
			fmt.Sprintf("%s because no identity-based policy allows the %s:%s action", who, q.service, q.action)},
			refusal{forbidden, "UnauthorizedOperation", fmt.Sprintf("You are not authorized to perform this operation. %s "+
				"because no identity-based policy allows the %s:%s action", who, q.service, q.action)},
			refusal{forbidden, "AccessDeniedException", fmt.Sprintf("%s on resource: arn:aws:eks:%s:%s:nodegroup/%s/%s",
				who, q.region, q.account, q.params.Get("cluster"), q.params.Get("nodegroup"))})
	case ExpiredToken: // mapbox/ecs-watchbot#61, hellofresh/eks-rolling-update#103, hashicorp/terraform-provider-aws#32809
		const text = "The security token included in the request is expired"
		return by(refusal{forbidden, "ExpiredToken", text},
			refusal{bad, "RequestExpired", "Request has expired."},
			refusal{forbidden, "ExpiredTokenException", text})
	case BadCredentials: // jenkinsci/ec2-fleet-plugin#492, mhardin/SeleniumGridScaler#9
		const text = "The security token included in the request is invalid."
		return by(refusal{forbidden, "InvalidClientTokenId", text},
			refusal{http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials"},
			refusal{forbidden, "UnrecognizedClientException", text})
	case ServerError:
		return by(refusal{internal, "InternalFailure", "awstest: an error of the server"},
			refusal{internal, "InternalError", "An internal error has occurred"},
			refusal{internal, "ServerException", "awstest: an error of the server"})
	case Unavailable:
		return by(refusal{away, "ServiceUnavailable", "awstest: the service is away"},
			refusal{away, "Unavailable", "awstest: the service is away"},
			refusal{away, "ServiceUnavailableException", "awstest: the service is away"})
	case Busy: // kubernetes/kops#6900
		return &refusal{bad, "ScalingActivityInProgress", "Activity 0145aa55-f1bb-3172-7086-6def24ae52f0 is in progress."}
	}
	return nil
}
