package model

import "math"

// Cost is what nodes cost per hour, in the currency of the prices. A node's price counts half for
// its CPU and half for its memory. Idle is what no pod requests of either. Stranded is the part of
// it that no pod can use, since the other one of the two is used up before: a node whose memory is
// full by 90 % and its CPU by 50 % strands 40 % of its CPU, which is 20 % of its price.
type Cost struct {
	PerHour  float64 `json:"perHour"`
	Idle     float64 `json:"idle"`
	Stranded float64 `json:"stranded"`
	// Unknown counts the nodes without a price. They are in none of the sums.
	Unknown int `json:"unknown"`
}

// Add adds another cost.
func (c *Cost) Add(o Cost) {
	c.PerHour += o.PerHour
	c.Idle += o.Idle
	c.Stranded += o.Stranded
	c.Unknown += o.Unknown
}

// CostAt is what a node costs whose pods request these shares of its CPU and memory.
func CostAt(price, cpu, memory float64) Cost {
	cpu, memory = min(cpu, 1), min(memory, 1)
	return Cost{PerHour: price, Idle: price * (2 - cpu - memory) / 2, Stranded: price * math.Abs(cpu-memory) / 2}
}

// CostByGroup sums the cost of the nodes that exist by group; the last entry is for those of no group.
func (s *Snapshot) CostByGroup() []Cost {
	fleet := &Fleet{tariff: newTariff(s)}
	if s.Prices.Committed() { // what a node costs depends on how many there are
		fleet = s.fleet(func(n *Node) bool { return n.Object != nil })
	}
	out := make([]Cost, len(s.Groups)+1)
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Object == nil {
			continue
		}
		at := n.Group
		if at < 0 {
			at = len(s.Groups)
		}
		price, known := fleet.Mean(n.Group, n.Shape)
		if !known {
			out[at].Unknown++
			continue
		}
		cpu, memory := s.requested(n)
		out[at].Add(CostAt(price, cpu, memory))
	}
	return out
}

// requested are the shares of a node's CPU and memory that its pods request.
func (s *Snapshot) requested(n *Node) (cpu, memory float64) {
	milli, bytes := n.MilliCPU, n.Memory
	for _, b := range n.Expendable {
		r := &s.Classes[b.Class].Spec.Requests
		milli += r.MilliCPU * int64(b.Count)
		bytes += r.Memory * int64(b.Count)
	}
	has := &s.Contents.Shapes[n.Shape].Allocatable
	return share(milli, has.MilliCPU), share(bytes, has.Memory)
}

// share is a part of a whole, nothing of what is not told.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
