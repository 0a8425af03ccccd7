package aws

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// event is what EventBridge makes of something that AWS says.
func event(source, what string, at time.Time, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":"1e5527d7-bb36-4607-3370-4164db56a40e","detail-type":%q,"source":%q,`+
		`"account":"123456789012","time":%q,"region":"us-east-1","resources":[],"detail":%s}`,
		what, source, at.UTC().Format(time.RFC3339), detail)
}

func spotWarning(id string, at time.Time) string {
	return event("aws.ec2", "EC2 Spot Instance Interruption Warning", at,
		fmt.Sprintf(`{"instance-id":%q,"instance-action":"terminate"}`, id))
}

func rebalance(id string, at time.Time) string {
	return event("aws.ec2", "EC2 Instance Rebalance Recommendation", at, fmt.Sprintf(`{"instance-id":%q}`, id))
}

func stateChange(id, state string, at time.Time) string {
	return event("aws.ec2", "EC2 Instance State-change Notification", at,
		fmt.Sprintf(`{"instance-id":%q,"state":%q}`, id, state))
}

func planned(id, status, start string, at time.Time) string {
	return plannedOf(status, start, at, id+"/")
}

// plannedOf is a planned change of several machines, each as ID/STATUS.
func plannedOf(status, start string, at time.Time, entities ...string) string {
	var affected []string
	for _, e := range entities {
		id, is, _ := strings.Cut(e, "/")
		affected = append(affected, fmt.Sprintf(`{"entityValue":%q,"status":%q}`, id, is))
	}
	return event("aws.health", "AWS Health Event", at, fmt.Sprintf(`{"eventArn":"arn:aws:health:us-east-1::event/EC2/R/1",`+
		`"service":"EC2","eventTypeCode":"AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED","eventTypeCategory":"scheduledChange",`+
		`"eventScopeCode":"ACCOUNT_SPECIFIC","statusCode":%q,"startTime":%q,"eventRegion":"us-east-1",`+
		`"eventDescription":[{"language":"en_US","latestDescription":"x"}],"affectedEntities":[%s],`+
		`"affectedAccount":"123456789012","page":"1","totalPages":"1"}`, status, start, strings.Join(affected, ",")))
}

// TestWhatMessagesSay: what each is about, of which instance, since when and until when; and what cannot be understood.
func TestWhatMessagesSay(t *testing.T) {
	now := newClock().now()
	told := now.Add(-5 * time.Second)
	health := func(detail string) string { return event("aws.health", "AWS Health Event", told, detail) }
	of := func(about, kind string, until time.Time) word {
		over := told.Add(24 * time.Hour)
		if !until.IsZero() {
			over = until.Add(time.Hour)
		}
		return word{about: about, instances: []provider.InstanceID{"i-1"}, over: over,
			Interruption: provider.Interruption{Kind: kind, Since: told, Until: until}}
	}
	retired := of(aboutScheduled, "scheduled change AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
		time.Date(2026, 12, 5, 15, 0, 0, 0, time.UTC))
	retired.event = "arn:aws:health:us-east-1::event/EC2/R/1"
	late, never, end := retired, retired, retired
	late.Until, late.over = told, told.Add(time.Hour)
	never.Until, never.over = time.Time{}, told.Add(14*24*time.Hour)
	end.Interruption = provider.Interruption{Since: told}
	end.closed, end.over, end.instances = true, told.Add(24*time.Hour), nil
	stop := of(aboutStateChange, "instance stopping", told)
	stop.event = "state of i-1"
	runs := word{about: aboutStateChange, event: stop.event, closed: true, over: told.Add(10 * time.Minute),
		Interruption: provider.Interruption{Since: told}}
	part, all := retired, end
	part.done = []provider.InstanceID{"i-2"}
	all.closed, all.done = false, []provider.InstanceID{"i-1", "i-2"}
	early := of(aboutRebalance, "rebalance recommendation", time.Time{})
	early.Since, early.over = now, now.Add(24*time.Hour)
	nothing := word{about: aboutOther}
	for body, want := range map[string]word{
		spotWarning("i-1", told):                                                        of(aboutSpot, "spot interruption", told.Add(2*time.Minute)),
		rebalance("i-1", told):                                                          of(aboutRebalance, "rebalance recommendation", time.Time{}),
		rebalance("i-1", now.Add(time.Hour)):                                            early,
		stateChange("i-1", "stopping", told):                                            stop,
		stateChange("i-1", "running", told):                                             runs,
		planned("i-1", "upcoming", "Sat, 05 Dec 2026 15:00:00 GMT", told):               retired,
		planned("i-1", "open", "2026-12-05T15:00:00Z", told):                            retired,
		planned("i-1", "open", "Sat, 05 Dec 2020 15:00:00 GMT", told):                   late,
		plannedOf("open", "2026-12-05T15:00:00Z", told, "i-1/PENDING", "i-2/RESOLVED"):  part,
		plannedOf("open", "2026-12-05T15:00:00Z", told, "i-1/RESOLVED", "i-2/RESOLVED"): all,
		planned("i-1", "open", "soon", told):                                            never,
		planned("i-1", "closed", "Sat, 05 Dec 2026 15:00:00 GMT", told):                 end,

		stateChange("i-1", "pending", told):                                    nothing,
		planned("vol-1", "open", "", told):                                     nothing,
		health(`{"service":"RDS","eventTypeCategory":"scheduledChange"}`):      nothing,
		health(`{"service":"EC2","eventTypeCategory":"issue"}`):                nothing,
		event("aws.autoscaling", "EC2 Instance Launch Successful", told, `{}`): nothing,
	} {
		got := wordOf(body, now)
		if want.about == aboutOther && got.why == nil {
			got = word{about: got.about}
		}
		sameError := cmp.Comparer(func(a, b error) bool { return a == b })
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(word{}), sameError); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
	for body, want := range map[string]string{
		"":                                   aboutForeign,
		"[1]":                                aboutForeign,
		`"text"`:                             aboutForeign,
		`{"Records":[{"s3":{}}]}`:            aboutForeign,
		`{"source":7,"detail-type":"x"}`:     aboutForeign,
		spotWarning("vol-1", told):           aboutUnreadable,
		spotWarning("i-1/../../x", told):     aboutUnreadable,
		stateChange("", "stopping", told):    aboutUnreadable,
		health(`[]`):                         aboutUnreadable,
		health(`{"affectedEntities":"i-1"}`): aboutUnreadable,
		health(`{"service":"EC2","eventTypeCategory":"scheduledChange"}`): aboutUnreadable,
	} {
		if got := wordOf(body, now); got.about != want || got.why == nil || len(got.instances) > 0 && want == aboutForeign {
			t.Errorf("%s: %+v, want %s with a reason", body, got, want)
		}
	}
}

// TestTextOfMessagesIsBounded: it reaches logs, events and terminals.
func TestTextOfMessagesIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		"AWS_EC2_X":               "AWS_EC2_X",
		"a\x1b[31m\nlevel=INFO":   `a\x1b[31m\nlevel=INFO`,
		"\u202egnp":               `\u202egnp`,
		strings.Repeat("x", 81):   strings.Repeat("x", 80),
		strings.Repeat("\n", 200): strings.Repeat(`\n`, 38) + `\...`,
	} {
		if got := bounded(text); got != want || len(got) > 80 {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
}

// FuzzMessage: whatever is in the queue, what is made of it has the form that the contract wants, and no text of it is
// long or can do harm.
func FuzzMessage(f *testing.F) {
	now := newClock().now()
	for _, seed := range []string{spotWarning("i-1", now), rebalance("i-1", now), stateChange("i-1", "stopping", now),
		planned("i-1", "open", "Sat, 05 Dec 2026 15:00:00 GMT", now), planned("i-1", "closed", "", now), "{}", "",
		planned("i-1", "open", "0001-01-01T00:00:00Z", time.Time{}), event("aws.health", "AWS Health Event", now, "null")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := wordOf(body, now)
		if w.about == "" || (w.why != nil) != (w.about == aboutForeign || w.about == aboutUnreadable) {
			t.Errorf("about %q, why %v", w.about, w.why)
		}
		text := w.Kind
		if w.why != nil {
			text += w.why.Error()
		}
		plain := func(r rune) bool { return r >= ' ' && r < utf8.RuneSelf && r != 0x7f }
		if len(text) > 300 || strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
			t.Errorf("shown: %q", text)
		}
		if len(w.instances) > mostInstances || w.closed && w.event == "" {
			t.Errorf("%d instances; %+v", len(w.instances), w)
		}
		for _, id := range w.instances {
			if !instanceID.MatchString(string(id)) {
				t.Errorf("instance %q", id)
			}
		}
		takes := w.about == aboutSpot || w.about == aboutRebalance || w.about == aboutStateChange && !w.closed ||
			w.about == aboutScheduled && !w.closed && len(w.done) == 0
		if takes && (len(w.instances) == 0 || w.Kind == "" || w.Since.IsZero() || w.Since.After(now) ||
			!w.Until.IsZero() && w.Until.Before(w.Since) || w.over.Before(w.Since)) {
			t.Errorf("%+v", w)
		}
	})
}

// TestQueues: names and URLs are taken, and what can never work is refused with what to do.
func TestQueues(t *testing.T) {
	for queue, want := range map[string]string{
		"": "", "plimsoll": "", "Plimsoll_2-x": "", "https://sqs.eu-west-1.amazonaws.com/123456789012/plimsoll": "",
		"http://127.0.0.1:8080/123456789012/plimsoll": "",
		"plimsoll.fifo": "make a standard queue",
		"https://sqs.eu-west-1.amazonaws.com/123456789012/plimsoll.fifo": "make a standard queue",
		"arn:aws:sqs:eu-west-1:123456789012:plimsoll":                    "it is an ARN",
		"a b":                     "1 to 80 letters",
		strings.Repeat("a", 81):   "1 to 80 letters",
		"ftp://x/y":               "no URL of a queue",
		"https://x":               "no URL of a queue",
		"https:///123/plimsoll":   "no URL of a queue",
		"https://x/123/":          "1 to 80 letters",
		"sqs.eu.amazonaws.com/12": "no URL of a queue",
	} {
		cfg := byTag
		cfg.InterruptionQueue = queue
		err := cfg.Validate()
		if (err == nil) != (want == "") || err != nil && !(strings.Contains(err.Error(), want) &&
			strings.Contains(err.Error(), "--aws-interruption-queue=")) {
			t.Errorf("%q: %v, want %q", queue, err, want)
		}
	}
	cfg := byTag
	cfg.RebalanceRecommendations = true
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "they come by --aws-interruption-queue") {
		t.Errorf("recommendations without a queue: %v", err)
	}
}
