// Package model holds the values that flow through Plimsoll, and nothing that
// acts on the world.
//
// An Observation is what was seen, in one moment. A Snapshot is an Observation
// made ready to decide on: pods folded into classes (pods that the scheduler
// cannot tell apart), nodes into shapes, the ledger's knowledge of what is on
// its way added as upcoming nodes, all of it sorted and frozen. A Plan is what
// was decided: calls, the scale-ups behind them, and a verdict with a reason for
// all that was not done. A Cycle is a Snapshot and the Plan made from it.
//
// What flows in: Kubernetes objects, already read. What flows out: values.
// Nothing here reads a clock or does I/O; a Snapshot carries its own Now and
// its own Seed.
//
// Who may import it: every package but provider and the providers. It imports
// provider (data types) and the Kubernetes API types.
package model
