// Package host is what the controllers beside the loop have in common: how one runs as a process of
// its own (Host), how it sends events (Tell), and what happens after a write conflict.
//
// What flows in: a connection to an API server and what a person said on the command
// line. What flows out: a manager of controller-runtime with leader election, metrics
// and health checks, and events. It knows no kind of object; which kinds must be
// served, and what is cached of them, each controller says itself.
//
// Controllers and their hosts import it. It imports nothing of this module.
package host
