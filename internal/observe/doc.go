// Package observe is the only steady reader of the world: it watches the
// cluster, reads the cloud in the background, and gives both as one consistent
// model.Observation.
//
// What flows in: watch events of the API server, one reflector per kind, and the provider's
// inventories. Each object is cut down to what is needed before it is stored: a pod becomes a row
// of a few words whose content lies in the catalog, and the v1.Pod itself is never kept. What flows
// out: Observe, which combines what is known already, and Changed, a signal that the loop should
// look.
//
// An Observation is frozen. Slices that were handed out are never written
// again: a node's pods are copied before the first change that follows.
//
// Observe never waits for the cloud. A read that fails, or that shows nothing where something was,
// keeps the last good picture and sets Observation.InventoryErr.
//
// Who may import it: hosts (cmd). It imports model, catalog and provider, and
// fills the loop's port Observer without importing it.
package observe
