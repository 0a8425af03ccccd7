package autoscaler

import "github.com/plimsoll-dev/plimsoll/rehearse/supervise"

// EKSAnywhereName is the name of the process of the controller of EKS Anywhere's
// worker groups, and of its log.
const EKSAnywhereName = "plimsoll-eks-anywhere"

// EKSAnywhere describes that controller: the same binary, as a process of its own
// with a kubeconfig of its own. address is the host:port of its health; it serves no metrics, since no test reads them.
func EKSAnywhere(binary, kubeconfig, address string) supervise.Process {
	return supervise.Process{
		Name: EKSAnywhereName,
		Path: binary,
		Args: []string{"controller", "eks-anywhere",
			"--kubeconfig=" + kubeconfig,
			"--health-address=" + address,
			"--metrics-address=",
		},
		Ready: ready("http://" + address + "/readyz"),
		Grace: stopGrace,
	}
}
