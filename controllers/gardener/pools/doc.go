// Package pools decides for the worker pools of one Gardener shoot: which machine deployments there
// must be, one for each zone of a pool (Cluster.Zones), what must be written to those that are
// there (MakePlan), how the autoscaler beside them is started (commandLine, Deployment), and
// whether the user's spec is valid (Validate, ValidateShoot).
//
// Everything here is values in, values out: no clock, no clients, no order that depends on a map.
// What flows in is a Shoot, or a Worker and the Shoot behind it, as FromShoot and FromWorker bring
// them into one form, and the machine deployments as Read found them. What flows out is printed by
// `plimsoll gardener`, or carried out by package gardener; no other package imports it.
//
// Two sentences govern all of it. The limits that hold are the pool's: a zone's
// share of them is where a new machine deployment begins, and never a bound. And
// the replicas belong to the autoscaler: inside the pool's limits they are not
// moved.
package pools
