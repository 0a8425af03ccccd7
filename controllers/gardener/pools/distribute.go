package pools

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// distributeOverZones is the share of a number that falls to the zone of an index.
// What does not divide evenly goes to the first zones, one each. Without zones
// there is one.
func distributeOverZones(zone, size, zones int32) int32 {
	if zones < 1 {
		zones = 1
	}
	share := size / zones
	if zone < size%zones {
		share++
	}
	return share
}

// distributePositiveIntOrPercent is a zone's share of a number of machines, or of a
// percentage of total machines that are themselves distributed over the zones.
//
// A percentage stays what it is where the zones are even. Elsewhere it is weighted
// by the zone's share of the total and rounded up. The weight is taken in whole
// numbers: in floating point, 30% of three machines over two zones comes out as 41%
// and 21%, where 40% and 20% are exact.
func distributePositiveIntOrPercent(zone int32, value intstr.IntOrString, zones, total int32) intstr.IntOrString {
	if value.Type == intstr.Int {
		return intstr.FromInt32(distributeOverZones(zone, value.IntVal, zones))
	}
	if zones < 1 {
		zones = 1
	}
	percent, err := percentOf(value.StrVal)
	if err != nil || total <= 0 || total%zones == 0 {
		return value // what is no percentage is Validate's business
	}
	weighted := int64(percent) * int64(distributeOverZones(zone, total, zones)) * int64(zones)
	return intstr.FromString(strconv.FormatInt((weighted+int64(total)-1)/int64(total), 10) + "%")
}

// percentOf reads "25%".
func percentOf(text string) (int32, error) {
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 16) // more is no percentage that anybody means
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is neither a whole number nor a percentage such as 25%%", text)
	}
	return int32(n), nil
}
