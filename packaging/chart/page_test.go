package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// TestThePagesPort: where other machines reach the page, its port is in the pod, in the Service and in the
// NetworkPolicy; elsewhere it is in none of them. The chart and the product agree on which address is which.
func TestThePagesPort(t *testing.T) {
	for address, port := range map[string]int32{
		config.Defaults().Page.Address: 0, "": 0, "localhost:80": 0, "LOCALHOST:80": 0, "127.8.0.1:80": 0, "[::1]:80": 0,
		":8443": 8443, "0.0.0.0:8443": 8443, "[::]:8443": 8443, "10.0.0.1:443": 443, "localhost.example:80": 80,
		"127.0.0.1.example:80": 80,
	} {
		if address != "" && ui.Loopback(address) != (port == 0) {
			t.Errorf("%s: the product takes it for the loopback: %t", address, ui.Loopback(address))
		}
		all := objects(t, render(t, parse(t, `{cloudProvider: kwok, networkPolicy: {enabled: true}, ui: {address: "`+
			address+`"}}`)))
		container := all["deployment.yaml"].(*appsv1.Deployment).Spec.Template.Spec.Containers[0]
		given := slices.Contains(container.Args, "--ui-address="+address)
		if given != (address != config.Defaults().Page.Address) {
			t.Errorf("%q: the arguments are %q", address, container.Args)
		}
		var in, service, policy int32
		for _, p := range container.Ports {
			if p.Name == "ui" {
				in = p.ContainerPort
			}
		}
		for _, p := range all["service.yaml"].(*corev1.Service).Spec.Ports {
			if p.TargetPort.String() == "ui" {
				service = p.Port
			}
		}
		for _, p := range all["networkpolicy.yaml"].(*networkingv1.NetworkPolicy).Spec.Ingress[0].Ports {
			if p.Port.String() == "ui" {
				policy = port
			}
		}
		if in != port || service != port || policy != port {
			t.Errorf("%q: port %d of the pod, %d of the Service, %d of the policy", address, in, service, policy)
		}
	}
}

// TestThePodsOwnName: the product learns which pod it is in, by which it looks up whether that has a network of its
// own; what an operator sets stays as it is, and once.
func TestThePodsOwnName(t *testing.T) {
	for values, want := range map[string]map[string]string{
		"{cloudProvider: gardener}":                                        {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"},
		"{cloudProvider: kwok, env: [{name: POD_NAMESPACE, value: mine}]}": {"POD_NAME": "metadata.name", "POD_NAMESPACE": "mine"},
	} {
		got := map[string]string{}
		for _, e := range objects(t, render(t, parse(t, values)))["deployment.yaml"].(*appsv1.Deployment).Spec.Template.
			Spec.Containers[0].Env {
			if _, ok := want[e.Name]; !ok {
				continue
			}
			if _, twice := got[e.Name]; twice {
				t.Errorf("%s: %s stands there twice", values, e.Name)
			}
			if got[e.Name] = e.Value; e.ValueFrom != nil {
				got[e.Name] = e.ValueFrom.FieldRef.FieldPath
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the environment has %v", values, got)
		}
	}
}

// TestThePagesCertificate: the Secret is mounted where the flags say that the certificate is.
func TestThePagesCertificate(t *testing.T) {
	pod := objects(t, render(t, parse(t, `{cloudProvider: aws, autoDiscovery: {clusterName: c}, ui: {address: ":8443", `+
		`tlsSecret: mine}}`)))["deployment.yaml"].(*appsv1.Deployment).Spec.Template.Spec
	container := pod.Containers[0]
	for _, arg := range []string{"--ui-tls-cert-file=/etc/plimsoll/ui/tls.crt",
		"--ui-tls-private-key-file=/etc/plimsoll/ui/tls.key"} {
		if !slices.Contains(container.Args, arg) {
			t.Errorf("no %s in %q", arg, container.Args)
		}
	}
	if len(pod.Volumes) != 1 || pod.Volumes[0].Secret == nil || pod.Volumes[0].Secret.SecretName != "mine" ||
		len(container.VolumeMounts) != 1 || container.VolumeMounts[0].MountPath != "/etc/plimsoll/ui" {
		t.Errorf("%+v %+v", pod.Volumes, container.VolumeMounts)
	}
}

// TestTheConfiguration: it is mounted as the file that the flag names, and counts in a run with the chart's arguments.
func TestTheConfiguration(t *testing.T) {
	all := objects(t, render(t, parse(t, `{cloudProvider: kwok, config: {scaleDown: {unneededTime: 5m}}}`)))
	d := all["deployment.yaml"].(*appsv1.Deployment)
	pod := d.Spec.Template.Spec
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "config" })
	j := slices.IndexFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "config" })
	held := all["config.yaml"].(*corev1.ConfigMap)
	if i < 0 || j < 0 || pod.Volumes[i].ConfigMap.Name != held.Name || pod.Containers[0].VolumeMounts[j].SubPath != "" ||
		!slices.Contains(pod.Containers[0].Args, "--config="+pod.Containers[0].VolumeMounts[j].MountPath+"/plimsoll.yaml") {
		t.Fatalf("%q %+v", pod.Containers[0].Args, pod.Volumes)
	}
	configured(t, d, all)
	if c, warnings := told(t, d); len(warnings) > 0 || c.Policy.ScaleDown.UnneededTime != 5*time.Minute {
		t.Errorf("unneeded for %v, %q", c.Policy.ScaleDown.UnneededTime, warnings)
	}
}

// TestThePrices: they are mounted as the file that the flag names, and the product can read it.
func TestThePrices(t *testing.T) {
	all := objects(t, render(t, parse(t, `{cloudProvider: kwok, prices: {currency: USD, groups: {a: 0.5}, instances: `+
		`[{type: m5.large, capacityType: spot, perHour: 0.1}]}}`)))
	pod := all["deployment.yaml"].(*appsv1.Deployment).Spec.Template.Spec
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "prices" })
	j := slices.IndexFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "prices" })
	held := all["prices.yaml"].(*corev1.ConfigMap)
	if i < 0 || j < 0 || pod.Volumes[i].ConfigMap.Name != held.Name || pod.Containers[0].VolumeMounts[j].SubPath != "" ||
		!slices.Contains(pod.Containers[0].Args, "--price-file="+pod.Containers[0].VolumeMounts[j].MountPath+"/prices.yaml") {
		t.Errorf("%q %+v", pod.Containers[0].Args, pod.Volumes)
	}
	file := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(file, []byte(held.Data["prices.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if prices, err := config.ReadPrices(file); err != nil || prices.Groups["a"] != 0.5 || len(prices.Instances) != 1 {
		t.Errorf("%+v, %v", prices, err)
	}
	if _, ok := objects(t, render(t, parse(t, `{cloudProvider: kwok}`)))["prices.yaml"]; ok {
		t.Error("there is a file without prices in it")
	}
}
