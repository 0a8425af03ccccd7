// Package hosttest is what a controller's reconciler is put between in a test: an API
// server in memory (Client) and events (Recorder). Both keep account, so that a test
// can say what was written and told, and in which order.
//
// What flows in: objects as YAML, then the reconciler's reads and writes. What flows out: the
// account. controller-runtime's in-memory client stores objects and answers conflicts, but it is no
// API server: field ownership after an apply, pruning and permissions are tested on a real one, in
// the module of rehearsals.
//
// It is no package of tests itself and imports nothing of this module; the tests of
// controllers import it.
package hosttest
