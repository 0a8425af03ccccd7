package migrate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// checkGroups looks at the values of the two flags that say which groups there are. A run reads them only when it makes
// its provider: here that would be too late. What is said of names in one cloud is left to its provider.
func checkGroups(provider wiring.Entry, f flag) error {
	var err error
	switch f.name {
	case "nodes":
		err = checkNodes(f.resolved)
	case "node-group-auto-discovery":
		err = checkDiscovery(provider, f.resolved)
	}
	if err != nil {
		return fmt.Errorf("%s: --%s=%q: %w", f.field, f.name, f.resolved, err)
	}
	return nil
}

// checkNodes reads min:max:name.
func checkNodes(text string) error {
	const form = "; the form is min:max:name, as in 0:10:workers"
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return fmt.Errorf("it has %d of 3 parts"+form, len(parts))
	}
	var limits [2]int
	for i, what := range []string{"minimum", "maximum"} {
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return fmt.Errorf("the %s %q is no whole number"+form, what, parts[i])
		}
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("the %s %d is not between 0 and %d"+form, what, n, math.MaxInt32)
		}
		limits[i] = n
	}
	switch name := parts[2]; {
	case limits[1] < limits[0]:
		return fmt.Errorf("the maximum %d is below the minimum %d"+form, limits[1], limits[0])
	case name == "" || strings.TrimSpace(name) != name:
		return fmt.Errorf("the name %q is empty or has white space at an end"+form, name)
	}
	return nil
}

// checkDiscovery looks at the beginning of a way to find groups.
func checkDiscovery(provider wiring.Entry, text string) error {
	if !strings.HasPrefix(text, provider.DiscoveryPrefix) {
		return fmt.Errorf("with the %s provider it begins with %s", provider.Name, provider.DiscoveryPrefix)
	}
	if provider.Name == "aws" && text == provider.DiscoveryPrefix {
		return errors.New("it names no tag, as in asg:tag=k8s.io/cluster-autoscaler/enabled")
	}
	return nil
}
