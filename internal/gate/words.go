package gate

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Reasons that are given in several places have their words here.

// Cooldown is the verdict on a delay after something that happened last, and why that did.
func Cooldown(delay time.Duration, last, why string) *model.Verdict {
	return &model.Verdict{Reason: model.Cooldown, Detail: fmt.Sprintf("%s after the last %s%s", delay, last, because(why))}
}

// Whole is the verdict on nodes of a group that goes as a whole, and on what is in the way.
func Whole(obstacle, fix string) *model.Verdict {
	return &model.Verdict{Reason: model.AllOrNothing, Detail: "the group goes as a whole, and " + obstacle, Fix: fix}
}

// OneStays is Whole where a node of the group stays.
func OneStays(node, why string) *model.Verdict {
	return Whole(fmt.Sprintf("%s stays: %s", node, why), "that node can go, too")
}

// writeFailed is the verdict on a group whose last write failed.
func writeFailed(more, fix string) *model.Verdict {
	return &model.Verdict{Reason: model.GroupPaused, Detail: "the last write to it failed" + more, Fix: fix}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
