// Package pack finds what to buy for a number of items: how many nodes of which types, with what on
// each, so that as many items as can be have a place, for the lowest price, on the fewest nodes. It
// proves how much better any other plan could be.
//
// In: a Problem. Classes of items that are alike, with a request by resource, a count, and at most so
// many on a node; types of nodes with capacity, price, limit, zone, and which classes they may hold.
// What a resource, a zone or a class stands for is the caller's: the package knows numbers only, imports
// nothing of this module, and anybody may import it. Out: a Plan.
//
// # How
//
// Fold (fold.go): equal classes become one, types that differ in their zone alone become one kind, and
// what cannot matter is left out. Unfold (unfold.go) is the way back: kinds to types, evenly over zones.
//
// Go through the classes once (greedy.go: nextFit). This plan is there whatever the budget is.
//
// Try what is cheap (solve.go: heuristics; greedy.go): largest first, dot product, best fit; each over
// several types at once, and each into one type with the type of every node chosen last.
//
// Generate columns (columns.go). A column is a pattern: a kind with a load. The cheapest amounts of
// patterns that hold all items are a linear program (simplex.go) with more columns than can be listed.
// Those that make it cheaper are found by a knapsack (knapsack.go, relax.go) over what an item of
// each class is worth at the moment. Round the amounts to whole nodes and pack the rest (round.go), or
// dive: round a little, generate columns for what is left, and so on.
//
// Of too many classes for that, those of nearly one size are taken for one, as large as the largest, and
// each node of the plan is filled with items in their own sizes (groups.go).
//
// Bound (bound.go): prices for items at which no node is worth more than it costs. Three ways: sums of
// requests, prices for resources, and the program's own prices divided by their largest excess, which
// hold wherever the search stops. The highest is the plan's.
//
// # Effort
//
// The budget is in steps, of some 25 ns each, and never in time: the same problem gives the same plan.
// Nothing depends on chance, on the order of a map, or on whether a machine fuses multiplication and
// addition. With C folded classes, K kinds, R resources:
//
//	fold              C·K·R, once
//	next fit          C·K, once
//	largest first     a node: the classes that it takes, and log C for what is skipped
//	dot, best fit     a node: C·R for each item that it takes
//	a simplex step    what is not zero in the triangles of the basis (factors.go) and in 16 columns
//	                  since, and the columns there are. It grows with C²; more than 1,200 classes, or
//	                  fewer with a small budget, are packed in 150 groups
//	a knapsack        what it is allowed, from 400 + 10·C steps on; its bound holds if it ends early
//
// Requests and capacities may be any int64: what must fit is compared in whole numbers. Prices for items
// are floating point, with a margin far above its errors on the safe side.
package pack
