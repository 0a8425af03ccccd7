// Package explain answers why: why a pod has no node, why a node is still here, what keeps a group
// from growing, and what would change that.
//
// What flows in: one turn of the loop (model.Cycle: the snapshot and the plan that was made of it)
// and the policy. What flows out: answers as plain values with JSON tags. The command line, the API,
// the page and the status only render them. A fix that is named was tried: the constraint was relaxed
// in a copy of the snapshot, and the same filters and the same limits were asked again.
//
// It is pure, as deciding is: no clock, no I/O, sorted output. Work is bounded in steps.
//
// Who may import it: hosts (cmd), cli, and what serves answers over HTTP.
package explain
