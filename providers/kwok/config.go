package kwok

import "cmp"

// Annotations of this provider. The first two, together, mark a node as its
// own; the others are read from templates only.
const (
	// annotationFake with the value "fake" tells the KWOK controller to keep
	// the node alive. With the value "unattended" it does not, and the node is
	// this provider's own all the same.
	annotationFake = "kwok.x-k8s.io/node"
	// annotationGroup names the group, on templates and on created nodes.
	annotationGroup = "cluster-autoscaler.kwok.nodegroup/name"
	// annotationMin is the group's minimum; 0 if absent.
	annotationMin = "cluster-autoscaler.kwok.nodegroup/min-count"
	// annotationMax is the group's maximum; 200 if absent.
	annotationMax = "cluster-autoscaler.kwok.nodegroup/max-count"
	// annotationDesired is the size at the start; the minimum if absent.
	annotationDesired = "cluster-autoscaler.kwok.nodegroup/desired-count"
	// annotationFault is what goes wrong with the group's machines, for
	// rehearsals: fails-to-start, never-ready or never-registers; nothing if
	// absent.
	annotationFault = "cluster-autoscaler.kwok.nodegroup/fault"
	// annotationZones lists the zones over which the group's nodes are balanced.
	annotationZones = "cluster-autoscaler.kwok.nodegroup/zones"
)

// groupAnnotations are what templates can say of their group; any other annotation
// of this domain is misspelt.
var groupAnnotations = []string{
	annotationGroup, annotationMin, annotationMax, annotationDesired, annotationFault, annotationZones,
}

const (
	annotationDomain     = "cluster-autoscaler.kwok."
	fakeValue            = "fake"
	annotationMetrics    = "metrics.k8s.io/resource-metrics-path"
	providerIDPrefix     = "kwok:"
	defaultMax           = 200
	defaultConfigMap     = "kwok-provider-config"
	labelGKEPool         = "cloud.google.com/gke-nodepool"
	labelEKSGroup        = "eks.amazonaws.com/nodegroup"
	clusterSuffix        = "-kwok"
	envTemplatesPath     = "KWOK_TEMPLATES_PATH"
	envConfigMap         = "KWOK_PROVIDER_CONFIGMAP"
	envGroupLabelKey     = "KWOK_GROUP_LABEL_KEY"
	envNamespace         = "POD_NAMESPACE"
	taintKey             = "kwok-provider"
	taintValue           = "true"
	configMapConfigKey   = "config"
	configMapNodesKey    = "templates"
	fakeKubeletVersion   = "fake"
	defaultPodsPerNode   = "110"
	lastAppliedByKubectl = "kubectl.kubernetes.io/last-applied-configuration"
)

// Config says where the templates come from and what happens at the end. The
// zero value reads the templates from the nodes of the cluster.
type Config struct {
	// TemplatesPath names a file of template nodes. It is read once, by New.
	TemplatesPath string
	// Namespace is where the ConfigMaps are: those of the ConfigMap form, and
	// the one of machines without a node. Without it, the ConfigMap form is not
	// looked for, and there can be no such machines.
	Namespace string
	// ConfigMapName names the ConfigMap with the provider's configuration. Empty means
	// kwok-provider-config, which need not exist; any other name was chosen by the operator, so it
	// must exist.
	ConfigMapName string
	// GroupLabelKey is a further label by which the cluster's own nodes are
	// grouped, after those of GKE and EKS. At least one node must have it.
	GroupLabelKey string
	// KeepNodes makes Close delete nothing.
	KeepNodes bool
}

// ConfigFromEnv reads KWOK_TEMPLATES_PATH, KWOK_PROVIDER_CONFIGMAP,
// KWOK_GROUP_LABEL_KEY and POD_NAMESPACE by means of getenv (os.Getenv, in a
// host). A host that knows its namespace otherwise sets it afterwards.
func ConfigFromEnv(getenv func(string) string) Config {
	return Config{
		TemplatesPath: getenv(envTemplatesPath),
		Namespace:     getenv(envNamespace),
		ConfigMapName: getenv(envConfigMap),
		GroupLabelKey: getenv(envGroupLabelKey),
	}
}

func (c Config) configMap() string { return cmp.Or(c.ConfigMapName, defaultConfigMap) }
