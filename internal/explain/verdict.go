package explain

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// APIVersion is that of all answers.
const APIVersion = "plimsoll.dev/v1alpha1"

// Verdict is a reasoned answer.
type Verdict struct {
	Reason model.Reason `json:"reason"`
	Detail string       `json:"detail,omitempty"`
	Since  time.Time    `json:"since,omitzero"`
	Until  time.Time    `json:"until,omitzero"`
	Fix    string       `json:"fix,omitempty"`
}

func verdictOf(v *model.Verdict) *Verdict {
	if v == nil {
		return nil
	}
	return &Verdict{v.Reason, v.Detail, v.Since, v.Until, v.Fix}
}
