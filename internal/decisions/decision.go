// Package decisions keeps what was decided: the last decisions in memory, and all of them in a file
// if one is named.
//
// What flows in: a model.Cycle per turn of the loop. What flows out: decisions as values with JSON
// tags, each with what triggered it, what was bought and removed, which verdicts stood and which
// changed, what became of its calls, and how the new nodes differ from what was expected of them.
// Only decisions that act or change a verdict are kept. A published decision is never changed: news
// of it make a new value.
//
// Memory is bounded by a number of decisions and by bytes. The log is written in the background; what
// cannot be written is counted and dropped.
//
// Who may import it: hosts (cmd), cli, and what serves answers over HTTP. It imports model and
// provider, and fills the loop's port Reporter without importing it.
package decisions

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Trigger is what made the loop decide again.
type Trigger string

// The triggers.
const (
	Started        Trigger = "Started"        // the first decision of a process
	CallEnded      Trigger = "CallEnded"      // a write ended
	PodsWait       Trigger = "PodsWait"       // more pods wait than before
	NodesChanged   Trigger = "NodesChanged"   // a node came, went, or changed its state
	ClusterChanged Trigger = "ClusterChanged" // anything else of the cluster
	CloudRead      Trigger = "CloudRead"      // the cloud was read again
	TimePassed     Trigger = "TimePassed"     // the plan asked to be made again at this time
)

// Decision is one plan that acted or changed a verdict. Lists are cut; the number left out stands
// beside each.
type Decision struct {
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	Triggers []Trigger `json:"triggers"`
	// Summary is one line for a person.
	Summary string `json:"summary"`
	// TookMillis is how long deciding took.
	TookMillis float64 `json:"tookMillis"`
	// Steps is how much work deciding was, in steps.
	Steps int `json:"steps"`
	// StepsAllowed is the cycle's budget of steps: --decide-steps=N with this number gives the same plan again.
	StepsAllowed int `json:"stepsAllowed"`
	// Nodes is how many nodes it buys, LowerBound the least that any plan would need.
	Nodes      int      `json:"nodes"`
	LowerBound int      `json:"lowerBound"`
	Grow       []Growth `json:"grow,omitempty"`
	// Moves are those that begin.
	Moves     []model.MoveState `json:"moves,omitempty"`
	Calls     []Call            `json:"calls,omitempty"`
	MoreCalls int               `json:"moreCalls,omitempty"`
	Pending   []Pending         `json:"pending,omitempty"`
	MoreClass int               `json:"moreClasses,omitempty"`
	// Stays counts the nodes that stay, by reason.
	Stays map[model.Reason]int `json:"stays,omitempty"`
	// Changed are nodes whose verdict differs from that of the decision before.
	Changed     []Node `json:"changed,omitempty"`
	MoreChanged int    `json:"moreChanged,omitempty"`
	// Verdicts are what Pending and Changed refer to, by index: equal ones stand here once.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Made are the new nodes, as they become ready.
	Made []Made `json:"made,omitempty"`
}

// Growth is one group's part.
type Growth struct {
	Group provider.GroupID `json:"group"`
	From  int              `json:"from"`
	To    int              `json:"to"`
	Max   int              `json:"max"`
	Pods  int              `json:"pods"`
	Why   string           `json:"why,omitempty"`
}

// End is how a call ended.
type End string

// The ends. A call that is under way has none.
const (
	Done      End = "Done"
	Unchanged End = "Unchanged" // it was so already
	Unknown   End = "Unknown"   // it may have been done
	NotBegun  End = "NotBegun"
	Failed    End = "Failed"
)

// Call is one write, and what became of it.
type Call struct {
	ID       string              `json:"id"`
	Verb     model.Verb          `json:"verb"`
	Group    provider.GroupID    `json:"group,omitempty"`
	Node     string              `json:"node,omitempty"`
	Instance provider.InstanceID `json:"instance,omitempty"`
	Pod      string              `json:"pod,omitempty"`
	From     int                 `json:"from,omitempty"`
	To       int                 `json:"to,omitempty"`
	Reason   model.Reason        `json:"reason,omitempty"`
	Why      string              `json:"why,omitempty"`
	End      End                 `json:"end,omitempty"`
	Error    string              `json:"error,omitempty"`
	// Ended is when, zero while it is under way; TookMillis how long it took.
	Ended      time.Time `json:"ended,omitzero"`
	TookMillis float64   `json:"tookMillis,omitempty"`
}

// Subject is what the call is about.
func (c *Call) Subject() string {
	switch {
	case c.Pod != "":
		return c.Pod
	case c.Node != "":
		return c.Node
	case c.Instance != "":
		return string(c.Instance)
	}
	return string(c.Group)
}

// Pending is a class of pods that had no node.
type Pending struct {
	// Class is a namespace and what the names of its pods begin with, Digest the class itself.
	Class  string    `json:"class"`
	Digest string    `json:"digest"`
	Since  time.Time `json:"since,omitzero"`
	// Pods = Existing + Upcoming + Planned + Left + Delayed, as in the plan.
	Pods     int `json:"pods"`
	Existing int `json:"existing,omitempty"`
	Upcoming int `json:"upcoming,omitempty"`
	Planned  int `json:"planned,omitempty"`
	Left     int `json:"left,omitempty"`
	Delayed  int `json:"delayed,omitempty"`
	// Groups are the groups' verdicts; one without a group is about the class itself.
	Groups []GroupVerdict `json:"groups,omitempty"`
}

// GroupVerdict refers to a verdict of the decision.
type GroupVerdict struct {
	Group   provider.GroupID `json:"group,omitempty"`
	Verdict int              `json:"verdict"`
}

// Node is a node and its verdict in the decision.
type Node struct {
	Node    string           `json:"node"`
	Group   provider.GroupID `json:"group,omitempty"`
	Use     float64          `json:"use,omitempty"`
	Verdict int              `json:"verdict"`
}

// Verdict is a reasoned answer.
type Verdict struct {
	Reason model.Reason `json:"reason"`
	Detail string       `json:"detail,omitempty"`
	Since  time.Time    `json:"since,omitzero"`
	Until  time.Time    `json:"until,omitzero"`
	Fix    string       `json:"fix,omitempty"`
}

// Made is a new node: what was expected of it, and what it is.
type Made struct {
	Node  string           `json:"node"`
	Group provider.GroupID `json:"group"`
	// Created is when the Node came to be: another one may have its name later.
	Created time.Time `json:"created,omitzero"`
	// Ready is when it was first seen ready.
	Ready     time.Time `json:"ready"`
	Predicted Room      `json:"predicted"`
	Actual    Room      `json:"actual"`
	// Differs names labels and taints that differ from the template, "label zone: a, not b".
	Differs []string `json:"differs,omitempty"`
}

// Room is what a node offers to pods.
type Room struct {
	MilliCPU int64            `json:"milliCPU"`
	Memory   int64            `json:"memory"`
	Pods     int64            `json:"pods"`
	Other    map[string]int64 `json:"other,omitempty"`
}

func roomOf(r model.Resources) Room {
	room := Room{MilliCPU: r.MilliCPU, Memory: r.Memory, Pods: r.Pods}
	for _, a := range r.Extended {
		if room.Other == nil {
			room.Other = map[string]int64{}
		}
		room.Other[string(a.Name)] = a.Value
	}
	return room
}

// summary is the decision in one line: what it does, else what it changes.
func (d *Decision) summary() string {
	var parts []string
	for _, g := range d.Grow {
		if len(parts) == mostNamed {
			parts = append(parts, "and "+spelling.Count(len(d.Grow)-mostNamed, "more group"))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d→%d", g.Group, g.From, g.To))
	}
	var out []string
	if len(parts) > 0 {
		out = append(out, fmt.Sprintf("Buys %d: %s", d.Nodes, strings.Join(parts, ", ")))
	}
	for i := range d.Moves {
		out = append(out, "Begins a move, "+d.Moves[i].Text)
	}
	names := map[model.Verb][]string{}
	for i := range d.Calls {
		names[d.Calls[i].Verb] = append(names[d.Calls[i].Verb], d.Calls[i].Subject())
	}
	for _, say := range verbs {
		if n := names[say.verb]; len(n) > 0 {
			out = append(out, say.words+" "+named(n))
		}
	}
	waiting := 0
	for i := range d.Pending {
		waiting += d.Pending[i].Left
	}
	switch {
	case len(out) > 0:
	case waiting > 0:
		out = append(out, fmt.Sprintf("Buys nothing, and leaves %s pending", spelling.Count(waiting, "pod")))
	case len(d.Changed) > 0:
		n := len(d.Changed) + d.MoreChanged
		out = append(out, fmt.Sprintf("Another verdict for %s, %s first", spelling.Count(n, "node"), d.Changed[0].Node))
	default:
		out = append(out, "Nothing to do")
	}
	return strings.Join(out, "; ")
}

// verbs are how a summary speaks of calls, in this order. Growth stands for itself.
var verbs = []struct {
	verb  model.Verb
	words string
}{
	{model.Cancel, "Takes back requests of"}, {model.Remove, "Removes"}, {model.Taint, "Begins to remove"},
	{model.Cordon, "Cordons"}, {model.Evict, "Evicts"}, {model.Untaint, "Keeps after all"},
}

// mostNamed is how many subjects a summary names of a kind.
const mostNamed = 4

func named(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}
