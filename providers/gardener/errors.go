package gardener

import (
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// hints are what to look at after an error of the control cluster.
var hints = kube.Hints{
	provider.Denied:      "docs/gardener.md lists the rights that are needed in the control cluster",
	provider.Credentials: "see CONTROL_KUBECONFIG in docs/gardener.md",
	provider.NotFound: "is this the control cluster of the shoot, with machine-controller-manager's " +
		"CustomResourceDefinitions?",
}

// unread is the text for a MachineDeployment that is left alone for an error.
const unread = "the MachineDeployment cannot be read: %v"
