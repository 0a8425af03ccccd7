package sim

import "time"

// pace is how long a workload's pods take.
type pace struct {
	// Stop is how long they take to end, within their grace period; zero: some end soon, some use
	// it up.
	Stop Span
	// Start is from their binding to their readiness, for budgets.
	Start Span
}

// ordinaryStart is how long pods take to be ready by default.
var ordinaryStart = Span{time.Second, 10 * time.Second}

// The kinds of controllers that differ here: a StatefulSet replaces a pod only when the old one is
// gone; a pod without a controller is not replaced.
const (
	statefulSet  = "StatefulSet"
	noController = ""
)
