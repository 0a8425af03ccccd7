package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Disagreement is pods that fit nodes that are ready, while the scheduler leaves them
// waiting.
type Disagreement struct {
	// Pods says what made them.
	Pods    string      `json:"pods"`
	Count   int         `json:"count"`
	Since   metav1.Time `json:"since"`
	Message string      `json:"message"`
}

// mostDisagreements is how many of them the document has.
const mostDisagreements = 10

func disagreementsOf(c model.Cycle) []Disagreement {
	var out []Disagreement
	var names []string
	for i := range c.Plan.Pending {
		v := &c.Plan.Pending[i]
		if v.Disagrees == nil {
			continue
		}
		if len(out) == mostDisagreements {
			break
		}
		if names == nil {
			names = c.Snapshot.ClassNames()
		}
		out = append(out, Disagreement{names[v.Class], v.Existing, metav1.NewTime(v.Disagrees.Since),
			cut(v.Disagrees.Detail, maxError)})
	}
	return out
}
