package model

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestPriceOfANode: which of several prices holds, and that an unknown one is not zero.
func TestPriceOfANode(t *testing.T) {
	amount := func(x float64) *float64 { return &x }
	group := Group{Group: provider.Group{ID: "g", PricePerHour: amount(0.5), Currency: "USD"}}
	listed := group
	listed.Prices = []provider.Price{
		{InstanceType: "large", CapacityType: provider.OnDemand, PerHour: 0.4},
		{InstanceType: "large", Zone: "a", CapacityType: provider.Spot, PerHour: 0.1},
		{InstanceType: "large", Zone: "b", CapacityType: provider.Spot, PerHour: 0.2},
		{InstanceType: "small", CapacityType: provider.OnDemand, PerHour: 0.3},
	}
	mixed := listed
	mixed.Template = &provider.Template{Varies: map[string][]string{corev1.LabelInstanceTypeStable: {"large", "small"}}}
	spot := listed
	spot.CapacityType = provider.Spot
	byType := &Prices{Instances: []provider.Price{
		{InstanceType: "large", PerHour: 7}, {InstanceType: "large", Zone: "a", PerHour: 8},
	}}
	gpus := &Prices{PerCore: amount(0.01), PerGiB: amount(0.001),
		PerUnit: map[corev1.ResourceName]float64{"nvidia.com/gpu": 2.5}}
	for _, c := range []struct {
		name   string
		prices *Prices
		group  *Group
		labels map[string]string // type, zone and capacity type by their first letters, and how many GPUs
		want   float64           // -1: unknown
	}{
		{"none is known", nil, nil, nil, -1},
		{"this one is not known", &Prices{Names: map[string]float64{"h": 1}}, nil, nil, -1},
		{"the provider", nil, &group, nil, 0.5},
		{"the operator before the provider", &Prices{Names: map[string]float64{"g": 2}}, &group, nil, 2},
		{"zero is a price", &Prices{Groups: map[provider.GroupID]float64{"g": 0}}, &group, nil, 0},
		{"by type, the short form", &Prices{Names: map[string]float64{"large": 3}}, &group,
			map[string]string{"t": "large"}, 3},
		{"a group called as a type", &Prices{Groups: map[provider.GroupID]float64{"large": 3}}, nil,
			map[string]string{"t": "large"}, -1},
		{"the entry that says most", byType, &group, map[string]string{"t": "large", "z": "a"}, 8},
		{"another zone", byType, &group, map[string]string{"t": "large", "z": "b"}, 7},
		{"zone not told: the dearest", byType, &group, map[string]string{"t": "large"}, 8},
		{"another type", byType, &group, map[string]string{"t": "small"}, 0.5},
		{"type not told", byType, &group, nil, 0.5},
		{"what was launched", nil, &listed, map[string]string{"t": "large", "z": "b", "c": "SPOT"}, 0.2},
		{"what was launched, on demand", nil, &listed, map[string]string{"t": "large", "z": "b", "c": "normal"}, 0.4},
		{"capacity type not told: the dearest", nil, &listed, map[string]string{"t": "large", "z": "b"}, 0.4},
		{"capacity type of the group", nil, &spot, map[string]string{"t": "large", "z": "b"}, 0.2},
		{"the cloud chooses the type: the dearest", nil, &mixed, nil, 0.4},
		{"other currency", &Prices{Currency: "EUR", Names: map[string]float64{"h": 1}}, &group, nil, -1},
		{"same currency", &Prices{Currency: "USD", Names: map[string]float64{"h": 1}}, &group, nil, 0.5},
		{"by core and GiB", &Prices{PerCore: amount(0.01), PerGiB: amount(0.001)}, nil, nil, 0.048},
		{"a GPU that has a price", gpus, nil, map[string]string{"g": "2"}, 5.048},
		{"a GPU without one", &Prices{PerCore: amount(0.01), PerGiB: amount(0.001)}, nil, map[string]string{"g": "2"}, -1},
		{"the provider knows the GPU", &Prices{PerCore: amount(0.01), PerGiB: amount(0.001)}, &group,
			map[string]string{"g": "2"}, 0.5},
		{"the provider before cores", &Prices{PerCore: amount(0.01), PerGiB: amount(0.001)}, &group, nil, 0.5},
	} {
		labels := map[string]string{}
		for short, key := range map[string]string{
			"t": corev1.LabelInstanceTypeStable, "z": corev1.LabelTopologyZone, "c": "eks.amazonaws.com/capacityType",
		} {
			if v := c.labels[short]; v != "" {
				labels[key] = v
			}
		}
		node := &Shape{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
			Capacity: Resources{MilliCPU: 4000, Memory: 8 << 30}}
		if n, err := strconv.ParseInt(c.labels["g"], 10, 64); err == nil {
			node.Capacity.Extended = []Amount{{"nvidia.com/gpu", n}, {"vendor.io/other", 1}}
		}
		price, ok := c.prices.Of(c.group, node)
		if ok != (c.want >= 0) || ok && (price < c.want-1e-9 || price > c.want+1e-9) {
			t.Errorf("%s: %v %v, want %v", c.name, price, ok, c.want)
		}
	}
}

// TestCostOfANode: idle and stranded are parts of the price, and stranded is a part of idle.
func TestCostOfANode(t *testing.T) {
	for _, c := range []struct{ cpu, memory, idle, stranded float64 }{
		{0, 0, 10, 0}, {1, 1, 0, 0}, {0.5, 0.9, 3, 2}, {1.5, 0, 5, 5}, {0.2, 0.2, 8, 0},
	} {
		got := CostAt(10, c.cpu, c.memory)
		if want := (Cost{PerHour: 10, Idle: c.idle, Stranded: c.stranded}); got.PerHour != 10 ||
			got.Idle < want.Idle-1e-9 || got.Idle > want.Idle+1e-9 ||
			got.Stranded < want.Stranded-1e-9 || got.Stranded > want.Stranded+1e-9 {
			t.Errorf("%v: %+v, want %+v", c, got, want)
		}
	}
}

// TestIdlePrices: a price of what there is not is told; of a list of types, only if none of them is there.
func TestIdlePrices(t *testing.T) {
	names := func(names ...string) *Prices {
		out := &Prices{Names: map[string]float64{}}
		for _, name := range names {
			out.Names[name] = 1
		}
		return out
	}
	types := func(names ...string) *Prices {
		out := &Prices{}
		for _, name := range names {
			out.Instances = append(out.Instances, provider.Price{InstanceType: name})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		prices *Prices
		known  bool // the type of new nodes
		want   string
	}{
		{"no prices", nil, true, ""},
		{"a group", names("g"), true, ""},
		{"a type among others", names("large", "small"), true, ""},
		{"another name", names("lrage", "h"), true, "h lrage"},
		{"another name, types not known", names("lrage"), false, ""},
		{"a type", types("large"), true, ""},
		{"another type", types("lrage"), true, "lrage"},
		{"a type by zone, after another", types("m5", "lrage", "m5"), true, "lrage m5"},
		{"another type, types not known", types("lrage"), false, ""},
		{"another group", &Prices{Groups: map[provider.GroupID]float64{"g": 1, "h": 1}}, false, "h"},
		{"cores", &Prices{PerCore: new(float64), PerGiB: new(float64)}, true, ""},
	} {
		node := &corev1.Node{}
		if c.known {
			node.Labels = map[string]string{corev1.LabelInstanceTypeStable: "large"}
		}
		s := &Snapshot{Prices: c.prices, Groups: []Group{{Group: provider.Group{ID: "g"}, HasTemplate: true}},
			Contents: Contents{Shapes: []*Shape{{Node: node}}}}
		if got := strings.Join(s.IdlePrices(), " "); got != c.want {
			t.Errorf("%s: idle are %q, want %q", c.name, got, c.want)
		}
	}
}
