package clusterapitest

import "github.com/plimsoll-dev/plimsoll/providers/kubetest"

// ChartRights are those that the Helm chart of the Cluster Autoscaler gives in
// the management cluster.
func ChartRights(namespace string) []kubetest.Right {
	return []kubetest.Right{
		{Namespace: namespace, Resources: []string{"machinedeployments", "machinepools", "machines", "machinesets"}, Verbs: []string{"get", "list", "update", "watch"}},
		{Namespace: namespace, Resources: []string{"machinedeployments/scale", "machinepools/scale"}, Verbs: []string{"get", "patch", "update"}},
	}
}
