package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// finished: a pod that has succeeded or failed no longer runs anything.
var finished = rule{name: "Finished", flags: model.Finished, answer: stays}
