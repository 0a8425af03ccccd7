package sim

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is wrong answers of the cloud that look like good ones, and late ones.
const (
	// Reads take up to what every says longer. After a minute the reader gives up.
	readSlow What = "reads=slow"
	// Groups are shown as they were when the fault began, with a fresh date.
	readLies What = "reads=lies"
	// A share of the instances is not listed.
	readPartial What = "reads=partial"
)

// readKinds are the faults of this file.
var readKinds = []What{readSlow, readLies, readPartial}

// readDeadline is how long a reader waits for an answer.
const readDeadline = time.Minute

// readTakes is how long a read takes.
func (w *world) readTakes() time.Duration {
	took := w.settings.Lags.Read.draw(w.dice.cloud)
	if f := w.meets(readSlow, nil, ""); f != nil {
		took += Span{0, f.Every}.draw(w.dice.faults)
	}
	if w.meets(readHang, nil, "") != nil {
		took += readDeadline
	}
	return took
}

// belied is what an answer tells of a group instead of the truth.
func (w *world) belied(own *group, g provider.Group) provider.Group {
	if f := w.meets(readLies, own, zoneOf(own)); f != nil {
		if i := slices.IndexFunc(f.frozen.Groups, func(o provider.Group) bool { return o.ID == g.ID }); i >= 0 {
			g = f.frozen.Groups[i]
			g.Instances, g.Holds = slices.Clone(g.Instances), slices.Clone(g.Holds)
		}
	}
	g.Instances = slices.DeleteFunc(g.Instances, func(in provider.Instance) bool {
		return w.meets(readPartial, own, in.Zone) != nil
	})
	return g
}
