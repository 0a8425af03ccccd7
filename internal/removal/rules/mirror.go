package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// mirror: a static pod is the kubelet's, and belongs to the node. The API server
// has only its image, and to evict that ends nothing.
var mirror = rule{name: "Mirror", flags: model.Mirror, answer: stays}
