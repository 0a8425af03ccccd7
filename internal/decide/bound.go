package decide

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// Bound searches longer than a cycle may for what no plan is below in nodes and in price, for the pods that groups grow
// for. The world is that of the snapshot. The price is not ok where one is not known.
func Bound(
	w *schedsim.World, s *model.Snapshot, p model.Policy, grow []model.Growth, steps int,
) (nodes int, price float64, ok bool) {
	return scaleup.Bound(w, s, p, gate.New(s, p), grow, steps)
}
