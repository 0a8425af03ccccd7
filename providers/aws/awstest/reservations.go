package awstest

import (
	"cmp"
	"fmt"
	"slices"
)

// This file is EC2's DescribeCapacityReservations:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityReservations.html

// Reservation is a capacity reservation.
type Reservation struct {
	ID           string `json:"id"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	Count        int    `json:"count"`
	// Platform is Linux/UNIX if empty, and State active.
	Platform string            `json:"platform,omitempty"`
	State    string            `json:"state,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
}

type describeReservationsResult struct {
	Reservations []xmlReservation `xml:"capacityReservationSet>item"`
	NextToken    string           `xml:"nextToken,omitempty"`
}

type xmlReservation struct {
	ID             string              `xml:"capacityReservationId"`
	ARN            string              `xml:"capacityReservationArn"`
	OwnerID        string              `xml:"ownerId"`
	InstanceType   string              `xml:"instanceType"`
	Platform       string              `xml:"instancePlatform"`
	Zone           string              `xml:"availabilityZone"`
	Tenancy        string              `xml:"tenancy"`
	TotalCount     int                 `xml:"totalInstanceCount"`
	AvailableCount int                 `xml:"availableInstanceCount"`
	State          string              `xml:"state"`
	EndDateType    string              `xml:"endDateType"`
	MatchCriteria  string              `xml:"instanceMatchCriteria"`
	Tags           []xmlReservationTag `xml:"tagSet>item"`
}

type xmlReservationTag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func (c *Cloud) describeReservations(q *query) (any, *refusal) {
	if refused := q.only("Filter", "MaxResults", "NextToken"); refused != nil {
		return nil, refused
	}
	size, refused := q.ec2Size(1, 1000)
	if refused != nil {
		return nil, refused
	}
	var states []string
	for n := 1; q.params.Has(fmt.Sprintf("Filter.%d.Name", n)); n++ {
		prefix := fmt.Sprintf("Filter.%d.", n)
		name := q.params.Get(prefix + "Name")
		if name != "state" {
			return nil, badValue("The filter '%s' is invalid", name)
		}
		states = q.list(prefix + "Value")
	}
	var found []xmlReservation
	for _, r := range c.spec.Reservations {
		state := cmp.Or(r.State, "active")
		if len(states) > 0 && !slices.Contains(states, state) {
			continue
		}
		x := xmlReservation{
			ID: r.ID, ARN: fmt.Sprintf("arn:aws:ec2:%s:%s:capacity-reservation/%s", q.region, q.account, r.ID),
			OwnerID: q.account, InstanceType: r.InstanceType, Platform: cmp.Or(r.Platform, "Linux/UNIX"), Zone: r.Zone,
			Tenancy: "default", TotalCount: r.Count, AvailableCount: r.Count, State: state, EndDateType: "unlimited",
			MatchCriteria: "open",
		}
		for _, key := range sortedKeys(r.Tags) {
			x.Tags = append(x.Tags, xmlReservationTag{key, r.Tags[key]})
		}
		found = append(found, x)
	}
	slices.SortFunc(found, func(a, b xmlReservation) int { return cmp.Compare(a.ID, b.ID) })
	found, next, ok := page(q, found, func(r xmlReservation) string { return r.ID }, size)
	if !ok {
		return nil, badPaginationToken()
	}
	return describeReservationsResult{found, next}, nil
}
