package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

var verbWord = map[model.Verb]string{
	model.Grow: "grow", model.Taint: "taint", model.Untaint: "untaint", model.Remove: "remove", model.Cancel: "cancel",
	model.Cordon: "cordon", model.Evict: "evict", model.Mark: "mark", model.Unmark: "unmark",
	model.Annotate: "annotate",
}

func batches(names []string, pods []model.Batch) string {
	parts := make([]string, len(pods))
	for i, b := range pods {
		parts[i] = fmt.Sprintf("%s x%d", names[b.Class], b.Count)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// sortedGroups are the groups by id.
func (w *world) sortedGroups() []*group {
	out := make([]*group, 0, len(w.groups))
	for _, id := range slices.Sorted(maps.Keys(w.groups)) {
		out = append(out, w.groups[id])
	}
	return out
}
