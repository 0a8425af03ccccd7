// Package supervise keeps a group of child processes: it starts them in an
// order, asks each whether it is ready, notices one that dies and says so with
// the end of its log, or starts it again, and ends them all in reverse order.
//
// What flows in: Process values. What flows out: process ids, states and one
// error for the first unexpected death. It knows nothing of Kubernetes; package
// controlplane describes the components, and package autoscaler Plimsoll itself.
//
// Children must not outlive their parent, however it ends. Three nets hold them:
// Stop, for an orderly end; the parent-death signal, where the kernel has one;
// and for a Process with EndsWithParent the end of its standard input, which
// every system delivers.
package supervise
