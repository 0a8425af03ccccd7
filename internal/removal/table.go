package removal

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// kind is a kind of event, a row of the table. Of which kind an Event is depends on what is
// known of the removal so far.
type kind uint8

// The kinds, in the order in which a removal usually meets them.
const (
	taintBegun kind = iota
	taintDone
	taintRefused
	taintNotBegun
	cordonBegun
	cordonDone
	cordonUnknown
	cordonRefused
	cordonNotBegun
	evictionBegun
	evictionEnded
	podLeft
	removeBegun
	removeDone
	removeUnknown
	removeBusy
	removeRefused
	removeNotBegun
	machineDeleting
	machineGone
	machineOther
	machineTakesOver
	machineRunsYet
	machineRuns
	nodeGone
	untaintBegun
	untaintDone
	untaintFailed
	untaintNotBegun
	foundTaint
	foundNote
	recalledFreed
	recalledOpen
	remembering
	kinds
)

// none is the stage of a node that is not on its way out.
const none model.Stage = ""

// stages are the columns of the table.
var stages = [...]model.Stage{
	none, model.Tainting, model.Tainted, model.Cordoning, model.Evicting, model.Removing, model.Removed, model.RollingBack,
}

// cell is what the table says: the stage after an event, or one of those below.
type cell string

const (
	// ends: the removal is over.
	ends cell = "over"
	// stays: the stage stays what it is.
	stays cell = "."
	// before: the stage is what it was before the call. At most one write to a node is
	// under way, so the drain itself remembers what it was.
	before cell = "before"
	// never: this cannot happen. If it does, nothing changes.
	never cell = "-"

	tainting    = cell(model.Tainting)
	tainted     = cell(model.Tainted)
	cordoning   = cell(model.Cordoning)
	evicting    = cell(model.Evicting)
	removing    = cell(model.Removing)
	removed     = cell(model.Removed)
	rollingBack = cell(model.RollingBack)
)

// row is a kind of event in words, and what becomes of a removal in each stage.
type row struct {
	when string
	to   [len(stages)]cell
}

// table is the life of a removal. Columns are the stages in their order: none, Tainting,
// Tainted, Cordoning, Evicting, Removing, Removed, RollingBack.
//
// The legend below has the conditions of some kinds of event.
var table = [kinds]row{
	taintBegun: {"Taint begins",
		[...]cell{tainting, never, never, never, never, never, never, never}},
	taintDone: {"Taint: done or unknown",
		[...]cell{never, tainted, never, never, never, never, never, never}},
	taintRefused: {"Taint: refused",
		[...]cell{never, ends, never, never, never, never, never, never}},
	taintNotBegun: {"Taint: not begun, or conflict",
		[...]cell{never, ends, never, never, never, never, never, never}},

	cordonBegun: {"Cordon begins",
		[...]cell{never, never, cordoning, never, never, never, never, never}},
	cordonDone: {"Cordon: done",
		[...]cell{never, never, never, evicting, never, never, never, never}},
	cordonUnknown: {"Cordon: unknown",
		[...]cell{never, never, never, tainted, never, never, never, never}},
	cordonRefused: {"Cordon: refused, or pod landed",
		[...]cell{never, never, never, rollingBack, never, never, never, never}},
	cordonNotBegun: {"Cordon: not begun",
		[...]cell{never, never, never, before, never, never, never, never}},

	evictionBegun: {"Evict begins",
		[...]cell{never, never, never, never, stays, never, never, never}},
	evictionEnded: {"Evict: any answer",
		[...]cell{stays, stays, stays, stays, stays, stays, stays, stays}},
	podLeft: {"an evicted pod has left",
		[...]cell{stays, stays, stays, stays, stays, stays, stays, stays}},

	removeBegun: {"Remove begins",
		[...]cell{never, never, removing, never, removing, never, never, never}},
	removeDone: {"Remove: done",
		[...]cell{never, never, never, never, never, removed, never, never}},
	removeUnknown: {"Remove: unknown",
		[...]cell{never, never, never, never, never, stays, never, never}},
	removeBusy: {"Remove: the cloud is busy",
		[...]cell{never, never, never, never, never, before, never, never}},
	removeRefused: {"Remove: refused, or pod landed",
		[...]cell{never, never, never, never, never, rollingBack, never, never}},
	removeNotBegun: {"Remove: not begun",
		[...]cell{never, never, never, never, never, before, never, never}},

	machineDeleting: {"machine: being deleted",
		[...]cell{stays, stays, removed, stays, removed, removed, stays, stays}},
	machineGone: {"machine: gone",
		[...]cell{stays, stays, stays, stays, stays, removed, stays, stays}},
	machineOther: {"machine: another of that name",
		[...]cell{stays, stays, stays, stays, stays, ends, ends, stays}},
	machineTakesOver: {"machine: another of that id",
		[...]cell{stays, stays, stays, stays, stays, rollingBack, rollingBack, stays}},
	machineRunsYet: {"machine: runs, soon after a yes",
		[...]cell{stays, stays, stays, stays, stays, tainted, stays, stays}},
	machineRuns: {"machine: runs",
		[...]cell{stays, stays, stays, stays, stays, tainted, tainted, stays}},
	nodeGone: {"node: gone",
		[...]cell{stays, ends, ends, ends, ends, ends, ends, ends}},

	untaintBegun: {"Untaint begins",
		[...]cell{never, never, rollingBack, never, rollingBack, never, never, stays}},
	untaintDone: {"Untaint: done",
		[...]cell{never, never, never, never, never, never, never, ends}},
	untaintFailed: {"Untaint: refused or unknown",
		[...]cell{never, never, never, never, never, never, never, stays}},
	untaintNotBegun: {"Untaint: not begun",
		[...]cell{never, never, never, never, never, never, never, before}},

	foundTaint: {"found: a taint that is not ours",
		[...]cell{tainted, stays, stays, stays, stays, stays, stays, stays}},
	foundNote: {"found: an annotation, no taint",
		[...]cell{rollingBack, stays, stays, stays, stays, stays, stays, stays}},
	recalledFreed: {"restart: the taint is gone",
		[...]cell{never, never, ends, never, ends, ends, never, ends}},
	recalledOpen: {"restart: a taint, but no cordon",
		[...]cell{never, never, stays, never, tainted, stays, never, stays}},
	remembering: {"memory: what is written into it",
		[...]cell{never, ends, stays, tainted, stays, stays, ends, stays}},
}

// after looks up what becomes of a stage.
func after(s model.Stage, h kind) cell {
	for i := range stages {
		if stages[i] == s {
			return table[h].to[i]
		}
	}
	return never
}

// legend explains the cells of the table.
const legend = `Stages are columns, and rows are what happens: the stage after it, or
  .       nothing changes
  -       cannot happen
  before  the stage before the call
  over    the node is gone, or untainted and kept; in a memory, nothing is remembered

Unknown: the call got no clear answer, so it may have been carried out. Busy: the sixth busy answer counts
as refused. In Removing and Removed, a read of the machine counts only if it is newer than the stage, the
group could be read, and no call is in flight. In earlier stages one thing counts, at once: the machine
is being deleted. "Another of that id": made after the one that was removed, with a node that is ready two
minutes later. "A yes": the cloud accepted Remove. "Soon": within two minutes. Restart: a new leader
compares what it remembers with the node, then looks for removals that it does not remember.
It goes by the memory, which has no removal of an empty node: its taint says enough.

`

// printed is the table for people: a row for each kind of event, a column for each
// stage.
func printed() string {
	lines := [][]string{{""}}
	for _, s := range stages {
		lines[0] = append(lines[0], cmp.Or(string(s), "(none)"))
	}
	for _, r := range table {
		line := []string{r.when}
		for _, to := range r.to {
			line = append(line, string(to))
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], len(text))
		}
	}
	var b strings.Builder
	b.WriteString(legend)
	for _, line := range lines {
		text := ""
		for i := range line {
			text += fmt.Sprintf("%-*s ", widths[i], line[i])
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return b.String()
}
