package aws

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// groupSpec is one value of --nodes: a group by its name, and its limits.
type groupSpec struct {
	min, max int
	name     string
}

// parseNodes reads "min:max:name".
func parseNodes(text string) (groupSpec, error) {
	wrong := func(format string, args ...any) (groupSpec, error) {
		return groupSpec{}, fmt.Errorf("%s: %s; the form is min:max:name, as in 0:10:workers",
			quotedFlag("nodes", text), fmt.Sprintf(format, args...))
	}
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return wrong("it has %d of 3 parts", len(parts))
	}
	var limits [2]int
	for i, what := range []string{"minimum", "maximum"} {
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return wrong("the %s %q is no whole number", what, parts[i])
		}
		if n < 0 || n > math.MaxInt32 {
			return wrong("the %s %d is not between 0 and %d", what, n, math.MaxInt32)
		}
		limits[i] = n
	}
	spec := groupSpec{min: limits[0], max: limits[1], name: parts[2]}
	switch {
	case spec.max < spec.min:
		return wrong("the maximum %d is below the minimum %d", spec.max, spec.min)
	case blank(spec.name):
		return wrong("the name %q is empty or has white space at an end", spec.name)
	}
	return spec, nil
}
