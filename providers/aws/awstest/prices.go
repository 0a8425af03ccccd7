package awstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// This file is the price list's GetProducts, and EC2's DescribeSpotPriceHistory:
// https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html

// Price is what an instance type costs per hour.
type Price struct {
	InstanceType string `json:"instanceType"`
	// OS is Linux if empty.
	OS string `json:"os,omitempty"`
	// OnDemand is not listed if 0.
	OnDemand float64 `json:"onDemand,omitempty"`
	// Spot is by zone.
	Spot map[string]float64 `json:"spot,omitempty"`
}

// listTarget is what a request to the price list names in a header.
const listTarget = "AWSPriceListService."

// readList reads a request to the price list.
func (q *query) readList(r *http.Request) *refusal {
	q.service, q.action = priceList, strings.TrimPrefix(r.Header.Get("X-Amz-Target"), listTarget)
	var in struct {
		ServiceCode, FormatVersion string
		Filters                    []struct{ Field, Type, Value string }
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return notSimulated("a request to the price list: %v", err)
	}
	q.params = url.Values{"ServiceCode": {in.ServiceCode}}
	for _, f := range in.Filters {
		if f.Type != "TERM_MATCH" {
			return notSimulated("a filter of type %s", f.Type)
		}
		q.params.Set(f.Field, f.Value)
	}
	return nil
}

type productsResult struct {
	FormatVersion string
	PriceList     []string
}

func (c *Cloud) getProducts(q *query) (any, *refusal) {
	if code := q.params.Get("ServiceCode"); code != "AmazonEC2" {
		return nil, notSimulated("prices of %s", code)
	}
	out := productsResult{FormatVersion: "aws_v1", PriceList: []string{}}
	for _, p := range c.spec.Prices {
		os := cmp.Or(p.OS, "Linux")
		if p.OnDemand == 0 || p.InstanceType != q.params.Get("instanceType") || os != q.params.Get("operatingSystem") ||
			q.params.Get("regionCode") != q.region {
			continue
		}
		out.PriceList = append(out.PriceList, fmt.Sprintf(`{"product":{"productFamily":"Compute Instance","attributes":`+
			`{"instanceType":%q,"operatingSystem":%q,"regionCode":%q,"tenancy":"Shared"},"sku":"S"},"serviceCode":"AmazonEC2",`+
			`"terms":{"OnDemand":{"S.T":{"priceDimensions":{"S.T.R":{"unit":"Hrs","pricePerUnit":{"USD":"%.10f"}}}}}}}`,
			p.InstanceType, os, q.region, p.OnDemand))
	}
	return out, nil
}

type spotHistoryResult struct {
	History   []xmlSpotPrice `xml:"spotPriceHistorySet>item"`
	NextToken string         `xml:"nextToken,omitempty"`
}

type xmlSpotPrice struct {
	InstanceType       string `xml:"instanceType"`
	ProductDescription string `xml:"productDescription"`
	SpotPrice          string `xml:"spotPrice"`
	Timestamp          string `xml:"timestamp"`
	AvailabilityZone   string `xml:"availabilityZone"`
}

func (c *Cloud) spotHistory(q *query) (any, *refusal) {
	if refused := q.only(
		"InstanceType", "ProductDescription", "StartTime", "MaxResults", "NextToken",
	); refused != nil {
		return nil, refused
	}
	size, refused := q.ec2Size(1, 1000)
	if refused != nil {
		return nil, refused
	}
	types, described := q.list("InstanceType"), q.list("ProductDescription")
	var found []xmlSpotPrice
	for _, p := range c.spec.Prices {
		words := map[string]string{"": "Linux/UNIX", "Linux": "Linux/UNIX"}[p.OS]
		words = cmp.Or(words, p.OS)
		if !slices.Contains(types, p.InstanceType) || !slices.Contains(described, words) {
			continue
		}
		for _, zone := range sortedKeys(p.Spot) {
			found = append(found, xmlSpotPrice{p.InstanceType, words, fmt.Sprintf("%.6f", p.Spot[zone]),
				c.born.UTC().Format(time.RFC3339), zone})
		}
	}
	key := func(p xmlSpotPrice) string { return p.InstanceType + "/" + p.AvailabilityZone }
	found, next, ok := page(q, found, key, size)
	if !ok {
		return nil, badPaginationToken()
	}
	return spotHistoryResult{found, next}, nil
}
