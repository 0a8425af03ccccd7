// Package provider is the contract between Plimsoll and a cloud.
//
// A provider answers one question (Inventory: what groups are there, how large should each be,
// which machines does it have) and carries out three writes (Grow, Remove, Cancel). A provider
// decides nothing.
//
// What flows in: requests, each a struct that says what the caller believes
// the world to be (From) and what it should become (To). What flows out:
// values that survive JSON, so that a cycle can be recorded and replayed.
// Fields may be added to any struct here without breaking an author.
//
// Who may import it: everybody. It imports k8s.io/api and k8s.io/apimachinery and nothing else of
// Kubernetes, so that providers do not depend on a scheduler.
//
// # The rules
//
// The conformance suite (package providertest) has a case for each of these.
//
//   - P1: every call has the caller's deadline. At the deadline a write
//     returns an *Error with MayHaveHappened set, and no lock is held over I/O.
//   - P2: read your writes. Once a write has returned, no Inventory that
//     begins afterwards shows an older target.
//   - P3: the caller makes at most one write per pool (else per group) at a
//     time. Inventory may run beside it.
//   - P4: a group's Max and its pool's Max are hard: the provider has the last
//     word, against a fresh read. Min is enforced by Remove, unless forced.
//   - P5: a unit that the provider can name is an Instance and is ended by
//     Remove. A unit that it cannot name is an anonymous request and is ended
//     by Cancel.
//   - P6: a node belongs to an instance by its exact provider id, else by the
//     node's name. The provider normalises its own formats.
//   - P7: a failed or partial read is an error, in Inventory's error or in the
//     group's Err. It is never an empty answer.
//   - P8: what a provider cannot do rightly is a Hold with the reason
//     Unsupported, not a wrong count.
//   - P9: a removal with a condition ends only what meets it by the last read
//     before the write.
//
// docs/providers.md explains how to write one.
package provider
