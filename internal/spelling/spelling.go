// Package spelling has what texts have in common: a count before its noun, and what a person meant who wrote a name
// that does not exist.
//
// What flows in: counts, and names. What flows out: words; of names the one that differs least, if it is near
// enough to be meant. Who may import it: every package of internal/ and the hosts.
package spelling

// Nearest is the name that differs least from one that does not exist; empty if none is near. Of several the
// first counts.
func Nearest(name string, known []string) string {
	best, least := "", min(3, len(name)/2)+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// Meant goes on after a name that does not exist: with the nearest that does, and what else is to be said.
func Meant(name string, known []string, more string) string {
	if near := Nearest(name, known); near != "" {
		return ": did you mean " + near + "? " + more
	}
	return "; " + more
}

// distance counts the letters to be put in, taken out or exchanged to make one text of
// the other; two neighbours that have changed places count as one.
func distance(a, b string) int {
	before, last, row := []int(nil), []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
