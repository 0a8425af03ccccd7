package pools

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

// What Gardener calls the autoscaler on the seed. Its network policies, its monitoring and its
// permissions use these names.
const (
	autoscalerName   = "cluster-autoscaler"
	shootAccess      = "shoot-access-cluster-autoscaler"
	kubeconfigVolume = "kubeconfig"
	priorityClass    = "gardener-system-300"
)

// Image is what the autoscaler's Deployment runs, and the Secret with which it
// reaches the shoot. Gardener makes that Secret; its name ends in a hash that only
// the seed knows.
type Image struct{ Name, KubeconfigSecret string }

// Deployment is the autoscaler's, in the namespace of the shoot's control plane. Its account,
// permissions and access Secret are those that Gardener has made for its own autoscaler. It is
// scaled to 0 while the shoot is hibernated, or as long as no pool leaves it any room.
func Deployment(c Cluster, autoscaler *v1beta1.ClusterAutoscaler, image Image) appsv1.Deployment {
	selector := map[string]string{"app": "kubernetes", "role": autoscalerName}
	replicas := int32(1)
	if c.Hibernated || !c.Autoscaled() {
		replicas = 0
	}
	return appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: autoscalerName, Namespace: c.Namespace, Labels: with(selector, map[string]string{
			"gardener.cloud/role": "controlplane",
			"high-availability-config.resources.gardener.cloud/type": "controller",
		})},
		Spec: appsv1.DeploymentSpec{
			Replicas:             &replicas,
			RevisionHistoryLimit: ptr.To[int32](1),
			Selector:             &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: with(selector, map[string]string{
					"gardener.cloud/role":                                           "controlplane",
					"maintenance.gardener.cloud/restart":                            "true",
					"networking.gardener.cloud/to-dns":                              "allowed",
					"networking.gardener.cloud/to-runtime-apiserver":                "allowed",
					"networking.resources.gardener.cloud/to-kube-apiserver-tcp-443": "allowed",
				})},
				Spec: corev1.PodSpec{
					ServiceAccountName:            autoscalerName,
					PriorityClassName:             priorityClass,
					TerminationGracePeriodSeconds: ptr.To[int64](5),
					Containers: []corev1.Container{{
						Name:            autoscalerName,
						Image:           image.Name,
						ImagePullPolicy: corev1.PullIfNotPresent,
						Command:         append([]string{"/plimsoll", "run"}, commandLine(c, autoscaler)...),
						Env: []corev1.EnvVar{
							{Name: "CONTROL_NAMESPACE", Value: c.Namespace},
							{Name: "TARGET_KUBECONFIG", Value: kubeconfigFolder + "/kubeconfig"},
						},
						Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: metricsPort, Protocol: corev1.ProtocolTCP}},
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("30M"),
						}},
						VolumeMounts: []corev1.VolumeMount{{Name: kubeconfigVolume, MountPath: kubeconfigFolder, ReadOnly: true}},
					}},
					Volumes: []corev1.Volume{{
						Name: kubeconfigVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
							DefaultMode: ptr.To[int32](0o644),
							Sources: []corev1.VolumeProjection{
								secretKey(image.KubeconfigSecret, "kubeconfig"),
								secretKey(shootAccess, "token"),
							},
						}},
					}},
				},
			},
		},
	}
}

func secretKey(secret, key string) corev1.VolumeProjection {
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret},
		Items:                []corev1.KeyToPath{{Key: key, Path: key}},
		Optional:             ptr.To(false),
	}}
}

func with(labels, more map[string]string) map[string]string {
	all := map[string]string{}
	for key, value := range labels {
		all[key] = value
	}
	for key, value := range more {
		all[key] = value
	}
	return all
}
