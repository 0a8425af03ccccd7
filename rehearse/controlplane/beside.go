package controlplane

import (
	"context"

	"github.com/plimsoll-dev/plimsoll/rehearse/pki"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

// LaunchComponents starts more components, each by the name that it has in package
// component, and returns once all serve. From then on they are components like the
// others: revived with KeepGoing, waited for by WaitReady.
func (c *ControlPlane) LaunchComponents(ctx context.Context, processes ...supervise.Process) error {
	if err := c.launch(processes...); err != nil {
		return err
	}
	var names []string
	for _, p := range processes {
		names = append(names, p.Name)
	}
	return c.processes.WaitReady(ctx, names...)
}

// Identify makes a user with a certificate, and a kubeconfig of that name for it.
// It has no rights that nobody grants it.
func (c *ControlPlane) Identify(name, user string) (kubeconfig string, err error) {
	cert, err := c.secrets.authority.Client(user)
	if err != nil {
		return "", err
	}
	path := c.folders.kubeconfig(name)
	return path, c.secrets.writeKubeconfig(path, pki.Identity{User: user, Cert: cert})
}
