package spelling

import (
	"fmt"
	"strings"
)

// mostNames is how many names of a list are said.
const mostNames = 3

// Some says the first of some names, and how many others there are: a, b and 4 others.
func Some(names []string) string {
	if len(names) > mostNames {
		return strings.Join(names[:mostNames-1], ", ") + fmt.Sprintf(" and %d others", len(names)-mostNames+1)
	}
	return All(names)
}

// All says all names: a, b and c.
func All(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
