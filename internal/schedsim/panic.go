package schedsim

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file handles plugins that panic: a bug in them must not crash the process over and over
// while one pod exists.

// Panicked is a class that a plugin panicked on, and what it said.
type Panicked struct {
	Class model.ClassID
	Words string
}

// Panicked lists the classes that plugins panicked on since the world was loaded.
// They are refused everywhere from then on; the next world asks about them again.
func (w *World) Panicked() []Panicked { return w.panicked }

// catch is deferred where plugins are asked about a class, and turns a panic into a
// refusal by every node.
func (w *World) catch(c model.ClassID, no **rejection) {
	p := recover()
	if p == nil {
		return
	}
	words := panicked(p)
	// The next world takes over what is known of the class, but not this.
	own := *w.classes[c].traits
	own.unsupported, own.refused = words, model.FilterPanicked
	w.classes[c].traits = &own
	w.panicked = append(w.panicked, Panicked{c, words})
	*no = own.refusal()
}

// panicked says what a panic was about, and where in the code.
func panicked(p any) string {
	what := fmt.Sprint(p)
	if most := 200; len(what) > most {
		what = what[:most] + "..."
	}
	where := "an unknown place"
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for raised := false; ; {
		f, more := frames.Next()
		switch own := strings.HasPrefix(f.Function, "runtime."); {
		case own && (strings.HasSuffix(f.Function, "panic") || strings.HasSuffix(f.Function, "panicmem")):
			raised = true
		case raised && !own:
			where, more = fmt.Sprintf("%s:%d", f.Function, f.Line), false
		}
		if !more {
			return fmt.Sprintf("the scheduler's filters panicked on it: %s (%s)", what, where)
		}
	}
}
