// Package migrate translates what runs a Cluster Autoscaler, or Karpenter, into what runs Plimsoll in its place.
//
// What flows in: the text of a file, either manifests with the autoscaler's Deployment among them, or values for its
// published Helm chart. What flows out: the same kind of text for Plimsoll, and notes that explain every difference: a
// flag that has no effect, a right that is missing, what to do next. Or an error that names each field that cannot be
// translated; then nothing flows out.
//
// In the middle is one value, the installation: flags, variables, replicas, limits, and where each is written. Of each
// form there is a reader that fills it (objects.go, values.go) and a printer that writes it (objects.go,
// valuesprint.go); what is translated, hidden, refused or told of it is asked once, in installation.go.
//
// The flags are read by internal/config, so that what is kept here is what a run takes, and what is dropped is what a
// run would warn of, in the same words. Where something cannot be carried over, it is dropped with a note: the output
// must run as it is. A value of a chart that is not its default is carried over or told, by one table of all that the
// chart has. A secret that is written out is neither in the translation nor in a note or an error: in its place is a
// reference. Nothing of an input is executed, and no cluster is asked.
//
// Karpenter's NodePools and node classes are a third form (karpenter.go), which becomes a configuration file
// (karpenterprint.go): it has no installation, and the node groups that take its place are told of, since a person
// creates them.
//
// Who may import it: hosts (cmd). It imports config.
package migrate
