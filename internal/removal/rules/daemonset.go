package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// daemonSet: the pod is there because the node is, so it never keeps the node. Whether
// it is evicted before its node goes is decided by the removal.
var daemonSet = rule{name: "DaemonSet", flags: model.FromDaemonSet, answer: stays}
