package awstest

import (
	"fmt"
	"time"
)

// The codes of a scaling activity that are made here; AWS has more:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_Activity.html
const (
	inProgress = "InProgress"
	successful = "Successful"
	failed     = "Failed"
	cancelled  = "Cancelled"
)

// activity is a scaling activity of a group.
type activity struct {
	ID, Description, Cause, Zone string
	Status, Message              string
	Start, End                   time.Time
	Progress                     int
	serial                       int
}

// record adds an activity to the group's history.
func (c *Cloud) record(g *group, a *activity) *activity {
	a.ID = c.uuid()
	a.serial = c.serial
	g.history = newest(append(g.history, a), historyKept)
	return a
}

// historyKept is how many activities of a group are remembered; AWS forgets those
// of more than six weeks.
const historyKept = 1000

// finish ends the activity that is under way on an instance, if there is one.
func (i *instance) finish(status string, at time.Time) {
	if i.activity == nil {
		return
	}
	i.activity.Status, i.activity.End, i.activity.Progress = status, at, 100
	i.activity = nil
}

func (a *activity) details(g *group) string {
	return fmt.Sprintf(`{"Subnet ID":%q,"Availability Zone":%q}`, g.subnet(a.Zone), a.Zone)
}

// AWS gives the start of an activity in milliseconds and its end in seconds, so
// that an end may come before its start:
// https://github.com/kubernetes/autoscaler/issues/1263
func millis(t time.Time) string  { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
func seconds(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
