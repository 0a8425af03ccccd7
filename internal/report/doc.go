// Package report shows people and machines what a cycle saw and decided: logs, events, metrics,
// health, and the status ConfigMap.
//
// What flows in: a model.Cycle per turn of the loop, and turns that failed. What flows out: lines
// of log, quiet while nothing changes; Kubernetes events, sent in the background and dropped rather
// than waited for; metrics in a registry of its own; an HTTP handler; and, while the process leads,
// the status ConfigMap, written in the background: a document for people and exporters, and beside
// it the memory that the next process begins with. It renders the cycle and reads nothing else. It
// remembers what it reported last, and what was promised to which pods, in order not to repeat
// itself.
//
// A cycle that has been handed over is frozen: its memory is written out after
// Report has returned.
//
// Package status, below this one, has the ConfigMap's content as a value.
//
// Who may import it: hosts (cmd). It imports model and provider, and fills the
// loop's port Reporter without importing it.
package report
