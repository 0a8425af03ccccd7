package clusterapi

import (
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// hints are what to look at after an error of the management cluster.
var hints = kube.Hints{
	provider.Denied:      "docs/clusterapi.md lists the rights that are needed in the management cluster",
	provider.Credentials: "see --cloud-config and --kubeconfig in docs/clusterapi.md",
}
