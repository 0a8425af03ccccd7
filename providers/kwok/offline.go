package kwok

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// InventoryOf is what the provider would answer with templates of a file, and with the nodes of a cluster
// that is not asked: what it would read of the cluster's ConfigMaps is not known.
func InventoryOf(file string, nodes []*corev1.Node, asOf time.Time) (provider.Inventory, error) {
	src, err := loadFile(file)
	if err != nil {
		return provider.Inventory{}, err
	}
	groups, notices, err := buildGroups(src)
	if err != nil {
		return provider.Inventory{}, fmt.Errorf("read the groups of %s: %w", file, err)
	}
	seen := census{own: map[string][]member{}}
	for _, n := range nodes {
		if isOwn(n.Annotations) {
			m := memberOf(&n.ObjectMeta)
			seen.own[m.group] = append(seen.own[m.group], m)
		}
	}
	inventory := provider.Inventory{AsOf: asOf, Notices: notices}
	for _, g := range groups {
		inventory.Groups = append(inventory.Groups, g.seenIn(seen))
	}
	return inventory, nil
}
