package controlplane

import (
	"net"
	"path/filepath"

	"github.com/plimsoll-dev/plimsoll/rehearse/pki"
)

const (
	clusterName      = "rehearsal"
	serviceRange     = "10.96.0.0/16"
	firstServiceAddr = "10.96.0.1" // the API server's own service
	frontProxyUser   = "front-proxy-client"
)

// secrets are the files that prove who is who. One authority signs all: every
// component verifies both its clients and its servers against it. Only the front
// proxy has another one, as who bears its certificate may claim to be anybody.
type secrets struct {
	authority     *pki.Authority
	caFile        string
	serving       pki.Files // of every server: all are the loopback address
	etcdClient    pki.Files // of the API server towards etcd
	prober        pki.Pair  // of the probes, towards etcd and every component
	tokenKey      string    // signs service account tokens
	tokenVerifier string
	frontProxyCA  string // of the API server as a proxy to extension servers
	frontProxy    pki.Files

	adminKubeconfig, controllerManagerKubeconfig, schedulerKubeconfig, kwokKubeconfig string

	server string // the API server's URL
}

func makeSecrets(f folders, p ports) (secrets, error) {
	authority, err := pki.NewAuthority("rehearsal authority")
	if err != nil {
		return secrets{}, err
	}
	s := secrets{authority: authority, caFile: filepath.Join(f.pki, "ca.crt"), server: httpsURL(p.apiServer)}
	if err := pki.WriteSecret(s.caFile, authority.PEM()); err != nil {
		return secrets{}, err
	}

	names := []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	serving, err := authority.Server("rehearsal", names, []net.IP{net.ParseIP(loopback), net.ParseIP(firstServiceAddr)})
	if err != nil {
		return secrets{}, err
	}
	if s.serving, err = serving.Write(f.pki, "serving"); err != nil {
		return secrets{}, err
	}
	etcdClient, err := authority.Client("kube-apiserver-etcd-client")
	if err != nil {
		return secrets{}, err
	}
	if s.etcdClient, err = etcdClient.Write(f.pki, "etcd-client"); err != nil {
		return secrets{}, err
	}
	if s.prober, err = authority.Client("rehearse:prober", "system:monitoring"); err != nil {
		return secrets{}, err
	}

	frontProxyAuthority, err := pki.NewAuthority("rehearsal front proxy authority")
	if err != nil {
		return secrets{}, err
	}
	s.frontProxyCA = filepath.Join(f.pki, "front-proxy-ca.crt")
	if err := pki.WriteSecret(s.frontProxyCA, frontProxyAuthority.PEM()); err != nil {
		return secrets{}, err
	}
	frontProxy, err := frontProxyAuthority.Client(frontProxyUser)
	if err != nil {
		return secrets{}, err
	}
	if s.frontProxy, err = frontProxy.Write(f.pki, "front-proxy"); err != nil {
		return secrets{}, err
	}

	private, public, err := pki.NewSigningKey()
	if err != nil {
		return secrets{}, err
	}
	s.tokenKey, s.tokenVerifier = filepath.Join(f.pki, "service-accounts.key"), filepath.Join(f.pki,
		"service-accounts.pub")
	if err := pki.WriteSecret(s.tokenKey, private); err != nil {
		return secrets{}, err
	}
	if err := pki.WriteSecret(s.tokenVerifier, public); err != nil {
		return secrets{}, err
	}

	for _, one := range []struct {
		path   *string
		name   string
		user   string
		groups []string
	}{
		{&s.adminKubeconfig, "admin", "rehearse:admin", []string{"system:masters"}},
		{&s.controllerManagerKubeconfig, "kube-controller-manager", "system:kube-controller-manager", nil},
		{&s.schedulerKubeconfig, "kube-scheduler", "system:kube-scheduler", nil},
		{&s.kwokKubeconfig, "kwok-controller", "rehearse:kwok", nil},
	} {
		cert, err := authority.Client(one.user, one.groups...)
		if err != nil {
			return secrets{}, err
		}
		*one.path = f.kubeconfig(one.name)
		if err := s.writeKubeconfig(*one.path, pki.Identity{User: one.user, Cert: cert}); err != nil {
			return secrets{}, err
		}
	}
	return s, nil
}

func (s secrets) writeKubeconfig(path string, who pki.Identity) error {
	data, err := s.authority.Kubeconfig(clusterName, s.server, who)
	if err != nil {
		return err
	}
	return pki.WriteSecret(path, data)
}
