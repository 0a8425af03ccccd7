package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// daemonSet: such a pod is there because the node is. Whether it is evicted
// before its node goes is the drain's concern, and holds nothing up.
var daemonSet = rule{name: "DaemonSet", flags: model.FromDaemonSet, answer: stays}
