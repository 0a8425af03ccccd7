package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// reservations are the capacity reservations that carry a tag. Each is paid for whether instances run in it or not, so
// that a node in one costs nothing more.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html
type reservations struct {
	ec2    *ec2.Client
	tag    selector
	asking *errand
	// known are the commitments of the tag. There is one answer.
	known *memo[struct{}, []provider.Commitment]
}

const (
	// reservationsTTL is for how long an answer holds: people change reservations, and some end by themselves.
	reservationsTTL   = 5 * time.Minute
	reservationsRetry = time.Minute
	// reservationsPatience is how long a read waits for them.
	reservationsPatience = 5 * time.Second
)

// parseReservationsTag reads KEY or KEY=VALUE; nil for none.
func parseReservationsTag(text string) (selector, error) {
	if text == "" {
		return nil, nil
	}
	key, value, _ := strings.Cut(text, "=")
	if blank(key) || strings.TrimSpace(value) != value || strings.HasSuffix(text, "=") {
		return nil, fmt.Errorf("%s: it is a tag, KEY or KEY=VALUE, without white space at an end",
			quotedFlag("aws-reservations-tag", text))
	}
	return selector{key: value}, nil
}

func newReservations(client *ec2.Client, tag selector, now func() time.Time) *reservations {
	r := &reservations{ec2: client, tag: tag, asking: &errand{now: now},
		known: newMemo[struct{}, []provider.Commitment](now, always[struct{}](reservationsTTL))}
	r.known.retry = reservationsRetry
	return r
}

// tell writes the commitments into a picture, and returns what a person should know. Until AWS has answered once it is
// not known which nodes are paid for; after that its last answer holds.
func (r *reservations) tell(ctx context.Context, inv *provider.Inventory) []provider.Notice {
	if r == nil {
		return nil
	}
	one := struct{}{}
	if len(r.known.due([]struct{}{one})) > 0 {
		r.asking.run(ctx, reservationsPatience, func(ctx context.Context) {
			if found, err := r.read(ctx); err != nil {
				r.known.fail(one, fmt.Errorf("describe the capacity reservations: %w", err))
			} else {
				r.known.put(one, found)
			}
		})
	}
	found, err := r.known.get(one)
	trouble := r.known.trouble(one)
	if found == nil {
		inv.CommitmentsUnread = true
		return []provider.Notice{notice("", noticeNoReservations, "%s", steady("it is not known which instances are "+
			"reserved, so that what is not spot has no known price",
			cmp.Or(err, trouble, errors.New("AWS has not answered yet"))))}
	}
	inv.Commitments = found
	switch {
	case trouble != nil:
		return []provider.Notice{notice("", noticeNoReservations, "%s",
			steady("could not ask AWS for capacity reservations (the last that it told hold)", trouble))}
	case len(found) == 0:
		return []provider.Notice{notice("", noticeNoneReserved, "no active capacity reservation has the tag %s of "+
			"--aws-reservations-tag", r.tag)}
	}
	return nil
}

// read asks for all that are active. AWS documents no filter by tag for this question.
func (r *reservations) read(ctx context.Context) ([]provider.Commitment, error) {
	in := &ec2.DescribeCapacityReservationsInput{Filters: []ec2types.Filter{
		{Name: aws.String("state"), Values: []string{string(ec2types.CapacityReservationStateActive)}},
	}}
	sums := map[provider.Commitment]int{}
	for {
		page, err := r.ec2.DescribeCapacityReservations(ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range page.CapacityReservations {
			c := &page.CapacityReservations[i]
			tags := map[string]string{}
			for _, t := range c.Tags {
				tags[deref(t.Key)] = deref(t.Value)
			}
			if c.State == ec2types.CapacityReservationStateActive && r.tag.matches(tags) && deref(c.TotalInstanceCount) > 0 {
				sums[reserved(c)] += int(*c.TotalInstanceCount)
			}
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	found := make([]provider.Commitment, 0, len(sums)) // never nil: that AWS has none is an answer
	for c, count := range sums {
		c.Nodes = count
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b provider.Commitment) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// reserved is what a reservation is for, without how many.
func reserved(c *ec2types.CapacityReservation) provider.Commitment {
	os := strings.ToLower(osLinux)
	if strings.HasPrefix(string(c.InstancePlatform), osWindows) {
		os = strings.ToLower(osWindows)
	}
	out := provider.Commitment{InstanceType: deref(c.InstanceType), Zone: deref(c.AvailabilityZone),
		CapacityType: provider.OnDemand, OS: os}
	out.Name = fmt.Sprintf("AWS capacity reservations of %s, %s, in %s", out.InstanceType, os, out.Zone)
	return out
}

// String is the tags as a person writes them.
func (s selector) String() string {
	parts := make([]string, 0, len(s))
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if s[key] == "" {
			parts = append(parts, key)
		} else {
			parts = append(parts, key+"="+s[key])
		}
	}
	return strings.Join(parts, ",")
}
