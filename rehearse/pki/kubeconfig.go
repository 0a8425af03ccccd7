package pki

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Identity is who a kubeconfig speaks as: a client certificate, or a token.
type Identity struct {
	User  string
	Cert  Pair
	Token string
}

// Kubeconfig encodes a kubeconfig that trusts this authority alone. It carries
// its secrets inline, so that one file can be copied and still works.
func (a *Authority) Kubeconfig(clusterName, server string, who Identity) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[clusterName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.PEM()}
	config.AuthInfos[who.User] = &clientcmdapi.AuthInfo{
		ClientCertificateData: who.Cert.Cert,
		ClientKeyData:         who.Cert.Key,
		Token:                 who.Token,
	}
	config.Contexts[clusterName] = &clientcmdapi.Context{Cluster: clusterName, AuthInfo: who.User}
	config.CurrentContext = clusterName
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %s: %w", who.User, err)
	}
	return data, nil
}
