// Package shadow says what a process that only observes would have done, and how far it agrees
// with what other clients did.
//
// What flows in: the snapshot and the plan of each cycle that decided, and the Book, which
// remembers what was reported. What flows out: News, sorted. Nothing here reads a clock, a cluster
// or a file.
//
// An observer sees the same need in each cycle until another actor meets it, and plans for it each
// time. It would have made one call, so that is reported once.
//
//   - A scale-up is reported when it begins, and again when more nodes are needed. It is
//     over when its group has reached the size, or when none of the pods that it was
//     for waits any more and the cloud, read after that, does not say why.
//   - The removal of a node is reported when it would begin, and again only if the node
//     has been needed in between. The taint that would come first never does, so that
//     nothing is known of what would follow.
//   - Any other call is reported when a plan has it that the plan before had not.
//   - What continues or rolls back a removal is not reported: each removal under way is another client's.
//
// Where it is unknown whether another actor has acted, we err to not reporting.
//
// Who may import it: report, which shows it. It imports model and provider.
package shadow
