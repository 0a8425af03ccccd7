// Package providertest is the test support of the provider contract, for the
// authors of providers and for this project alike. It holds two things.
//
// Run is the conformance suite: a case for each rule of package provider,
// played against a Subject, which is a provider, and a Door, the back door to
// its cloud. A provider is tested as it ships, with its real client library,
// against a server that speaks the cloud's wire protocol; the Door is how the
// suite makes that server slow, broken or changed by hand. A case that a cloud
// cannot play is named, with the reason, in Subject.Lacks; none is left out in
// silence.
//
// Cloud is the one in-memory cloud: a provider with no wire, whose clock is
// given to it and whose faults are on demand. It starts no goroutine and reads
// no other clock, so the same calls at the same times give the same answers.
// Unit tests use it, and the virtual world runs on it.
//
// The package imports testing, since the suite is made of tests: import it from
// test files and from hosts that simulate, never from a product's path.
package providertest
