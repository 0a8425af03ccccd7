// Package kubetest is an API server that fits in a test: an HTTP server on the
// loopback, with as much of the wire protocol of Kubernetes as client libraries of
// Go use, over objects in memory.
//
// What flows in: HTTP requests of a real client library, and hands of tests
// (Apply, Edit, Drop, SetRights, Arm). What flows out: discovery, lists, watches,
// objects, Status errors. It serves whatever kinds it is told to, in one or more
// versions. Writes are checked by resource version, changes of spec count
// generations, finalizers hold up deletion, the scale subresource is one, and a
// patch is a JSON merge patch. There is no schema, and nothing is validated.
//
// What happens by itself is the owner's: Controllers act on the objects, at the
// next request after something is due, when Timing says, or at once by Settle and
// Reconcile; a Dialect says how an object looks in a
// version, and what of a client's object is stored.
//
// It is no package of tests itself and imports nothing of this module: the clouds
// that fit in a test, clusterapitest and gardenertest, are made of it.
package kubetest
