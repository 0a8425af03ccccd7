// Package objects makes the Cluster API objects of a test or a story in few lines:
// a cluster that is this very control plane, templates of machines, and groups of
// workers. It only builds and creates; package clusterapi runs the controllers.
package objects

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

// Scheme knows Kubernetes' kinds, Cluster API's in v1beta2, and our own.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(clusterv1.AddToScheme(scheme))
	utilruntime.Must(kwokapi.AddToScheme(scheme))
	return scheme
}

// bootstrapSecret is the Secret that every machine claims to boot with. No component reads it:
// there is nothing to boot.
const bootstrapSecret = "none"

// CreateCluster creates a Cluster of that name whose control plane runs already:
// the Cluster, its KwokControlPlane, and the Secret with the kubeconfig by which
// Cluster API reaches it. The kubeconfig must carry its secrets inline. A namespace
// that is missing is made. What is there already stays as it is, so that an
// interrupted call can be repeated.
func CreateCluster(
	ctx context.Context, c client.Client, namespace, name string, kubeconfig []byte,
) (*clusterv1.Cluster, error) {
	endpoint, err := endpointOf(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("make the cluster %s/%s: %w", namespace, name, err)
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	cluster := &clusterv1.Cluster{
		ObjectMeta: meta,
		Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: endpoint,
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: kwokapi.ControlPlaneGroupVersion.Group, Kind: kwokapi.ControlPlaneKind, Name: name,
			},
		},
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&kwokapi.KwokControlPlane{ObjectMeta: meta},
		cluster,
	} {
		if err := ensure(ctx, c, object); err != nil {
			return nil, err
		}
	}
	// The Secret is the Cluster's own, as one of Cluster API's making would be: it
	// is collected with it.
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name + "-kubeconfig",
			Labels:    map[string]string{clusterv1.ClusterNameLabel: name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: name, UID: cluster.UID,
			}},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{"value": kubeconfig},
	}
	if err := ensure(ctx, c, secret); err != nil {
		return nil, err
	}
	return cluster, nil
}

func ensure(ctx context.Context, c client.Client, object client.Object) error {
	err := c.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		err = c.Get(ctx, client.ObjectKeyFromObject(object), object)
	}
	if err != nil {
		return fmt.Errorf("create the %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}

func endpointOf(kubeconfig []byte) (clusterv1.APIEndpoint, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return clusterv1.APIEndpoint{}, fmt.Errorf("read its kubeconfig: %w", err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return clusterv1.APIEndpoint{}, fmt.Errorf("read the server of its kubeconfig: %w", err)
	}
	port, err := strconv.ParseInt(server.Port(), 10, 32)
	if err != nil {
		return clusterv1.APIEndpoint{}, fmt.Errorf("the server of its kubeconfig, %s, names no port: %w", config.Host, err)
	}
	if config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" || config.BearerTokenFile != "" {
		return clusterv1.APIEndpoint{},
			errors.New("its kubeconfig names files, which others cannot read; write the secrets inline")
	}
	return clusterv1.APIEndpoint{Host: server.Hostname(), Port: int32(port)}, nil
}

// MachineTemplate is a template of machines.
func MachineTemplate(namespace, name string, machine kwokapi.KwokMachineSpec) *kwokapi.KwokMachineTemplate {
	return &kwokapi.KwokMachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       kwokapi.KwokMachineTemplateSpec{Template: kwokapi.KwokMachineTemplateResource{Spec: machine}},
	}
}

// MachineDeployment is a group of workers of a cluster in the same namespace, whose
// machines are cloned from the named KwokMachineTemplate. It says no number of
// replicas: Cluster API's webhook starts it with one, or with the lower bound that
// Autoscaled sets.
func MachineDeployment(cluster *clusterv1.Cluster, name, template string) *clusterv1.MachineDeployment {
	return &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: cluster.Name,
			Template: clusterv1.MachineTemplateSpec{
				Spec: MachineSpec(cluster.Name, kwokapi.MachineTemplateKind, template),
			},
		},
	}
}

// MachineSpec is the spec of a Machine whose infrastructure is the named object of
// ours: a KwokMachineTemplate in a template, a KwokMachine in a Machine.
func MachineSpec(clusterName, kind, name string) clusterv1.MachineSpec {
	secret := bootstrapSecret
	return clusterv1.MachineSpec{
		ClusterName: clusterName,
		Bootstrap:   clusterv1.Bootstrap{DataSecretName: &secret},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: kwokapi.InfrastructureGroupVersion.Group, Kind: kind, Name: name,
		},
	}
}

// Autoscaled gives the group the bounds within which an autoscaler may size it.
func Autoscaled(group *clusterv1.MachineDeployment, minSize, maxSize int) *clusterv1.MachineDeployment {
	if group.Annotations == nil {
		group.Annotations = map[string]string{}
	}
	group.Annotations[clusterv1.AutoscalerMinSizeAnnotation] = strconv.Itoa(minSize)
	group.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] = strconv.Itoa(maxSize)
	return group
}
