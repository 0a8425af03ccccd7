package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// mirror: a static pod belongs to the node's kubelet. The API server has only a copy of
// it, and evicting the copy ends nothing.
var mirror = rule{name: "Mirror", flags: model.Mirror, answer: stays}
