package objects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func TestEndpointIsTheKubeconfigsServer(t *testing.T) {
	for _, test := range []struct {
		name, server string
		withFile     bool
		want         clusterv1.APIEndpoint
		wantError    string
	}{
		{name: "inline", server: "https://127.0.0.1:6443", want: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443}},
		{name: "no port", server: "https://127.0.0.1", wantError: "names no port"},
		{name: "a file", server: "https://127.0.0.1:6443", withFile: true, wantError: "write the secrets inline"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := clientcmdapi.NewConfig()
			config.Clusters["c"] = &clientcmdapi.Cluster{Server: test.server}
			config.AuthInfos["u"] = &clientcmdapi.AuthInfo{}
			if test.withFile {
				file := filepath.Join(t.TempDir(), "token")
				if err := os.WriteFile(file, []byte("t"), 0o600); err != nil {
					t.Fatal(err)
				}
				config.AuthInfos["u"].TokenFile = file
			}
			config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
			config.CurrentContext = "c"
			data, err := clientcmd.Write(*config)
			if err != nil {
				t.Fatal(err)
			}
			got, err := endpointOf(data)
			if got != test.want || (err == nil) != (test.wantError == "") {
				t.Errorf("got %+v, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.wantError) {
				t.Errorf("got the error %v, want %q in it", err, test.wantError)
			}
		})
	}
}
