package migrate

import (
	"slices"
	"strings"
)

// chartValue is one value of the Cluster Autoscaler's published chart, as of its
// version 9.59. Those that several versions had with other defaults have the
// newest here.
type chartValue struct {
	path string
	// byDefault is what the chart has where a file says nothing; nil: nothing.
	byDefault any
	// only are the providers for which their chart reads it, if not for all.
	only string
	// here is what becomes of a value that is carried over, in the translation or in
	// a note of its own; empty: it is the same in Plimsoll's chart.
	here string
	// instead is what happens to a value that is not carried over.
	instead string
}

// isFor tells whether their chart reads the value with a provider.
func (c chartValue) isFor(provider string) bool {
	return c.only == "" || slices.Contains(strings.Fields(c.only), provider)
}

// Why a value of their chart is not carried over.
const (
	otherCloud = "it is for a cloud that Plimsoll has no provider for"
	noMounts   = "Plimsoll's chart mounts no volumes of yours"
	noEnvFrom  = "Plimsoll's chart takes variables by name: list those that are needed under env, with valueFrom"
	noSuch     = "Plimsoll's chart has nothing like it"
	hardened   = "Plimsoll's chart has its own: no root, no capabilities, nothing writable, the runtime's seccomp profile"
	ownService = "Plimsoll's chart always makes its Service, a ClusterIP at port 8085 named http"
	ownObjects = "it goes with the Cluster Autoscaler's release: apply what is still needed yourself"
	noVPA      = "Plimsoll's chart makes no VerticalPodAutoscaler: apply one for its Deployment yourself"
	ownNames   = "Plimsoll's objects are called as its release: their names must differ from the Cluster Autoscaler's " +
		"while both are there, or Helm refuses them"
	noScraping = "Plimsoll's chart scrapes /metrics as it is"
	releaseNS  = "Plimsoll's chart makes it in the release's namespace, where Prometheus must look for it"
	ownRules   = "the rules are those of Plimsoll's chart: apply yours yourself"
)

// theirChart is every value of their chart. What a file has beside these, their
// chart does not know either.
var theirChart = []chartValue{
	{path: "affinity"},
	{path: "additionalLabels", instead: noSuch + "; podLabels are those of the pods alone"},
	{path: "autoDiscovery.clusterName", only: "aws clusterapi azure magnum"},
	{path: "autoDiscovery.labels", only: "clusterapi", here: "autoDiscovery.labels, as a map"},
	{path: "autoDiscovery.namespace", only: "clusterapi"},
	{path: "autoDiscovery.roles", byDefault: []any{"worker"}, instead: otherCloud},
	{path: "autoDiscovery.tags", byDefault: []any{ownTag, clusterTag}, only: "aws",
		here: "autoDiscovery.tags, written out"},
	{path: "autoscalingGroups", here: "nodeGroups; with clusterapi and kwok, which do not read it, a note"},
	{path: "autoscalingGroupsnamePrefix", instead: otherCloud},
	{path: "awsAccessKeyID", only: "aws", here: "env, from a Secret; the key is not written out"},
	{path: "awsRegion", only: "aws", here: "env, AWS_REGION; where the value is not there, a note"},
	{path: "awsSecretAccessKey", only: "aws", here: "env, from a Secret; the key is not written out"},
	{path: "azureClientID", instead: otherCloud},
	{path: "azureClientSecret", instead: otherCloud},
	{path: "azureClusterName", instead: otherCloud}, // of earlier versions
	{path: "azureEnableForceDelete", byDefault: false, instead: otherCloud},
	{path: "azureEnableVMSSEtag", byDefault: false, instead: otherCloud},
	{path: "azureNodeResourceGroup", instead: otherCloud}, // of earlier versions
	{path: "azureResourceGroup", instead: otherCloud},
	{path: "azureSubscriptionID", instead: otherCloud},
	{path: "azureTenantID", instead: otherCloud},
	{path: "azureUseManagedIdentityExtension", byDefault: false, instead: otherCloud},
	{path: "azureUseWorkloadIdentityExtension", byDefault: false, instead: otherCloud},
	{path: "azureUserAssignedIdentityID", instead: otherCloud},
	{path: "azureVMType", byDefault: "vmss", instead: otherCloud},
	{path: "civoApiKey", instead: otherCloud},
	{path: "civoApiUrl", byDefault: "https://api.civo.com", instead: otherCloud},
	{path: "civoClusterID", instead: otherCloud},
	{path: "civoRegion", instead: otherCloud},
	{path: "cloudConfigPath", instead: "Plimsoll's aws provider reads no such file: region, endpoints and roles are the " +
		"AWS SDK's own variables, under env; for Cluster API their chart reads clusterAPICloudConfigPath in its place"},
	{path: "cloudProvider", byDefault: "aws"},
	{path: "clusterAPICloudConfigPath", byDefault: managementPath, only: "clusterapi",
		here: "the same, moved into the folder of the other kubeconfig if need be: Plimsoll's chart mounts one Secret"},
	{
		path: "clusterAPIConfigMapsNamespace",
		only: "clusterapi",
		here: "the same in the mode kubeconfig-incluster; in the others that reach the cluster with the nodes by a " +
			"kubeconfig, it is --namespace",
	},
	{
		path: "clusterAPIKubeconfigSecret",
		only: "clusterapi",
		here: "the same, or the Secret of extraVolumeSecrets that is mounted where it is looked for",
	},
	{path: "clusterAPIMode", byDefault: inclusterIncluster, only: "clusterapi",
		here: "the same, or what flags among extraArgs make of it"},
	{path: "clusterAPIWorkloadKubeconfigPath", byDefault: workloadPath, only: "clusterapi"},
	{path: "containerSecurityContext", instead: hardened},
	{path: "customArgs", here: "extraArgs, as the flags below"},
	{path: "deployment.annotations", instead: noSuch + "; podAnnotations are those of the pods"},
	{path: "deployment.selector", instead: "Plimsoll's Deployment selects its pods by labels of its own"},
	{path: "dnsConfig", instead: noSuch},
	{path: "dnsPolicy", byDefault: "ClusterFirst", instead: "Plimsoll's pods have ClusterFirst"},
	{path: "envFromConfigMap", instead: noEnvFrom},
	{path: "envFromConfigMapOptional", byDefault: true, instead: noEnvFrom}, // of earlier versions
	{path: "envFromSecret", instead: noEnvFrom},
	{
		path: "expanderPriorities",
		here: "a note: their release takes the ConfigMap with it, and Plimsoll reads the same one",
	},
	{
		path: "extraArgs",
		here: "extraArgs, as the flags below; flags that Plimsoll's chart sets itself become its values, " +
			"such as clusterAPIMode, or are refused with what to do",
	},
	{path: "extraEnv", here: "env; a secret as a reference to a Secret"},
	{path: "extraEnvConfigMaps", here: "env, with valueFrom"},
	{path: "extraEnvSecrets", here: "env, with valueFrom"},
	{path: "extraObjects", instead: ownObjects},
	{path: "extraVolumeMounts", instead: noMounts},
	{
		path: "extraVolumeSecrets",
		here: "a note: Plimsoll's chart mounts no volumes of yours but clusterAPIKubeconfigSecret",
	},
	{path: "extraVolumes", instead: noMounts},
	{path: "fullnameOverride", instead: ownNames},
	{path: "hostNetwork", byDefault: false, instead: "Plimsoll's pods have no host network; on AWS they reach the " +
		"instance's metadata only where its hop limit is 2 or more"},
	{path: "image.pullPolicy", byDefault: "IfNotPresent"},
	{path: "image.pullSecrets", here: "imagePullSecrets"},
	{
		path:      "image.repository",
		byDefault: "registry.k8s.io/autoscaling/cluster-autoscaler",
		here:      "a note; --image gives Plimsoll's",
	},
	{path: "image.tag", here: "a note; --image gives Plimsoll's"}, // another default in each version
	{path: "initContainers", instead: noSuch},
	{path: "kubeTargetVersionOverride", instead: "Plimsoll's chart asks for no version"},
	{path: "kwokConfigMapName", byDefault: "kwok-provider-config", only: "kwok", here: "kwok.configMapName"},
	{path: "magnumCABundlePath", byDefault: "/etc/kubernetes/ca-bundle.crt", instead: otherCloud},
	{path: "magnumClusterName", instead: otherCloud},
	{path: "nameOverride", instead: ownNames},
	{path: "nodeSelector"},
	{path: "podAnnotations"},
	{path: "podDisruptionBudget.annotations", instead: noSuch},
	{path: "podDisruptionBudget.maxUnavailable", byDefault: 1.0,
		here: "the same; an empty podDisruptionBudget is enabled: false"},
	{path: "podDisruptionBudget.minAvailable"},
	{path: "podDisruptionBudget.selector", instead: "Plimsoll's budget selects its pods by labels of its own"},
	{path: "podLabels", here: "the same, but for the labels by which Plimsoll's chart finds its pods"},
	{path: "priorityClassName", byDefault: "system-cluster-critical"},
	{
		path:    "priorityConfigMapAnnotations",
		instead: "the ConfigMap that they are on goes with the Cluster Autoscaler's release",
	},
	{path: "prometheusRule.additionalLabels", here: "prometheusRule.labels"},
	{path: "prometheusRule.enabled", byDefault: false, here: "the same; the alerts are those of Plimsoll's chart"},
	{path: "prometheusRule.interval", instead: ownRules},
	{path: "prometheusRule.namespace", byDefault: "monitoring", instead: releaseNS},
	{path: "prometheusRule.rules", instead: ownRules},
	{path: "rbac.additionalRules", instead: "Plimsoll's chart grants what Plimsoll needs; kinds of infrastructure " +
		"templates of Cluster API are named under clusterAPIInfrastructureTemplates, all else takes a role of your own, " +
		"bound to its service account"},
	{path: "rbac.annotations", instead: noSuch},
	{
		path:      "rbac.clusterScoped",
		byDefault: true,
		instead: "Plimsoll's chart grants rights of the cluster in the cluster with the nodes, and of Cluster API's " +
			"groups where they are",
	},
	{path: "rbac.create", byDefault: true},
	{
		path:      "rbac.pspEnabled",
		byDefault: false,
		instead:   "Kubernetes has no PodSecurityPolicy any more; Plimsoll's pods meet the restricted Pod Security Standard",
	},
	{path: "rbac.serviceAccount.annotations"},
	{
		path:      "rbac.serviceAccount.automountServiceAccountToken",
		byDefault: true,
		instead:   "Plimsoll's pods mount the account's token where a cluster is reached by it, and only there",
	},
	{path: "rbac.serviceAccount.create", byDefault: true},
	{path: "rbac.serviceAccount.name"},
	{path: "replicaCount", byDefault: 1.0, here: "the same; where the value is not there, Plimsoll's default, 2"},
	{path: "resources"},
	{path: "revisionHistoryLimit", byDefault: 10.0, instead: "Plimsoll's Deployment has Kubernetes' default, 10"},
	{path: "secretKeyRefNameOverride", here: "the name of the Secret in env"},
	{path: "securityContext", instead: hardened},
	{path: "service.annotations", instead: ownService},
	{path: "service.clusterIP", instead: ownService},
	{path: "service.create", byDefault: true, instead: ownService},
	{path: "service.externalIPs", instead: ownService},
	{path: "service.labels", instead: ownService},
	{path: "service.loadBalancerIP", instead: ownService},
	{path: "service.loadBalancerSourceRanges", instead: ownService},
	{path: "service.portName", byDefault: "http", instead: ownService},
	{path: "service.selector", instead: ownService},
	{path: "service.servicePort", byDefault: 8085.0, instead: ownService},
	{path: "service.type", byDefault: "ClusterIP", instead: ownService},
	{path: "serviceMonitor.annotations", instead: noSuch},
	{path: "serviceMonitor.enabled", byDefault: false},
	{path: "serviceMonitor.interval", byDefault: theirInterval},
	{path: "serviceMonitor.metricRelabelings", instead: noScraping},
	{path: "serviceMonitor.namespace", byDefault: "monitoring", instead: releaseNS},
	{path: "serviceMonitor.path", byDefault: "/metrics", instead: noScraping},
	{path: "serviceMonitor.relabelings", instead: noScraping},
	{
		path:      "serviceMonitor.selector",
		byDefault: map[string]any{"release": theirPrometheus},
		here:      "serviceMonitor.labels, which is what it says",
	},
	{path: "tolerations"},
	{path: "topologySpreadConstraints"},
	{
		path:    "updateStrategy",
		instead: "Plimsoll's Deployment starts a new pod before it ends an old one, and without leader election after it",
	},
	{path: "vpa.containerPolicy", instead: noVPA},
	{path: "vpa.enabled", byDefault: false, instead: noVPA},
	{path: "vpa.recommender", byDefault: "default", instead: noVPA},
	{path: "vpa.updateMode", byDefault: "Auto", instead: noVPA},
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
