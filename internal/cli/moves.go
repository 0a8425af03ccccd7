package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func moveHead(w io.Writer) {
	row(w, "MOVE", "NODES THAT GO", "REASON", "STAGE", "GONE", "PODS", "COST/H", "WAITS FOR")
}

// moveRow is a move in a table.
func moveRow(w io.Writer, m *model.MoveState, now time.Time, all bool) {
	row(w, m.Text, someNames(m.Goes, all), string(m.Reason), m.Stage, fmt.Sprintf("%d of %d", m.Left, len(m.Goes)),
		fmt.Sprint(m.Pods), fmt.Sprintf("%.2f → %.2f", m.Before, m.After), moveWaits(m, now))
}

// moveWaits says what a move waits for, or why it ended.
func moveWaits(m *model.MoveState, now time.Time) string {
	var parts []string
	if m.WaitsFor != "" {
		parts = append(parts, m.WaitsFor)
	}
	switch {
	case m.Over() && m.Until.After(now):
		parts = append(parts, "its nodes rest for "+duration.HumanDuration(m.Until.Sub(now)))
	case m.Until.After(now):
		parts = append(parts, "wait "+duration.HumanDuration(m.Until.Sub(now)))
	case m.Fix != "" && m.Stage == model.MoveWaits:
		parts = append(parts, "would change with: "+m.Fix)
	}
	return strings.Join(parts, "; ")
}

// someNames lists names, the first few of many.
func someNames(names []string, all bool) string {
	const few = 3
	if all || len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
