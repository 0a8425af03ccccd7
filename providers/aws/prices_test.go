package aws

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

var priced3 = []awstest.Price{
	{InstanceType: "m5.large", OnDemand: 0.096, Spot: map[string]float64{"us-east-1a": 0.031, "us-east-1b": 0.04}},
	{InstanceType: "m5.large", OS: "Windows", OnDemand: 0.188},
	{InstanceType: "c5.large", OnDemand: 0.085, Spot: map[string]float64{"us-east-1a": 0.03, "us-east-1d": 0.9}},
}

// twoTypes is a group of two types, bought on demand by so many percent.
func twoTypes(name string, onDemand int) awstest.Group {
	return named(name, func(g *awstest.Group) {
		g.LaunchTemplate = nil
		g.Zones = []string{"us-east-1a", "us-east-1b"}
		g.MixedInstances = &awstest.MixedInstances{Template: *template(""), OnDemandPercentage: &onDemand,
			Overrides: []awstest.Override{{InstanceType: "m5.large"}, {InstanceType: "c5.large"}}}
	})
}

func shown(g provider.Group) string {
	var out []string
	for _, p := range g.Prices {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %g", p.InstanceType, p.CapacityType, p.Zone, p.PerHour)))
	}
	return strings.Join(append(out, "all "+g.CapacityType+" in "+g.Currency), "; ")
}

// TestPricesOfGroups: on demand by the price list, spot by zone, both where AWS may buy either, and those of
// what was launched before the group's types changed.
func TestPricesOfGroups(t *testing.T) {
	spec := awstest.Spec{LaunchTemplates: append([]awstest.LaunchTemplate{{ID: "lt-2", Name: "market",
		Versions: []awstest.TemplateVersion{{InstanceType: "m5.large", Spot: true}}}}, m5...), Prices: priced3,
		Groups: []awstest.Group{
			twoTypes("both", 50), twoTypes("spot", 0),
			named("launched", func(g *awstest.Group) {
				g.Desired, g.Instances = 1, []awstest.Instance{
					{ID: "i-1", Zone: "us-east-1a", Type: "c5.large", State: "InService"}}
			}),
			named("market", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-2"} }),
			named("unlisted", func(g *awstest.Group) {
				g.LaunchTemplate, g.LaunchConfiguration = nil, "lc"
			}),
		},
		LaunchConfigurations: []awstest.LaunchConfiguration{{Name: "lc", InstanceType: "r5.large"}},
	}
	cfg := byTag
	cfg.Prices = true
	w := newWorld(t, spec, cfg)
	got := map[string]string{}
	inv := w.read(t)
	for _, g := range inv.Groups {
		got[string(g.ID)] = shown(g)
	}
	const spot = "m5.large spot us-east-1a 0.031; m5.large spot us-east-1b 0.04; "
	want := map[string]string{
		"both":     "m5.large on-demand  0.096; " + spot + "c5.large on-demand  0.085; c5.large spot us-east-1a 0.03; all  in USD",
		"spot":     spot + "c5.large spot us-east-1a 0.03; all spot in USD",
		"launched": "m5.large on-demand  0.096; c5.large on-demand  0.085; all on-demand in USD",
		"market":   spot + "all spot in USD",
		"unlisted": "all on-demand in ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := noticesOf(inv, noticeNoPrices); len(n) > 0 {
		t.Errorf("a type without a price in the list is no trouble of AWS: %v", n)
	}

	w.ForgetCalls()
	w.clock.pass(50 * time.Minute)
	w.read(t)
	// Only the type that has no price is asked for again.
	if n := w.Count("GetProducts", "DescribeSpotPriceHistory"); n != 1 {
		t.Errorf("prices are remembered for hours, and there were %d calls", n)
	}
}

// TestPricesWithoutTheRight: they are not known, that is told once for all types, and what was known holds.
func TestPricesWithoutTheRight(t *testing.T) {
	denied := []awstest.Fault{{Action: "GetProducts", Mishap: awstest.Denied},
		{Action: "DescribeSpotPriceHistory", Mishap: awstest.Denied}}
	spec := awstest.Spec{LaunchTemplates: m5, Prices: priced3, Groups: []awstest.Group{twoTypes("both", 50)},
		Faults: denied}
	cfg := byTag
	cfg.Prices = true
	w := newWorld(t, spec, cfg)
	inv := w.read(t)
	if n := noticesOf(inv, noticeNoPrices); len(n) != 2 || len(inv.Groups[0].Prices) > 0 {
		t.Errorf("%v, %v", n, inv.Groups[0].Prices)
	}
	w.ForgetCalls()
	w.read(t)
	if n := w.Count("GetProducts", "DescribeSpotPriceHistory"); n > 0 {
		t.Errorf("it is asked again at once, %d times", n)
	}
}

// TestStalePrices: the last prices hold while AWS does not answer, and that is told.
func TestStalePrices(t *testing.T) {
	cfg := byTag
	cfg.Prices = true
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Prices: priced3, Groups: []awstest.Group{named("g")}}, cfg)
	before := shown(w.group(t, "g"))
	w.Arm(awstest.Fault{Action: "GetProducts", Mishap: awstest.Denied})
	w.clock.pass(13 * time.Hour)
	inv := w.read(t)
	if after := shown(inv.Groups[0]); after != before || !strings.Contains(after, "0.096") {
		t.Errorf("%s, and then %s", before, after)
	}
	if n := noticesOf(inv, noticeNoPrices); len(n) != 1 {
		t.Error(n)
	}
}

// TestNoPriceListForARegion: where no price list speaks for a region, prices on demand are the file's.
func TestNoPriceListForARegion(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1": "eu-central-1", "us-west-2": "us-east-1", "ap-southeast-2": "ap-south-1", "cn-north-1": "cn-northwest-1",
		"us-gov-west-1": "", "sa-east-1": "us-east-1", "me-south-1": "eu-central-1",
	} {
		if got := priceListRegion(region); got != want {
			t.Errorf("%s: %q", region, got)
		}
	}
}
