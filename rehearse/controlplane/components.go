package controlplane

import (
	"fmt"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/rehearse/component"
	"github.com/plimsoll-dev/plimsoll/rehearse/pki"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

// The rates of the clients of the scheduler and of each controller, in requests
// per second: no limit that a rehearsal should meet before the machine's own.
const (
	clientQPS   = 2000
	clientBurst = 4000
)

// Controllers that have nothing to do without kubelets, clouds and a network, and
// would only cost processor time per node or pod.
var controllersOff = []string{
	"bootstrap-signer-controller",
	"certificatesigningrequest-approving-controller",
	"certificatesigningrequest-cleaner-controller",
	"certificatesigningrequest-signing-controller",
	"endpoints-controller",
	"endpointslice-controller",
	"endpointslice-mirroring-controller",
	"horizontal-pod-autoscaler-controller",
	"node-ipam-controller",
	"persistentvolume-attach-detach-controller",
	"persistentvolume-expander-controller",
	"service-cidr-controller",
	"token-cleaner-controller",
	"ttl-controller",
}

func etcd(f folders, p ports, s secrets, probes prober) supervise.Process {
	return supervise.Process{
		Name: component.Etcd,
		Args: append([]string{
			"--data-dir=" + f.etcd,
			"--client-url=" + httpsURL(p.etcdClient),
			"--peer-url=" + httpsURL(p.etcdPeer),
			"--ca-file=" + s.caFile,
		}, certFlags("--cert-file", "--key-file", s.serving)...),
		Ready: probes.get(httpsURL(p.etcdClient) + "/readyz"),
	}
}

func apiServer(p ports, s secrets, probes prober, more ...string) supervise.Process {
	args := []string{
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(p.apiServer),
		"--etcd-servers=" + httpsURL(p.etcdClient),
		"--etcd-cafile=" + s.caFile,
		"--client-ca-file=" + s.caFile,
		"--anonymous-auth=false",
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.tokenVerifier,
		"--service-account-signing-key-file=" + s.tokenKey,
		// Nothing that stays on the machine is worth the time to compress it.
		"--feature-gates=APIResponseCompression=false",
		"--requestheader-client-ca-file=" + s.frontProxyCA,
		"--requestheader-allowed-names=" + frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		// There is no other member, and a loopback address cannot be an endpoint.
		"--endpoint-reconciler-type=none",
		"--advertise-address=" + loopback,
	}
	args = append(args, certFlags("--proxy-client-cert-file", "--proxy-client-key-file", s.frontProxy)...)
	args = append(args, certFlags("--etcd-certfile", "--etcd-keyfile", s.etcdClient)...)
	args = append(args, certFlags("--tls-cert-file", "--tls-private-key-file", s.serving)...)
	args = append(args, more...)
	return supervise.Process{Name: component.APIServer, Args: args, Ready: probes.get(s.server + "/readyz")}
}

func controllerManager(p ports, s secrets, probes prober) supervise.Process {
	controllers := "*"
	for _, off := range controllersOff {
		controllers += ",-" + off
	}
	args := []string{
		"--kubeconfig=" + s.controllerManagerKubeconfig,
		"--authentication-kubeconfig=" + s.controllerManagerKubeconfig,
		"--authorization-kubeconfig=" + s.controllerManagerKubeconfig,
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(p.controllerManager),
		"--leader-elect=false",
		"--controllers=" + controllers,
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + s.tokenKey,
		"--root-ca-file=" + s.caFile,
		"--kube-api-qps=" + strconv.Itoa(clientQPS),
		"--kube-api-burst=" + strconv.Itoa(clientBurst),
		// One lost heartbeat is forgiven, as with a kubelet's.
		"--node-monitor-grace-period=" + (2*component.NodeHeartbeat + component.NodeHeartbeat/2).String(),
	}
	args = append(args, certFlags("--tls-cert-file", "--tls-private-key-file", s.serving)...)
	return supervise.Process{
		Name:  component.ControllerManager,
		Args:  args,
		Ready: probes.get(httpsURL(p.controllerManager) + "/healthz"),
	}
}

// scheduler also writes the scheduler's configuration file: its plugins and
// back-off times are the defaults, as on any cluster.
func scheduler(f folders, p ports, s secrets, probes prober) (supervise.Process, error) {
	config, err := yaml.Marshal(map[string]any{
		"apiVersion":     "kubescheduler.config.k8s.io/v1",
		"kind":           "KubeSchedulerConfiguration",
		"leaderElection": map[string]any{"leaderElect": false},
		"clientConnection": map[string]any{
			"kubeconfig": s.schedulerKubeconfig,
			"qps":        clientQPS,
			"burst":      clientBurst,
		},
	})
	if err != nil {
		return supervise.Process{}, fmt.Errorf("encode the configuration of %s: %w", component.Scheduler, err)
	}
	path := filepath.Join(f.config, "kube-scheduler.yaml")
	if err := pki.WriteSecret(path, config); err != nil {
		return supervise.Process{}, err
	}
	args := []string{
		"--config=" + path,
		"--authentication-kubeconfig=" + s.schedulerKubeconfig,
		"--authorization-kubeconfig=" + s.schedulerKubeconfig,
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(p.scheduler),
	}
	args = append(args, certFlags("--tls-cert-file", "--tls-private-key-file", s.serving)...)
	return supervise.Process{
		Name:  component.Scheduler,
		Args:  args,
		Ready: probes.get(httpsURL(p.scheduler) + "/readyz"),
	}, nil
}

func kwok(p ports, s secrets, probes prober) supervise.Process {
	return supervise.Process{
		Name: component.Kwok,
		Args: append([]string{
			"--kubeconfig=" + s.kwokKubeconfig,
			"--health-address=" + hostPort(p.kwok),
		}, certFlags("--cert-file", "--key-file", s.serving)...),
		Ready: probes.get(httpsURL(p.kwok) + "/healthz"),
	}
}

func certFlags(certFlag, keyFlag string, files pki.Files) []string {
	return []string{certFlag + "=" + files.Cert, keyFlag + "=" + files.Key}
}
