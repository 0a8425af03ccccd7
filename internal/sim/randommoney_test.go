package sim

import (
	"fmt"
	"strings"
)

// drawMoney gives the groups of a world prices, all but some of them, and lets nodes go for cheaper ones, as further
// flags say.
func drawMoney(d drawn, text, flags string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch word, _, _ := strings.Cut(line, " "); {
		case word == "flags":
			line += " --consolidation=WhenCheaper --move-stay=" + d.minutes(5, 30) +
				" --min-savings-share=" + d.of("0", "0.1", "0.3") + flags
		case word == "group" && !d.once(6):
			line += fmt.Sprintf(" price=0.%d", d.in(1, 9))
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// drawBound bounds the nodes that go, every other time.
func drawBound(d drawn) string {
	switch d.in(0, 5) {
	case 0:
		return fmt.Sprintf(" --budget-nodes=%d", d.in(1, 3))
	case 1:
		return fmt.Sprintf(" --budget-rate=%d/%s", d.in(1, 3), d.minutes(5, 20))
	case 2:
		return " --budget-allow=" + d.minutes(15, 40)
	}
	return ""
}
