// Package sim is a virtual world in which the production loop runs: a cluster, a cloud and people,
// all of them in virtual time. None of them can be trusted.
//
//	cloud (providertest.Cloud) → machines → kubelets → nodes ─┐
//	workloads, DaemonSets → pods → a scheduler ───────────────┤ the truth
//	budgets → a disruption controller → the Eviction API ─────┤
//	                                                          ↓ lags, lies
//	loop.Loop ← Observer         act.Actor → requests: late, lost, refused
//	    └→ Reporter → timeline, memory, judge
//
// What flows in: a seed, groups, workloads and budgets, faults with the time that
// they last, and what people do at which instant; in Go, or as the text of a script
// (Script). What flows out: a timeline for a person, and what the judge found (package check):
// rules that were broken in some cycle (safety), or that do not hold once the
// world has been at peace for long enough (liveness).
//
// It is an Observer and a Reporter, and the host that drives the loop: turns come when due or soon
// after a nudge, calls begin late and end later, a leader dies between any two requests and the next
// begins with what it finds. The loop, decide, the ledger and act are those that ship. The
// scheduler that binds pods is kube-scheduler's own filters and scores (kubesched), about the truth.
//
// One heap of events, and coroutines for the jobs of act of which one runs at a time: the same seed
// gives the same bytes.
//
// Who may import it: hosts, tests and benchmarks. It may import everything
// below them.
package sim
