package aws

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file reads what EventBridge puts into the queue of interruptions:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html
// https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html

// What a message is about, as the metric has it.
const (
	aboutSpot        = "spot"
	aboutRebalance   = "rebalance"
	aboutStateChange = "state-change"
	aboutScheduled   = "scheduled-change"
	aboutOther       = "other"      // an event that takes no machine
	aboutUnreadable  = "unreadable" // an event that cannot be understood
	aboutForeign     = "foreign"    // no event of EventBridge
)

const (
	// spotNotice is how long before AWS takes a spot instance it says so.
	spotNotice = 2 * time.Minute
	// lateFor is how long after its time an interruption may still come about.
	lateFor = time.Hour
	// unsaidFor is how long an interruption holds of which AWS does not say when it comes about, and retention how long
	// one that AWS Health has planned: as long as the queue can keep it.
	unsaidFor = 24 * time.Hour
	retention = 14 * 24 * time.Hour
	// closedFor is how long an end counts that AWS Health tells, and backFor how long that an instance runs again: what
	// it ends may come later.
	closedFor = 24 * time.Hour
	backFor   = 10 * time.Minute
	// mostInstances bounds what is remembered of one message.
	mostInstances = 1000
)

// word is what a message says.
type word struct {
	about     string
	instances []provider.InstanceID
	provider.Interruption
	// over is when the message is about nothing any more.
	over time.Time
	// event is the event of AWS Health that the message is about, or the state of an instance; with closed, that it is
	// over, and done are the instances for which alone it is.
	event  string
	closed bool
	done   []provider.InstanceID
	why    error // why it cannot be understood
}

// envelope is what all events have in common.
type envelope struct {
	Source     string          `json:"source"`
	DetailType string          `json:"detail-type"`
	Time       string          `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

var instanceID = regexp.MustCompile(`^i-[0-9A-Za-z-]{1,40}$`)

// takes are the states of an instance that is on its way out, and back the one that takes that back.
var takes = []string{"shutting-down", "stopping", "stopped", "terminated"}

const back = "running"

// resolved is the status of a machine that a planned change does not concern any more.
const resolved = "RESOLVED"

// wordOf reads a message. Its times are taken for those of the cloud, but for one in the future.
func wordOf(body string, now time.Time) word {
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return word{about: aboutForeign, why: fmt.Errorf("it is no JSON object of EventBridge: %s", bounded(err.Error()))}
	}
	if e.Source == "" || e.DetailType == "" {
		return word{about: aboutForeign, why: fmt.Errorf("it has no source or no detail-type: %s", bounded(body))}
	}
	w := word{Interruption: provider.Interruption{Since: now}}
	if told, err := time.Parse(time.RFC3339, e.Time); err == nil && told.Before(now) {
		w.Since = told
		if oldest := now.Add(-retention); told.Before(oldest) { // which no queue can have kept
			w.Since = oldest
		}
	}
	w.over = w.Since.Add(unsaidFor)
	switch e.Source + "/" + e.DetailType {
	case "aws.ec2/EC2 Spot Instance Interruption Warning":
		w.about, w.Kind, w.Until = aboutSpot, "spot interruption", w.Since.Add(spotNotice)
		w.one(e.Detail)
	case "aws.ec2/EC2 Instance Rebalance Recommendation":
		w.about, w.Kind = aboutRebalance, "rebalance recommendation"
		w.one(e.Detail)
	case "aws.ec2/EC2 Instance State-change Notification":
		w.about = aboutStateChange
		state := w.one(e.Detail)
		switch {
		case w.why != nil:
		case state == back:
			w.event, w.closed, w.over = stateOf(w.instances[0]), true, w.Since.Add(backFor)
			w.instances = nil
		case slices.Contains(takes, state):
			w.event, w.Kind, w.Until = stateOf(w.instances[0]), "instance "+state, w.Since
		default:
			w.about = aboutOther
		}
	case "aws.health/AWS Health Event":
		w.health(e.Detail)
	default:
		w.about = aboutOther
	}
	if !w.Until.IsZero() {
		w.over = w.Until.Add(lateFor)
	}
	if w.why != nil {
		w.about = aboutUnreadable
	}
	return w
}

// stateOf is what messages about the state of an instance are about.
func stateOf(id provider.InstanceID) string { return "state of " + string(id) }

// one reads an event of EC2, which is about one instance, and gives the state that it names.
func (w *word) one(detail json.RawMessage) string {
	var d struct {
		Instance string `json:"instance-id"`
		State    string `json:"state"`
	}
	switch err := json.Unmarshal(detail, &d); {
	case err != nil:
		w.why = fmt.Errorf("its detail is not that of an instance: %s", bounded(err.Error()))
	case !instanceID.MatchString(d.Instance):
		w.why = fmt.Errorf("its instance-id is %s", bounded(d.Instance))
	default:
		w.instances = []provider.InstanceID{provider.InstanceID(d.Instance)}
	}
	return d.State
}

// health reads an event of AWS Health. Those that are no planned change of instances take no machine.
func (w *word) health(detail json.RawMessage) {
	var d struct {
		EventArn, Service, EventTypeCode, EventTypeCategory, StatusCode, StartTime string

		AffectedEntities []struct{ EntityValue, Status string }
	}
	if err := json.Unmarshal(detail, &d); err != nil {
		w.why = fmt.Errorf("its detail is not that of AWS Health: %s", bounded(err.Error()))
		return
	}
	if w.about = aboutOther; d.Service != "EC2" || d.EventTypeCategory != "scheduledChange" {
		return
	}
	if d.EventArn == "" || len(d.EventArn) > 1600 {
		w.why = fmt.Errorf("its eventArn is %s", bounded(d.EventArn))
		return
	}
	w.event = d.EventArn
	if d.StatusCode == "closed" {
		w.about, w.closed, w.over = aboutScheduled, true, w.Since.Add(closedFor)
		return
	}
	for _, e := range d.AffectedEntities {
		if !instanceID.MatchString(e.EntityValue) || len(w.instances)+len(w.done) >= mostInstances {
			continue
		}
		if id := provider.InstanceID(e.EntityValue); e.Status == resolved {
			w.done = append(w.done, id)
		} else {
			w.instances = append(w.instances, id)
		}
	}
	if len(w.instances) == 0 && len(w.done) == 0 {
		return // of volumes, of reservations
	}
	if len(w.instances) == 0 {
		w.about, w.over = aboutScheduled, w.Since.Add(closedFor)
		return
	}
	w.about, w.Kind, w.over = aboutScheduled, "scheduled change "+bounded(d.EventTypeCode), w.Since.Add(retention)
	at, err := http.ParseTime(d.StartTime)
	if err != nil {
		at, err = time.Parse(time.RFC3339, d.StartTime)
	}
	if err == nil {
		if w.Until = at.UTC(); at.Before(w.Since) {
			w.Until = w.Since
		}
	}
}

// sooner compares what two messages say of one instance: what ends first, then what was told first.
func (w *word) sooner(o *word) bool {
	when := func(x *word) time.Time { return cmp.Or(x.Until, x.over) }
	if c := when(w).Compare(when(o)); c != 0 {
		return c < 0
	}
	return cmp.Or(w.Since.Compare(o.Since), cmp.Compare(w.Kind, o.Kind)) < 0
}

// mostShown is how much of a message is shown.
const mostShown = 80

// bounded is text of a message as it may be shown: a part of it, without what a terminal or a log would obey.
func bounded(text string) string {
	if len(text) > mostShown {
		text = text[:mostShown]
	}
	quoted := strconv.QuoteToASCII(text)
	out := quoted[1 : len(quoted)-1]
	if len(out) > mostShown {
		out = out[:mostShown-3] + "..."
	}
	return out
}
