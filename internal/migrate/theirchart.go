package migrate

import (
	"encoding/json"
	"slices"
	"strings"
)

// chartValue is one value of the Cluster Autoscaler's published chart, as of its version 9.59. Of those that had other
// defaults in other versions, the newest default is here.
type chartValue struct {
	path string
	// byDefault is what the chart has where a file says nothing; nil: nothing.
	byDefault any
	// only are the providers for which their chart reads it, if not for all.
	only string
	// here is what becomes of a value that is carried over, in the translation or in a note of its own; empty: it is
	// the same in Plimsoll's chart.
	here string
	// instead is what happens to a value that is not carried over.
	instead string
}

// isFor reports whether their chart reads the value with a provider.
func (c chartValue) isFor(provider string) bool {
	return c.only == "" || slices.Contains(strings.Fields(c.only), provider)
}

// theirChart is every value of their chart. What a file has beside these, their chart does not know either.
var theirChart = allValues()

func allValues() []chartValue {
	out := slices.Clone(carriedOver)
	for instead, values := range notCarriedOver {
		for text := range strings.FieldsSeq(values) {
			path, byDefault, has := strings.Cut(text, "=")
			c := chartValue{path: path, instead: instead}
			if has && json.Unmarshal([]byte(byDefault), &c.byDefault) != nil {
				panic(text + ": the default is no JSON")
			}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b chartValue) int {
		return strings.Compare(strings.ToLower(a.path), strings.ToLower(b.path))
	})
	return out
}

// carriedOver are the values that are in the translation or in a note of their own.
var carriedOver = []chartValue{
	{path: "affinity"},
	{path: "autoDiscovery.clusterName", only: "aws clusterapi azure magnum"},
	{path: "autoDiscovery.labels", only: "clusterapi", here: "autoDiscovery.labels, as a map"},
	{path: "autoDiscovery.namespace", only: "clusterapi"},
	{path: "autoDiscovery.tags", byDefault: []any{ownTag, clusterTag}, only: "aws",
		here: "autoDiscovery.tags, written out"},
	{path: "autoscalingGroups", here: "nodeGroups; with clusterapi and kwok, which do not read it, a note"},
	{path: "awsAccessKeyID", only: "aws", here: "env, from a Secret; the key is not written out"},
	{path: "awsRegion", only: "aws", here: "env, AWS_REGION; where the value is not there, a note"},
	{path: "awsSecretAccessKey", only: "aws", here: "env, from a Secret; the key is not written out"},
	{path: "cloudProvider", byDefault: "aws"},
	{path: "clusterAPICloudConfigPath", byDefault: managementPath, only: "clusterapi",
		here: "the same, moved into the folder of the other kubeconfig if need be: Plimsoll's chart mounts one Secret"},
	{path: "clusterAPIConfigMapsNamespace", only: "clusterapi",
		here: "the same in the mode kubeconfig-incluster; in the others that reach the cluster with the nodes by a " +
			"kubeconfig, it is --namespace"},
	{path: "clusterAPIKubeconfigSecret", only: "clusterapi",
		here: "the same, or the Secret of extraVolumeSecrets that is mounted where it is looked for"},
	{path: "clusterAPIMode", byDefault: inclusterIncluster, only: "clusterapi",
		here: "the same, or what flags among extraArgs make of it"},
	{path: "clusterAPIWorkloadKubeconfigPath", byDefault: workloadPath, only: "clusterapi"},
	{path: "customArgs", here: "extraArgs, as the flags below"},
	{path: "expanderPriorities",
		here: "a note: their release takes the ConfigMap with it, and Plimsoll reads the same one"},
	{path: "extraArgs", here: "extraArgs, as the flags below; flags that Plimsoll's chart sets itself become its " +
		"values, such as clusterAPIMode, or are refused with what to do"},
	{path: "extraEnv", here: "env; a secret as a reference to a Secret"},
	{path: "extraEnvConfigMaps", here: "env, with valueFrom"},
	{path: "extraEnvSecrets", here: "env, with valueFrom"},
	{path: "extraVolumeSecrets",
		here: "a note: Plimsoll's chart mounts no volumes of yours but clusterAPIKubeconfigSecret"},
	{path: "image.pullPolicy", byDefault: "IfNotPresent"},
	{path: "image.pullSecrets", here: "imagePullSecrets"},
	{path: "image.repository", byDefault: "registry.k8s.io/autoscaling/cluster-autoscaler",
		here: "a note; --image gives Plimsoll's"},
	{path: "image.tag", here: "a note; --image gives Plimsoll's"}, // another default in each version
	{path: "kwokConfigMapName", byDefault: "kwok-provider-config", only: "kwok", here: "kwok.configMapName"},
	{path: "nodeSelector"},
	{path: "podAnnotations"},
	{path: "podDisruptionBudget.maxUnavailable", byDefault: 1.0,
		here: "the same; an empty podDisruptionBudget is enabled: false"},
	{path: "podDisruptionBudget.minAvailable"},
	{path: "podLabels", here: "the same, but for the labels by which Plimsoll's chart finds its pods"},
	{path: "priorityClassName", byDefault: "system-cluster-critical"},
	{path: "prometheusRule.additionalLabels", here: "prometheusRule.labels"},
	{path: "prometheusRule.enabled", byDefault: false, here: "the same; the alerts are those of Plimsoll's chart"},
	{path: "rbac.create", byDefault: true},
	{path: "rbac.serviceAccount.annotations"},
	{path: "rbac.serviceAccount.create", byDefault: true},
	{path: "rbac.serviceAccount.name"},
	{path: "replicaCount", byDefault: 1.0, here: "the same; where the value is not there, Plimsoll's default, 2"},
	{path: "resources"},
	{path: "secretKeyRefNameOverride", here: "the name of the Secret in env"},
	{path: "serviceMonitor.enabled", byDefault: false},
	{path: "serviceMonitor.interval", byDefault: theirInterval},
	{path: "serviceMonitor.selector", byDefault: map[string]any{"release": theirPrometheus},
		here: "serviceMonitor.labels, which is what it says"},
	{path: "tolerations"},
	{path: "topologySpreadConstraints"},
}

// Why some values of their chart are not carried over.
const (
	noMounts  = "Plimsoll's chart mounts no volumes of yours"
	noSuch    = "Plimsoll's chart has nothing like it"
	releaseNS = "Plimsoll's chart makes it in the release's namespace, where Prometheus must look for it"
)

// notCarriedOver are the other values, with their defaults as JSON, by what happens instead.
var notCarriedOver = map[string]string{
	"it is for a cloud that Plimsoll has no provider for": `autoDiscovery.roles=["worker"] autoscalingGroupsnamePrefix
		azureClientID azureClientSecret azureClusterName azureEnableForceDelete=false azureEnableVMSSEtag=false
		azureNodeResourceGroup azureResourceGroup azureSubscriptionID azureTenantID
		azureUseManagedIdentityExtension=false azureUseWorkloadIdentityExtension=false azureUserAssignedIdentityID
		azureVMType="vmss" civoApiKey civoApiUrl="https://api.civo.com" civoClusterID civoRegion
		magnumCABundlePath="/etc/kubernetes/ca-bundle.crt" magnumClusterName`,
	noMounts: `extraVolumeMounts extraVolumes`,
	"Plimsoll's chart takes variables by name: list those that are needed under env, with valueFrom": `envFromConfigMap
		envFromConfigMapOptional=true envFromSecret`,
	noSuch: `dnsConfig initContainers podDisruptionBudget.annotations rbac.annotations serviceMonitor.annotations`,
	noSuch + "; podLabels are those of the pods alone":            `additionalLabels`,
	noSuch + "; podAnnotations are those of the pods":             `deployment.annotations`,
	"Plimsoll's Deployment selects its pods by labels of its own": `deployment.selector`,
	"Plimsoll's budget selects its pods by labels of its own":     `podDisruptionBudget.selector`,
	"Plimsoll's pods have ClusterFirst":                           `dnsPolicy="ClusterFirst"`,
	"Plimsoll's chart asks for no version":                        `kubeTargetVersionOverride`,
	"Plimsoll's chart has its own: no root, no capabilities, nothing writable, the runtime's seccomp profile": `
		containerSecurityContext securityContext`,
	"Plimsoll's chart always makes its Service, a ClusterIP at port 8085 named http": `service.annotations
		service.clusterIP service.create=true service.externalIPs service.labels service.loadBalancerIP
		service.loadBalancerSourceRanges service.portName="http" service.selector service.servicePort=8085
		service.type="ClusterIP"`,
	"it goes with the Cluster Autoscaler's release: apply what is still needed yourself": `extraObjects`,
	"the ConfigMap that they are on goes with the Cluster Autoscaler's release":          `priorityConfigMapAnnotations`,
	"Plimsoll's chart makes no VerticalPodAutoscaler: apply one for its Deployment yourself": `vpa.containerPolicy
		vpa.enabled=false vpa.recommender="default" vpa.updateMode="Auto"`,
	"Plimsoll's objects are called as its release: their names must differ from the Cluster Autoscaler's while both " +
		"are there, or Helm refuses them": `fullnameOverride nameOverride`,
	"Plimsoll's chart scrapes /metrics as it is": `serviceMonitor.metricRelabelings serviceMonitor.path="/metrics"
		serviceMonitor.relabelings`,
	releaseNS: `prometheusRule.namespace="monitoring" serviceMonitor.namespace="monitoring"`,
	"the rules are those of Plimsoll's chart: apply yours yourself": `prometheusRule.interval prometheusRule.rules`,
	"Plimsoll's aws provider reads no such file: region, endpoints and roles are the AWS SDK's own variables, under " +
		"env; for Cluster API their chart reads clusterAPICloudConfigPath in its place": `cloudConfigPath`,
	"Plimsoll's pods have no host network; on AWS they reach the instance's metadata only where its hop limit is 2 or " +
		"more": `hostNetwork=false`,
	"Plimsoll's chart grants what Plimsoll needs; kinds of infrastructure templates of Cluster API are named under " +
		"clusterAPIInfrastructureTemplates, all else takes a role of your own, bound to its service account": `
		rbac.additionalRules`,
	"Plimsoll's chart grants rights of the cluster in the cluster with the nodes, and of Cluster API's groups where " +
		"they are": `rbac.clusterScoped=true`,
	"Kubernetes has no PodSecurityPolicy any more; Plimsoll's pods meet the restricted Pod Security Standard": `
		rbac.pspEnabled=false`,
	"Plimsoll's pods mount the account's token where a cluster is reached by it, and only there": `
		rbac.serviceAccount.automountServiceAccountToken=true`,
	"Plimsoll's Deployment has Kubernetes' default, 10": `revisionHistoryLimit=10`,
	"Plimsoll's Deployment starts a new pod before it ends an old one, and without leader election after it": `
		updateStrategy`,
}

// Defaults of their chart that the translation writes out.
const (
	ownTag          = "k8s.io/cluster-autoscaler/enabled"
	clusterTag      = "k8s.io/cluster-autoscaler/{{ .Values.autoDiscovery.clusterName }}"
	workloadPath    = "/etc/kubernetes/value"
	managementPath  = "/etc/kubernetes/mgmt-kubeconfig"
	theirInterval   = "10s"
	theirPrometheus = "prometheus-operator"
)
