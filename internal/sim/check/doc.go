// Package check is an independent judge of an autoscaler in a virtual world. It knows what is true,
// what the flags say, and what must never happen and what must in the end; it asks the product
// nothing, and imports nothing of it.
//
// What flows in: facts, one Event each, in the order in which they become true: what the cloud has,
// what the cluster has, what the autoscaler asks for and what it says that for, which faults last
// and what people do. What flows out: the rules that were broken (Broken), and how often each rule
// was put to the test (Tested): a rule that was never tested proves nothing. Once all faults are
// over, the world tells more, and asks what must have come about in the end (AtRest).
//
// Each rule is a row of a table, with its name and its sentence. Where the judge cannot know, it errs
// to silence: a breach is to be worth the time of the person who reads it.
//
// Who may import it: internal/sim.
package check
