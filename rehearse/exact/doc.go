// Package exact plays rounds of random workloads on a real control plane, and holds what Plimsoll does to what the real
// scheduler says: all that can run runs, no plan had room that the scheduler's filters do not allow, no more nodes come
// than the plans say, what stays pending does so for the reason that is told, and in the end all nodes go.
//
// A Round is drawn from a seed, by numbers alone: node groups, and workloads that are made so that it is known from the
// start how many of their pods can run. The judge so knows nothing of Plimsoll's own rules.
//
// What flows in: seeds, and Plimsoll's binary. What flows out: a Result for each round, or an error that says what was
// not as it must be. The command `rehearse exact` prints them; nothing else imports the package.
package exact
