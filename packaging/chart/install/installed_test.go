package install

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

const (
	chartFolder = "../../../charts/plimsoll"
	binary      = "../../../bin/plimsoll"

	// Neither is what the chart is usually called: names and namespaces must follow.
	releaseName = "night"
	namespace   = "autoscaling"
	fullName    = "night-plimsoll"

	soon = time.Minute // on a machine that is busy with other things
)

// installed is a release on a control plane of its own.
type installed struct {
	plane *controlplane.ControlPlane
	helm  *action.Configuration
}

// startPlane starts a control plane without a kwok controller.
func startPlane(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	plane, err := controlplane.Start(ctx, controlplane.Config{
		WithoutKwok: true, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Errorf("stop the control plane: %v", err)
		}
	})
	return plane
}

// install makes the release, as `helm install` does, but for waiting: there is no kubelet to
// run its pods. Its namespace lets none in that are not as restricted as can be.
func install(t *testing.T, plane *controlplane.ControlPlane, values map[string]any) *installed {
	t.Helper()
	_, err := plane.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   namespace,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	flags := genericclioptions.NewConfigFlags(false)
	kubeconfig, ns := plane.AdminKubeconfig(), namespace
	flags.KubeConfig, flags.Namespace = &kubeconfig, &ns
	config := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := config.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	chart, err := loader.LoadDir(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	installation := action.NewInstall(config)
	installation.ReleaseName, installation.Namespace = releaseName, namespace
	installation.WaitStrategy, installation.Timeout, installation.ServerSideApply = kube.HookOnlyStrategy, soon, true
	if _, err := installation.RunWithContext(t.Context(), chart, values); err != nil {
		t.Fatalf("install the chart: %v", err)
	}
	return &installed{plane: plane, helm: config}
}

// upgrade gives the release other values, on top of those that it has.
func (i *installed) upgrade(t *testing.T, values map[string]any) {
	t.Helper()
	chart, err := loader.LoadDir(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	upgrade := action.NewUpgrade(i.helm)
	upgrade.Namespace, upgrade.ReuseValues = namespace, true
	upgrade.WaitStrategy, upgrade.Timeout, upgrade.ServerSideApply = kube.HookOnlyStrategy, soon, "true"
	if _, err := upgrade.RunWithContext(t.Context(), releaseName, chart, values); err != nil {
		t.Fatalf("upgrade the release: %v", err)
	}
}

// uninstall removes it.
func (i *installed) uninstall(t *testing.T) {
	t.Helper()
	removal := action.NewUninstall(i.helm)
	removal.WaitStrategy, removal.Timeout = kube.HookOnlyStrategy, soon
	if _, err := removal.Run(releaseName); err != nil {
		t.Fatalf("uninstall the chart: %v", err)
	}
}

func (i *installed) deployment(t *testing.T, name string) *appsv1.Deployment {
	t.Helper()
	d, err := i.plane.Client().AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// kubeconfig is one with a token of an account, that leads to the recorder.
func (i *installed) kubeconfig(t *testing.T, account string, r *recorder) string {
	t.Helper()
	token, err := i.plane.Client().CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: r.server.URL, CertificateAuthorityData: authority}
	config.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "a"}
	config.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// mounts writes what the pod's ConfigMaps would be mounted as, and gives the folder that
// stands for each path.
func (i *installed) mounts(t *testing.T, pod corev1.PodSpec) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, mount := range pod.Containers[0].VolumeMounts {
		at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if at < 0 || pod.Volumes[at].ConfigMap == nil {
			t.Fatalf("the mount %s has no ConfigMap", mount.Name)
		}
		object, err := i.plane.Client().CoreV1().ConfigMaps(namespace).Get(t.Context(), pod.Volumes[at].ConfigMap.Name,
			metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		for name, text := range object.Data {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out[mount.MountPath] = folder
	}
	return out
}

// process is the one container of a Deployment as a process on this machine: its own
// arguments and environment, but for the paths of what is mounted. more is what only a
// process needs.
func (i *installed) process(
	t *testing.T, d *appsv1.Deployment, path string, first, more, env []string,
) supervise.Process {
	t.Helper()
	pod := d.Spec.Template.Spec
	folders := i.mounts(t, pod)
	here := func(text string) string {
		for from, to := range folders {
			text = strings.ReplaceAll(text, from+"/", to+"/")
		}
		return text
	}
	container := pod.Containers[0]
	args := slices.Clone(first)
	for _, a := range container.Args {
		args = append(args, strings.ReplaceAll(here(a), "$(POD_IP)", "127.0.0.1"))
	}
	for _, e := range container.Env {
		if e.ValueFrom == nil && e.Name != "HOME" {
			env = append(env, e.Name+"="+here(e.Value))
		}
	}
	return supervise.Process{
		Name: d.Name, Path: path, Args: append(args, more...), Env: env, Grace: 20 * time.Second,
	}
}

func healthy(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := controlplane.FreePort(nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// eventually waits until look says that all is as it should be; else it says what is not.
func eventually(t *testing.T, within time.Duration, look func() (string, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		wrong, err := look()
		if err != nil {
			t.Fatal(err)
		}
		if wrong == "" {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("after %s: %s", within, wrong)
		}
	}
}
