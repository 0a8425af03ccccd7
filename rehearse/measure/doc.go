// Package measure takes the figures that need a control plane: how fast a
// growth is, from the scale command until every pod has a node; what Plimsoll
// itself costs meanwhile; and what idle nodes cost.
//
// What flows in: Plimsoll's binary. What flows out: figures as values, each of
// which renders itself with how it was taken. The command `rehearse bench`
// prints them; nothing else imports the package. Processor time and memory are
// read from /proc, so that it measures on Linux alone.
package measure
