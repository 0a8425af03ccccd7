package model

import (
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// MostPrice is above what a node costs by the hour in any currency, and small enough that sums of prices are exact to
// the cent.
const MostPrice = 1e9

// IsPrice reports whether a number can be what a node costs by the hour.
func IsPrice(perHour float64) bool { return perHour >= 0 && perHour <= MostPrice }

// Prices are what the operator says nodes cost per hour. nil: nothing is said. They do not change.
type Prices struct {
	// Currency is that of all amounts, such as USD; empty: not told.
	Currency string
	// Names are prices of groups by their id, or of instance types.
	Names map[string]float64
	// Groups are prices of groups alone.
	Groups map[provider.GroupID]float64
	// Instances are prices by type, zone and capacity type.
	Instances []provider.Price
	// PerCore and PerGiB make a price of what a node has; nil: they make none.
	PerCore, PerGiB *float64
	// PerUnit are prices of one of an extended resource, such as a GPU, beside cores and memory.
	PerUnit map[corev1.ResourceName]float64
	// Commitments hold for a part of the nodes only: see Fleet.
	Commitments []Commitment
	// ReservedUnread: the cloud has commitments that cannot be read. What is not spot may cost less than its price then,
	// which is not known.
	ReservedUnread bool
}

// WithGroup is the prices with another one for a group.
func (p *Prices) WithGroup(id provider.GroupID, price float64) *Prices {
	out := Prices{}
	if p != nil {
		out = *p
	}
	groups := map[provider.GroupID]float64{id: price}
	for g, price := range out.Groups {
		if g != id {
			groups[g] = price
		}
	}
	out.Groups = groups
	return &out
}

// Of is what a node costs per hour, or would cost as its group's template. The operator's price for
// its group counts first, then the operator's for its instance type, then the provider's, then the
// operator's for cores, memory and accelerators. The group is nil for a node of no group. ok is false where none
// of these is known: an unknown price is never zero.
func (p *Prices) Of(g *Group, node *Shape) (price float64, ok bool) {
	if p == nil {
		return ofProvider(g, node)
	}
	if p.ReservedUnread && capacityOf(g, node.Node.Labels) != provider.Spot {
		return 0, false
	}
	if g != nil {
		if price, ok = p.Groups[g.ID]; ok {
			return price, true
		}
		if price, ok = p.Names[string(g.ID)]; ok {
			return price, true
		}
	}
	if price, ok = dearest(p.Instances, g, node); ok {
		return price, true
	}
	if price, ok = p.Names[node.Node.Labels[corev1.LabelInstanceTypeStable]]; ok {
		return price, true
	}
	if !p.Foreign(g) {
		if price, ok = ofProvider(g, node); ok {
			return price, true
		}
	}
	return p.ofParts(node)
}

// ofParts is the price of what a node has. Accelerators cost more than the rest of their node as a rule: with one
// that has no price of its own, the node has none.
func (p *Prices) ofParts(node *Shape) (price float64, ok bool) {
	has := whatIs(node)
	if p.PerCore == nil || p.PerGiB == nil || has.MilliCPU <= 0 || has.Memory <= 0 || p.Unpriced(node) != "" {
		return 0, false
	}
	price = *p.PerCore*float64(has.MilliCPU)/1000 + *p.PerGiB*float64(has.Memory)/(1<<30)
	for _, x := range has.Extended {
		price += p.PerUnit[x.Name] * float64(x.Value)
	}
	return price, price <= MostPrice
}

// Unpriced is the accelerator for want of whose price a node has none by what is in it, empty if there is none.
func (p *Prices) Unpriced(node *Shape) corev1.ResourceName {
	if p == nil || p.PerCore == nil {
		return ""
	}
	for _, x := range whatIs(node).Extended {
		if _, ok := p.PerUnit[x.Name]; !ok && IsAccelerator(x.Name) {
			return x.Name
		}
	}
	return ""
}

// whatIs is the capacity of a node, what it can give to pods where it does not tell that.
func whatIs(node *Shape) Resources {
	if has := node.Capacity; has.MilliCPU > 0 && has.Memory > 0 {
		return has
	}
	return node.Allocatable
}

// Foreign reports whether the provider's prices of a group are in another currency than the
// operator's. They do not count then.
func (p *Prices) Foreign(g *Group) bool {
	return p != nil && g != nil && p.Currency != "" && g.Currency != "" && p.Currency != g.Currency
}

func ofProvider(g *Group, node *Shape) (float64, bool) {
	if g == nil {
		return 0, false
	}
	if price, ok := dearest(g.Prices, g, node); ok {
		return price, true
	}
	if g.PricePerHour != nil {
		return *g.PricePerHour, true
	}
	return 0, false
}

// dearest is the price of the entry that says most of all that fit the node. Where the node does
// not tell its zone or its capacity type, or the cloud is to choose its type, each entry that may
// fit counts as well, and the dearest holds: a node is never taken for cheaper than it may be.
func dearest(prices []provider.Price, g *Group, node *Shape) (price float64, ok bool) {
	if len(prices) == 0 {
		return 0, false
	}
	labels := node.Node.Labels
	is := [...]string{labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone], capacityOf(g, labels)}
	price, most := math.Inf(-1), -1
	perhaps := math.Inf(-1)
	for i := range prices {
		e := &prices[i]
		said, fits, surely := 0, true, true
		for j, want := range [...]string{e.InstanceType, e.Zone, e.CapacityType} {
			switch {
			case want == "":
				continue
			case is[j] == "" && (j > 0 || mayBe(g, want)):
				surely = false
			case is[j] != want:
				fits = false
			}
			said++
		}
		switch {
		case !fits:
		case !surely:
			perhaps = max(perhaps, e.PerHour)
		case said > most:
			price, most = e.PerHour, said
		case said == most:
			price = max(price, e.PerHour)
		}
	}
	price = max(price, perhaps)
	return price, !math.IsInf(price, -1)
}

// mayBe reports whether the cloud may choose an instance type for a new node of a group.
func mayBe(g *Group, instanceType string) bool {
	return g != nil && g.Template != nil &&
		slices.Contains(g.Template.Varies[corev1.LabelInstanceTypeStable], instanceType)
}

// capacityLabels are the labels by which nodes tell whether they are spot capacity.
var capacityLabels = [...]string{
	"karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType", "node.kubernetes.io/lifecycle",
}

// CapacityType is what a node's labels say of how its machine was bought; empty if nothing.
func CapacityType(labels map[string]string) string {
	for _, key := range capacityLabels {
		switch value := strings.ToLower(labels[key]); {
		case value == "":
		case strings.Contains(value, provider.Spot):
			return provider.Spot
		default:
			return provider.OnDemand
		}
	}
	return ""
}

// capacityOf is what a node's labels say of how its machine was bought, else its group; empty if neither does.
func capacityOf(g *Group, labels map[string]string) string {
	capacity := CapacityType(labels)
	if capacity == "" && g != nil {
		capacity = g.CapacityType
	}
	return capacity
}

// PriceOf is what a node of a shape costs per hour beyond all commitments. The group is its index, -1 for none.
func (s *Snapshot) PriceOf(group int, shape ShapeID) (price float64, ok bool) {
	return s.Prices.Of(s.groupOf(group), s.Contents.Shapes[shape])
}

// groupOf is nil for a node of no group.
func (s *Snapshot) groupOf(group int) *Group {
	if group < 0 {
		return nil
	}
	return &s.Groups[group]
}

// IdlePrices are the operator's prices of what there is not, mostly since a name is mistyped: of groups, and of groups
// or types where none of those prices is of anything. A list of all types that a cloud has is no mistake.
func (s *Snapshot) IdlePrices() []string {
	if s.Prices == nil || len(s.Groups) == 0 {
		return nil
	}
	there := map[string]bool{}
	for i := range s.Groups {
		there[string(s.Groups[i].ID)] = true
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(s.Prices.Groups)) {
		if !there[string(id)] {
			out = append(out, string(id))
		}
	}
	types := s.instanceTypes()
	names := slices.Collect(maps.Keys(s.Prices.Names))
	for _, p := range s.Prices.Instances {
		names = append(names, p.InstanceType)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	is := func(name string) bool { return there[name] || types[name] }
	if types[""] || slices.ContainsFunc(names, is) { // a node that tells no type may be of any
		return out
	}
	return append(out, names...)
}

// instanceTypes are those of the nodes and of the groups' new ones, an empty one where that is not known.
func (s *Snapshot) instanceTypes() map[string]bool {
	types := map[string]bool{}
	see := func(shape ShapeID) {
		types[s.Contents.Shapes[shape].Node.Labels[corev1.LabelInstanceTypeStable]] = true
	}
	for i := range s.Nodes {
		see(s.Nodes[i].Shape)
	}
	for i := range s.Groups {
		if s.Groups[i].HasTemplate {
			see(s.Groups[i].Shape)
		} else {
			types[""] = true
		}
	}
	return types
}
