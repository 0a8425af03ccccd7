package spelling

import (
	"fmt"
	"strings"
)

// Count says how many there are of something that is named in the singular: 1 node, 2 nodes, 3 classes.
func Count(n int, what string) string {
	if n != 1 {
		what = Plural(what)
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Plural is the word for more than one: nodes, classes. Of verbs it is what one does: fits, wishes.
func Plural(what string) string {
	if strings.HasSuffix(what, "s") || strings.HasSuffix(what, "sh") {
		return what + "es"
	}
	return what + "s"
}

// Are is the verb for so many: 1 of 3 nodes is, 2 of 3 nodes are.
func Are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
