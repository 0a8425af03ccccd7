package aws

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// stockOut is that AWS could not launch what was asked for.
type stockOut struct {
	kind          provider.Kind
	zone, message string
	since, until  time.Time
	// live is how many instances there were: one more, and AWS has some again.
	live int
}

const (
	// restAfterFailure is how long a group rests after AWS could not launch.
	restAfterFailure = 5 * time.Minute
	// activitiesRead is how far back a group's activities are read: they come
	// newest first.
	activitiesRead = 50
	// clockSlack is how far our clock may be ahead of AWS's.
	clockSlack = 10 * time.Second
)

// lookForStockOut reads a group's newest activities. Only launches count that
// began after the ask: what went wrong before says nothing about it.
func (p *Provider) lookForStockOut(ctx context.Context, name string, asked time.Time) (*stockOut, error) {
	page, err := p.asg.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String(name), MaxRecords: aws.Int32(activitiesRead),
	})
	if err != nil {
		return nil, err
	}
	return stockOutOf(page.Activities, asked), nil
}

// stockOutOf is what the newest launch since the ask failed of; nil if it did
// not, or is still under way. Failures of AWS itself tell nothing of what it has.
// Times are AWS's, and may be whole seconds: one from a little before the ask is
// taken for one of its moment, lest a clock that is ahead hides every failure.
func stockOutOf(activities []asgtypes.Activity, asked time.Time) *stockOut {
	var newest *asgtypes.Activity
	for i := range activities {
		a := &activities[i]
		failed := a.StatusCode == asgtypes.ScalingActivityStatusCodeFailed
		if a.StatusCode == asgtypes.ScalingActivityStatusCodeCancelled ||
			!strings.HasPrefix(deref(a.Description), "Launching") ||
			deref(a.StartTime).Before(asked.Add(-clockSlack).Truncate(time.Second)) ||
			failed && kindOfFailure(*a) == provider.Transient {
			continue
		}
		if newest == nil || deref(a.StartTime).After(deref(newest.StartTime)) {
			newest = a
		}
	}
	if newest == nil || newest.StatusCode != asgtypes.ScalingActivityStatusCodeFailed {
		return nil
	}
	at := deref(newest.StartTime)
	if at.Before(asked) {
		at = asked
	}
	return &stockOut{kind: kindOfFailure(*newest), zone: zoneOf(*newest), message: failureText(*newest), since: at,
		until: at.Add(restAfterFailure)}
}

func failureText(a asgtypes.Activity) string {
	if text := deref(a.StatusMessage); text != "" {
		return text
	}
	return deref(a.Description)
}

// kindOfFailure reads why a launch failed, from AWS's sentence. The codes of EC2
// stand in it, with or without whose fault it is (Server., Client.), or the
// sentence that goes with one.
func kindOfFailure(a asgtypes.Activity) provider.Kind {
	text := failureText(a)
	for _, word := range codeWords.FindAllString(text, -1) {
		word = word[strings.LastIndex(word, ".")+1:]
		if kind := kindOfCode[word]; kind == provider.NoCapacity || kind == provider.Quota {
			return kind
		}
	}
	lower := strings.ToLower(text)
	for _, s := range sentences {
		if strings.Contains(lower, s.part) {
			return s.kind
		}
	}
	return provider.BadConfig
}

var codeWords = regexp.MustCompile(`[A-Z][A-Za-z]+(\.[A-Z][A-Za-z]+)?`)

// The sentences are those of
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-capacity.html and
// ts-as-instancelaunchfailure.html. What is none of them (a wrong image, a key,
// a right that is missing) does not go away by itself.
var sentences = []struct {
	part string
	kind provider.Kind
}{
	{"do not have sufficient", provider.NoCapacity},
	{"no spot capacity", provider.NoCapacity},
	{"spot price", provider.NoCapacity},
	{"is not supported in your requested availability zone", provider.NoCapacity},
	{"insufficient capacity", provider.NoCapacity},
	{"not enough free addresses", provider.NoCapacity},
	{"vcpu limit", provider.Quota},
	{"instance limit", provider.Quota},
	{"quota", provider.Quota},
	{"limit exceeded", provider.Quota},
	{"internal error", provider.Transient},
}

// zoneOf is where a launch failed, empty if AWS does not tell.
func zoneOf(a asgtypes.Activity) string {
	var details struct {
		Zone string `json:"Availability Zone"`
	}
	if json.Unmarshal([]byte(deref(a.Details)), &details) == nil && details.Zone != "" {
		return details.Zone
	}
	if m := zoneInText.FindStringSubmatch(failureText(a)); m != nil {
		return m[1]
	}
	return ""
}

var zoneInText = regexp.MustCompile(`Availability Zone(?: you requested)? \(([a-z0-9-]+)\)`)

// hold says that the group is not to be grown for now.
func (s stockOut) hold() provider.Hold {
	message := s.message
	if s.zone != "" && !strings.Contains(message, s.zone) {
		message = "zone " + s.zone + ": " + message
	}
	return provider.Hold{Op: provider.OpGrow, Reason: string(s.kind), Message: message, Since: s.since, Until: s.until}
}
