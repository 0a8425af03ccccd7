// Package e2e holds the end-to-end scripts: the shipped plimsoll binary on a real
// control plane, with the real scheduler as the judge of every plan.
//
// What flows in: bin/plimsoll, built by `make build`, and the scripts in
// testdata, each opening with what it is to prove. What flows out: a test per
// script. A script declares node groups, starts Plimsoll, applies workloads and
// waits for conditions; nothing sleeps. After each growth the command `bound`
// waits until the real scheduler has bound every pod, and holds Plimsoll to its
// metric plimsoll_plan_divergence_total.
//
// One control plane serves all scripts of testdata, one after the other, each
// with a namespace, node groups and a Plimsoll of its own. The scripts of
// testdata/crash kill components, and have a control plane each. Those of
// testdata/aws share another one, beside which a simulated AWS has the nodes, and
// those of testdata/clusterapi a third, beside which the real Cluster API controllers
// have them. The rights of Plimsoll's service account are taken away one by one in
// rights_test.go.
//
// The package is tests alone: nothing imports it.
package e2e
