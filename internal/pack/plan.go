package pack

// Plan is what to buy, and what goes where.
type Plan struct {
	Patterns []Pattern // sorted by type, then by items; none is empty
	Unplaced []int     // by class: how many found no place
	Nodes    int
	Price    int64
	// NodeBound and PriceBound are proven: no plan that leaves as few items unplaced has
	// fewer nodes, or a lower price.
	NodeBound  int
	PriceBound int64
	Proof      Proof  // of PriceBound
	Method     Method // what found the plan
	Steps      int    // what was spent
	// Columns are the patterns on which the bound rests: the next cycle's Warm. They are
	// patterns that fit, with Nodes of zero, and no part of the plan.
	Columns []Pattern
}

// Pattern is a number of nodes of one type that hold the same items.
type Pattern struct {
	Type  int
	Items []Item // sorted by class
	Nodes int
}

// Item is a number of items of one class on one node.
type Item struct{ Class, Count int }

// Gap is by how much the plan's price may be above that of the best plan: 0.01 is one percent.
func (p *Plan) Gap() float64 {
	if p.PriceBound == 0 {
		return 0
	}
	return float64(p.Price-p.PriceBound) / float64(p.PriceBound)
}

// Method is a way to find a plan.
type Method string

const (
	MethodNone         Method = ""              // nothing could be placed
	MethodNextFit      Method = "next fit"      // once through the classes
	MethodLargestFirst Method = "largest first" // those with a limit per node before all others
	MethodDotProduct   Method = "dot product"   // what is most like the room that is left
	MethodBestFit      Method = "best fit"      // what leaves least room
	MethodMostItems    Method = "most items"    // smallest first, where not all can be placed
	MethodTypeLast     Method = "type last"     // packed into one type, then each node the cheapest that holds its load
	MethodColumns      Method = "columns"       // column generation, rounded
	MethodGroups       Method = "groups"        // column generation for groups of classes of nearly one size
	MethodDive         Method = "dive"          // column generation, rounded a little and generated again
)

// Proof is what a bound rests on.
type Proof string

const (
	ProofNone           Proof = ""
	ProofSums           Proof = "sums"            // of one resource over all items, or of a class with a limit per node
	ProofResourcePrices Proof = "resource prices" // a price for each resource at which no type costs less than it has
	ProofColumns        Proof = "columns"         // a price for each class at which no pattern costs less than it holds
)
