package growth

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// tie says how an instance stands to its node.
type tie uint8

const (
	unbound  tie = iota // no node of it has been seen
	bound               // it has its node
	strayed             // its node is there, and no id leads to it: the cloud has another id for it
	released            // its node went on purpose, and the instance is still there
	lost                // it has lost its node, and its end had not been asked for
	// presumedLost: the loss was not seen, and the instance is too old to be on its way.
	presumedLost
)

// machine is what is known of one instance.
type machine struct {
	tie tie
	// since is when the tie became what it is: of a bound one, when the node was created.
	since time.Time
	node  string // its node; of a strayed one the node that it had
	state model.NodeState
	turn  uint64 // of the fold that last saw it
	// ready is when its node turned ready, by the node's own word, if it was ready when it was first known to be this
	// machine's; zero if it was not.
	ready time.Time
	// counted: the target counts the node. ends: the node goes since its machine does.
	counted, ends bool

	// listed is when it was there at the latest: at the first look that is the date of the picture, which may be old.
	listed time.Time

	left  time.Time // when pictures began to lack it
	dated time.Time // when it was made, by the cloud's word; zero: it gives none
	first time.Time // when it was first seen; zero: not yet
	least time.Time // it cannot be older: the picture before that lacked it; zero: unknown
	// removed is when our last removal of it ended; zero: there was none.
	removed time.Time
	// deadline is set once it is left without the node that it had: its time to register
	// runs from then on.
	deadline model.Deadline
	// asked: it is some ask's unit, or was there without one.
	asked bool
	// failed: that the cloud could not make it is on record.
	failed  bool
	failing failing
	// absent counts the pictures in a row that lack it, the last as of absentAt.
	absent   int
	absentAt time.Time
}

// readySince is when the node of a machine became ready that is found to be: now, or, where it was not known to be
// the machine's before, what the node itself says. What completes a node has had all that time. A time that cannot be
// is none.
func (in *machine) readySince(f *Fold) time.Time {
	if at := in.ready; !at.IsZero() && !at.Before(in.since) && at.Before(f.Seen.Now) {
		return at
	}
	return f.Seen.Now
}

// mostUnlisted is for how long the answers of a cloud may lack a machine that runs.
const mostUnlisted = 6 * time.Hour

// forgotten is when a machine is forgotten that pictures lack. One that has lost its node may be anything once its
// time to register is over. Of others the age must be known for as long as they may be listed again: a node that is
// there may be theirs under another id, and is not if it is older. Without a date, another machine may have the id.
func (in *machine) forgotten(provision time.Duration) time.Time {
	switch {
	case in.leftWithoutNode():
		return in.deadline.From(in.since).Add(provision)
	case in.dated.IsZero():
		return in.left.Add(provision)
	}
	return in.left.Add(max(provision, mostUnlisted))
}

// leftWithoutNode reports whether a machine has lost its node, and its own removal has not begun.
func (in *machine) leftWithoutNode() bool {
	return (in.tie == lost || in.tie == presumedLost) && in.removed.IsZero()
}

// failing counts the pictures in a row that show that the cloud fails to make an instance,
// and tries again: how many, since when, and the AsOf of the last.
type failing struct {
	looks       int
	since, last time.Time
}
