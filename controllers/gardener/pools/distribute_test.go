package pools

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
)

func ints(n int32) intstr.IntOrString     { return intstr.FromInt32(n) }
func percent(s string) intstr.IntOrString { return intstr.FromString(s) }

// TestSharesOfTheProposal are GEP-24's own examples, as minimum, maximum, surge and
// what may be missing of each zone.
func TestSharesOfTheProposal(t *testing.T) {
	tests := []struct {
		name                     string
		min, max, surge, missing int32
		zones                    int
		want                     []string
	}{
		{"0:1:1:1:2", 0, 1, 1, 1, 2, []string{"0/1/1/1", "0/0/0/0"}},
		{"3:5:1:1:2", 3, 5, 1, 1, 2, []string{"2/3/1/1", "1/2/0/0"}},
		{"1:2:1:1:3", 1, 2, 1, 1, 3, []string{"1/1/1/1", "0/1/0/0", "0/0/0/0"}},
		{"3:4:2:2:3", 3, 4, 2, 2, 3, []string{"1/2/1/1", "1/1/1/1", "1/1/0/0"}},
		{"without zones", 3, 4, 2, 1, 0, []string{"3/4/2/1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := v1alpha1.Pool{Name: "p", Minimum: tt.min, Maximum: tt.max, MaxSurge: ints(tt.surge),
				MaxUnavailable: ints(tt.missing), Zones: zoneNames(tt.zones)}
			var got []string
			for _, z := range (Cluster{Pools: []v1alpha1.Pool{p}}).Zones() {
				bounds := nested(z.body("c"), "spec", "strategy", "rollingUpdate").(map[string]any)
				got = append(got,
					fmt.Sprintf("%d/%d/%d/%d", z.Minimum(), z.Maximum(), bounds["maxSurge"], bounds["maxUnavailable"]))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func zoneNames(n int) []string {
	var all []string
	for i := range n {
		all = append(all, string(rune('a'+i)))
	}
	return all
}

func TestPercentagesAreWeighted(t *testing.T) {
	tests := []struct {
		name         string
		value        intstr.IntOrString
		zones, total int32
		want         []string
	}{
		{"even zones keep it", percent("25%"), 3, 9, []string{"25%", "25%", "25%"}},
		{"uneven zones", percent("25%"), 2, 5, []string{"30%", "20%"}},
		{"rounded up", percent("10%"), 3, 4, []string{"15%", "8%", "8%"}},
		{"exactly, where floating point would add one", percent("30%"), 2, 3, []string{"40%", "20%"}},
		{"three zones", percent("25%"), 3, 10, []string{"30%", "23%", "23%"}},
		{"no total", percent("25%"), 3, 0, []string{"25%", "25%", "25%"}},
		{"fewer than zones", percent("100%"), 3, 1, []string{"300%", "0%", "0%"}},
		{"a number", ints(4), 3, 10, []string{"2", "1", "1"}},
		{"no zones", percent("25%"), 0, 10, []string{"25%"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for i := range max(1, tt.zones) {
				v := distributePositiveIntOrPercent(i, tt.value, tt.zones, tt.total)
				got = append(got, v.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestSharesAddUp: shares of a number are whole, never more than one apart, never
// rising with the index, and their sum is the number.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones := rapid.Int32Range(1, 12).Draw(t, "zones")
		size := rapid.Int32Range(0, 5000).Draw(t, "size")
		sum, first, last := int32(0), distributeOverZones(0, size, zones), int32(0)
		for i := range zones {
			n := distributeOverZones(i, size, zones)
			if i > 0 && n > last {
				t.Fatalf("zone %d has %d, the one before %d", i, n, last)
			}
			sum, last = sum+n, n
		}
		if sum != size || first-last > 1 {
			t.Fatalf("%d over %d zones: the sum is %d, from %d to %d", size, zones, sum, first, last)
		}
		surge := distributePositiveIntOrPercent(zones-1, ints(size), zones, 3)
		if surge.IntVal != last {
			t.Fatalf("a number of machines is spread otherwise: %d, not %d", surge.IntVal, last)
		}
	})
}

// TestPercentagesCover: the percentages of the zones, each of its zone's machines,
// are together at least the pool's percentage of all machines, and less than one
// per cent of each zone more.
func TestPercentagesCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones := rapid.Int32Range(1, 8).Draw(t, "zones")
		total := rapid.Int32Range(1, 300).Draw(t, "total")
		p := rapid.Int32Range(0, 200).Draw(t, "percent")
		even := big.NewRat(int64(total), int64(zones))
		for i := range zones {
			got, err := percentOf(distributePositiveIntOrPercent(i, percent(fmt.Sprintf("%d%%", p)), zones, total).StrVal)
			if err != nil {
				t.Fatal(err)
			}
			exact := new(big.Rat).
				Mul(big.NewRat(int64(p), 1), new(big.Rat).Quo(big.NewRat(int64(distributeOverZones(i, total, zones)), 1), even))
			over := new(big.Rat).Sub(big.NewRat(int64(got), 1), exact)
			if over.Sign() < 0 || over.Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("zone %d of %d: %d%% of %d came out as %d%%, exactly %s", i, zones, p, total, got, exact.FloatString(4))
			}
		}
	})
}
