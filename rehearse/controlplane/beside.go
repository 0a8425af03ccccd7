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

// Serving is the certificate of every server of the rehearsal, for the loopback
// address, and AuthorityFile the certificate of who signed it.
func (c *ControlPlane) Serving() pki.Files { return c.secrets.serving }

// AuthorityFile is the file of the certificate that vouches for all others.
func (c *ControlPlane) AuthorityFile() string { return c.secrets.caFile }

// Probe asks a server whether it is ready, by a certificate that may do no more.
func (c *ControlPlane) Probe(url string) (func(context.Context) error, error) {
	probes, err := newProber(c.secrets)
	if err != nil {
		return nil, err
	}
	return probes.get(url), nil
}

// Identify makes a user with a certificate, and a kubeconfig of that name for it.
// It has only the rights that are granted to it.
func (c *ControlPlane) Identify(name, user string) (kubeconfig string, err error) {
	cert, err := c.secrets.authority.Client(user)
	if err != nil {
		return "", err
	}
	path := c.folders.kubeconfig(name)
	return path, c.secrets.writeKubeconfig(path, pki.Identity{User: user, Cert: cert})
}
