package aws

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// prices are what instances cost per hour: on demand by the price list of AWS, spot by what the market
// last paid in each zone. A price that AWS does not tell is not known; the last one that it told holds
// while it does not answer.
type prices struct {
	list   *pricing.Client // nil where no price list speaks for the region
	ec2    *ec2.Client
	region string
	now    func() time.Time
	asking *errand
	fixed  *memo[priced, float64]
	spot   *memo[priced, []provider.Price]
}

// priced is what has a price of its own in a region.
type priced struct {
	instanceType, os string // os in the words of the price list
}

const (
	// fixedPriceTTL and spotPriceTTL are for how long a price holds. List prices change a few times a
	// year, spot prices a few times a day.
	fixedPriceTTL = 12 * time.Hour
	spotPriceTTL  = time.Hour
	// pricesRetry is how long a question about prices is not asked again that had no answer: a right is
	// missing, as a rule, or the network leads nowhere.
	pricesRetry = 15 * time.Minute
	// pricesPatience is how long a read waits for prices.
	pricesPatience = 5 * time.Second
	// pricesAtOnce bounds how many list prices one read asks for: each is a call.
	pricesAtOnce = 100

	osLinux, osWindows = "Linux", "Windows"
)

func newPrices(sdk aws.Config, client *ec2.Client, now func() time.Time) *prices {
	p := &prices{
		ec2: client, region: sdk.Region, now: now, asking: &errand{now: now},
		fixed: newMemo[priced, float64](now, always[priced](fixedPriceTTL)),
		spot:  newMemo[priced, []provider.Price](now, always[priced](spotPriceTTL)),
	}
	p.fixed.retry, p.spot.retry = pricesRetry, pricesRetry
	if region := priceListRegion(sdk.Region); region != "" {
		p.list = pricing.NewFromConfig(sdk, func(o *pricing.Options) { o.Region = region })
	}
	return p
}

// priceListRegion is the nearest region that serves the price list; empty if none speaks for a region.
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html
func priceListRegion(region string) string {
	area, _, _ := strings.Cut(region, "-")
	switch {
	case strings.HasPrefix(region, "us-gov-"), strings.HasPrefix(region, "us-iso"), strings.HasPrefix(region, "eu-iso"),
		strings.HasPrefix(region, "eusc-"):
		return ""
	case area == "cn":
		return "cn-northwest-1"
	case area == "eu" || area == "me" || area == "af" || area == "il":
		return "eu-central-1"
	case area == "ap":
		return "ap-south-1"
	}
	return "us-east-1"
}

// currency is that of the amounts.
func (p *prices) currency() string {
	if strings.HasPrefix(p.region, "cn-") {
		return "CNY"
	}
	return "USD"
}

// want is what a group has or may have, with the capacity type of all of it, if there is one.
type want struct {
	priced
	capacityType string
}

// wantsOf are the prices that a group needs: those of what it launches, and of what it has launched.
func (p *Provider) wantsOf(g reading, l launch, n *nodegroup) []want {
	names, _, err := p.sources.typesOf(l)
	if err != nil {
		names = nil
	}
	for _, i := range g.Instances {
		if t := deref(i.InstanceType); t != "" && !slices.Contains(names, t) {
			names = append(slices.Clip(names), t)
		}
	}
	os := osLinux
	if n.os() == strings.ToLower(osWindows) {
		os = osWindows
	}
	capacityType := p.capacityTypeOf(g.AutoScalingGroup, l, n)
	var out []want
	for _, name := range names {
		out = append(out, want{priced{name, os}, capacityType})
	}
	return out
}

// capacityTypeOf is how AWS buys all instances of a group; empty if one in this way, one in that.
func (p *Provider) capacityTypeOf(g asgtypes.AutoScalingGroup, l launch, n *nodegroup) string {
	if n != nil && n.labels[labelCapacityType] != "" {
		if n.labels[labelCapacityType] == "SPOT" {
			return provider.Spot
		}
		return provider.OnDemand
	}
	if g.MixedInstancesPolicy != nil {
		d := g.MixedInstancesPolicy.InstancesDistribution
		switch {
		case d == nil || d.OnDemandPercentageAboveBaseCapacity == nil || *d.OnDemandPercentageAboveBaseCapacity == 100:
			return provider.OnDemand
		case *d.OnDemandPercentageAboveBaseCapacity == 0 && deref(d.OnDemandBaseCapacity) == 0:
			return provider.Spot
		}
		return ""
	}
	return p.sources.capacityTypeOf(l)
}

// askPrices asks AWS for what the nodes of groups cost, and gives what each group needs of that.
func (p *Provider) askPrices(ctx context.Context, groups []reading, launches []launch, known []described) [][]want {
	if p.prices == nil {
		return nil
	}
	wants := make([][]want, len(groups))
	for i, g := range groups {
		wants[i] = p.wantsOf(g, launches[i], known[i].nodegroup)
	}
	all := slices.Concat(wants...)
	p.prices.asking.run(ctx, pricesPatience, func(ctx context.Context) { p.prices.learn(ctx, all) })
	return wants
}

// learn asks AWS for the prices that are due.
func (p *prices) learn(ctx context.Context, wanted []want) {
	var fixed, spot []priced
	for _, w := range wanted {
		if w.capacityType != provider.Spot {
			fixed = append(fixed, w.priced)
		}
		if w.capacityType != provider.OnDemand {
			spot = append(spot, w.priced)
		}
	}
	byName := func(a, b priced) int {
		return cmp.Or(cmp.Compare(a.os, b.os), cmp.Compare(a.instanceType, b.instanceType))
	}
	due := slices.SortedFunc(slices.Values(p.fixed.due(fixed)), byName)
	due = due[:min(len(due), pricesAtOnce)]
	if p.list != nil {
		inParallel(len(due), func(i int) { p.learnFixed(ctx, due[i]) })
	}
	byOS := map[string][]string{}
	for _, of := range slices.SortedFunc(slices.Values(p.spot.due(spot)), byName) {
		byOS[of.os] = append(byOS[of.os], of.instanceType)
	}
	for _, os := range slices.Sorted(maps.Keys(byOS)) {
		for batch := range slices.Chunk(byOS[os], typesPerCall) {
			p.learnSpot(ctx, os, batch)
		}
	}
}

// learnFixed asks the price list for one type.
func (p *prices) learnFixed(ctx context.Context, of priced) {
	in := &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), FormatVersion: aws.String("aws_v1")}
	for _, f := range [][2]string{
		{"instanceType", of.instanceType}, {"regionCode", p.region}, {"operatingSystem", of.os}, {"tenancy", "Shared"},
		{"preInstalledSw", "NA"}, {"capacitystatus", "Used"}, {"licenseModel", "No License required"},
	} {
		in.Filters = append(in.Filters, pricingtypes.Filter{
			Field: aws.String(f[0]), Value: aws.String(f[1]), Type: pricingtypes.FilterTypeTermMatch})
	}
	dearest := 0.0
	for {
		page, err := p.list.GetProducts(ctx, in)
		if err != nil {
			p.fixed.fail(of, fmt.Errorf("ask the price list for %s: %w", of.instanceType, err))
			return
		}
		for _, text := range page.PriceList {
			price, err := listPrice(text, p.currency())
			if err != nil {
				p.fixed.fail(of, fmt.Errorf("read the price list of %s: %w", of.instanceType, err))
				return
			}
			dearest = max(dearest, price)
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	if dearest <= 0 {
		p.fixed.fail(of, noSuchPrice{of, p.region})
		return
	}
	p.fixed.put(of, dearest)
}

// noSuchPrice is AWS's answer that it has no price, which is no failure of the question.
type noSuchPrice struct {
	of     priced
	region string
}

func (e noSuchPrice) Error() string {
	return fmt.Sprintf("AWS lists no price of %s with %s in %s", e.of.instanceType, e.of.os, e.region)
}

// listPrice reads the price per hour on demand of a product of the price list; 0 if it has none.
func listPrice(text, currency string) (float64, error) {
	var product struct {
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					Unit         string            `json:"unit"`
					PricePerUnit map[string]string `json:"pricePerUnit"`
				} `json:"priceDimensions"`
			} `json:"OnDemand"`
		} `json:"terms"`
	}
	if err := json.Unmarshal([]byte(text), &product); err != nil {
		return 0, err
	}
	dearest := 0.0
	for _, term := range product.Terms.OnDemand {
		for _, d := range term.PriceDimensions {
			amount, ok := d.PricePerUnit[currency]
			if d.Unit != "Hrs" || !ok {
				continue
			}
			price, err := amountOf(amount)
			if err != nil {
				return 0, err
			}
			dearest = max(dearest, price)
		}
	}
	return dearest, nil
}

func amountOf(text string) (float64, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price >= 0) || price > 1e6 {
		return 0, fmt.Errorf("%q is no price", text)
	}
	return price, nil
}

// learnSpot asks what the market pays now for some types.
func (p *prices) learnSpot(ctx context.Context, os string, types []string) {
	described := "Linux/UNIX"
	if os == osWindows {
		described = osWindows
	}
	now := p.now()
	in := &ec2.DescribeSpotPriceHistoryInput{ProductDescriptions: []string{described}, StartTime: &now}
	for _, t := range types {
		in.InstanceTypes = append(in.InstanceTypes, ec2types.InstanceType(t))
	}
	type place struct{ instanceType, zone string }
	newest := map[place]time.Time{}
	paid := map[place]float64{}
	var failed error
	for failed == nil {
		page, err := p.ec2.DescribeSpotPriceHistory(ctx, in)
		if err != nil {
			failed = err
			break
		}
		for _, s := range page.SpotPriceHistory {
			at := place{string(s.InstanceType), deref(s.AvailabilityZone)}
			price, err := amountOf(deref(s.SpotPrice))
			if err != nil || price == 0 {
				failed = cmp.Or(err, errors.New("a spot price is zero"))
				break
			}
			if known, ok := newest[at]; !ok || deref(s.Timestamp).After(known) {
				newest[at], paid[at] = deref(s.Timestamp), price
			}
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	byType := map[string][]provider.Price{}
	for at, price := range paid {
		byType[at.instanceType] = append(byType[at.instanceType], provider.Price{
			InstanceType: at.instanceType, Zone: at.zone, CapacityType: provider.Spot, PerHour: price})
	}
	for _, t := range types {
		of := priced{t, os}
		switch found := byType[t]; {
		case failed != nil:
			p.spot.fail(of, fmt.Errorf("describe the spot prices of %s: %w", t, failed))
		case len(found) == 0:
			p.spot.fail(of, noSuchPrice{of, p.region})
		default:
			slices.SortFunc(found, func(a, b provider.Price) int { return cmp.Compare(a.Zone, b.Zone) })
			p.spot.put(of, found)
		}
	}
}

// tell writes into a group what its nodes cost, as far as AWS says.
func (p *prices) tell(seen *provider.Group, wanted []want, zones []string) {
	for _, w := range wanted {
		seen.CapacityType = w.capacityType
		if price, err := p.fixed.get(w.priced); w.capacityType != provider.Spot && err == nil && price > 0 {
			seen.Prices = append(seen.Prices,
				provider.Price{InstanceType: w.instanceType, CapacityType: provider.OnDemand, PerHour: price})
		}
		if w.capacityType == provider.OnDemand {
			continue
		}
		paid, _ := p.spot.get(w.priced)
		for _, price := range paid {
			if slices.Contains(zones, price.Zone) {
				seen.Prices = append(seen.Prices, price)
			}
		}
	}
	if len(seen.Prices) > 0 {
		seen.Currency = p.currency()
	}
}

// troubles are the questions that AWS does not answer, one notice for each cause.
func (p *prices) troubles(wanted []want) []provider.Notice {
	found := troubles{}
	const rest = " (the last prices that it told hold, else those of --price-file)"
	for _, w := range wanted {
		for _, err := range []error{p.fixed.trouble(w.priced), p.spot.trouble(w.priced)} {
			if err != nil && !errors.As(err, &noSuchPrice{}) {
				found.add(noticeNoPrices, "could not ask AWS for prices"+rest, err)
			}
		}
	}
	if p.list == nil && slices.ContainsFunc(wanted, func(w want) bool { return w.capacityType != provider.Spot }) {
		found[notice("", noticeNoPrices, "AWS has no price list for the region %s: give the prices of instances on demand "+
			"by --price-file", p.region)] = true
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b provider.Notice) int { return cmp.Compare(a.Message, b.Message) })
}
