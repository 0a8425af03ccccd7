// Package observe is the only steady reader of the world: it watches the
// cluster, reads the cloud in the background, and gives both as one consistent
// model.Observation.
//
// What flows in: watch events of the API server, one reflector per kind, and
// the provider's inventories. Each object is cut down to what is needed before
// it is stored: a pod becomes a row of a few words whose content lies in the
// catalog, and the v1.Pod itself is never kept. What flows out: Observe, which
// only takes together what is known already, and Changed, a signal that the
// loop should look.
//
// An Observation is frozen. Slices that were handed out are never written
// again: a node's pods are copied before the first change that follows.
//
// The cloud is never waited for. A read that failed, or that says that nothing
// is there where something was, leaves the last good picture in place and is
// told in Observation.InventoryErr.
//
// Who may import it: hosts (cmd). It imports model, catalog and provider, and
// fills the loop's port Observer without importing it.
package observe
