package awstest

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// This file is DescribeScalingActivities:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_DescribeScalingActivities.html

type describeActivitiesResult struct {
	Activities []xmlActivity `xml:"Activities>member"`
	NextToken  string        `xml:",omitempty"`
}

type xmlActivity struct {
	ActivityId           string
	AutoScalingGroupName string
	AutoScalingGroupARN  string
	Description          string
	Cause                string
	StartTime            string
	EndTime              string `xml:",omitempty"`
	StatusCode           string
	StatusMessage        string `xml:",omitempty"`
	Progress             int
	Details              string
}

// past is one activity with its group.
type past struct {
	g *group
	a *activity
}

func (c *Cloud) describeActivities(q *query) (any, *refusal) {
	if refused := q.only("AutoScalingGroupName", "ActivityIds", "Filters", "MaxRecords", "NextToken"); refused != nil {
		return nil, refused
	}
	size, refused := q.size("MaxRecords", 100, 100)
	if refused != nil {
		return nil, refused
	}
	name, ids, filters := q.params.Get("AutoScalingGroupName"), q.list("ActivityIds.member"), q.filters()
	if len(ids) > 50 {
		return nil, tooLarge(ids, "activityIds", "length", 50)
	}
	if name != "" && c.groups[name] == nil {
		return nil, noSuchGroup()
	}
	var found []past
	for _, other := range c.order {
		if name != "" && name != other {
			continue
		}
		for _, a := range c.groups[other].history {
			if len(ids) > 0 && !slices.Contains(ids, a.ID) {
				continue
			}
			passes, refused := a.passes(filters, name != "")
			if refused != nil {
				return nil, refused
			}
			if passes {
				found = append(found, past{c.groups[other], a})
			}
		}
	}
	key := func(p past) string { return fmt.Sprintf("%020d", math.MaxInt-p.a.serial) } // newest first
	slices.SortFunc(found, func(x, y past) int { return y.a.serial - x.a.serial })
	found, next, ok := page(q, found, key, size)
	if !ok {
		return nil, badToken()
	}
	result := describeActivitiesResult{NextToken: next}
	for _, p := range found {
		result.Activities = append(result.Activities, p.a.xml(p.g))
	}
	return result, nil
}

func (a *activity) passes(filters []filter, oneGroup bool) (bool, *refusal) {
	for _, f := range filters {
		if f.name == "Status" {
			if !oneGroup {
				return false, invalid("awstest: the filter Status needs the name of a group")
			}
			if !slices.Contains(f.values, a.Status) {
				return false, nil
			}
			continue
		}
		if (f.name != "StartTimeLowerBound" && f.name != "StartTimeUpperBound") || len(f.values) != 1 {
			return false, invalid("awstest: the filter %q with the values %q is none of StartTimeLowerBound, "+
				"StartTimeUpperBound and Status", f.name, f.values)
		}
		bound, err := time.Parse(time.RFC3339Nano, f.values[0])
		if err != nil {
			return false, invalid("awstest: the filter %s: %v", f.name, err)
		}
		if f.name == "StartTimeLowerBound" && a.Start.Before(bound) ||
			f.name == "StartTimeUpperBound" && a.Start.After(bound) {
			return false, nil
		}
	}
	return true, nil
}

func (a *activity) xml(g *group) xmlActivity {
	x := xmlActivity{
		ActivityId: a.ID, AutoScalingGroupName: g.Name, AutoScalingGroupARN: g.arn, Description: a.Description,
		Cause:     a.Cause,
		StartTime: millis(a.Start), StatusCode: a.Status, StatusMessage: a.Message, Progress: a.Progress,
		Details: a.details(g),
	}
	if !a.End.IsZero() {
		x.EndTime = seconds(a.End)
	}
	return x
}
