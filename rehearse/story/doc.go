// Package story tells in a terminal what an autoscaler does, on a real control
// plane: growth, where Deployments grow and shrink and nodes come and go; affinity,
// where the same workload arrives twice in the same cluster, free and bound to one
// group by a required node affinity; EKS, where a simulated AWS has a node group of
// more labels than there may be tags; EKS Anywhere, where the autoscaler owns the
// size of a worker group of a real Cluster API; money, where a fleet that was bought for a
// peak shrinks, and moves to cheaper nodes; and Gardener, where the limits of
// worker pools are spread over zones in three ways, and one zone has no quota.
//
// A story is numbered steps on a stage (package stage): set the scene, change
// something, wait for what must happen, count. What flows out: lines and frames
// on a Screen while it happens, and a result that renders as a table. What must
// happen and does not within its time is an error that says so. The command
// `rehearse demo` opens the stage, plays, and closes it.
package story
