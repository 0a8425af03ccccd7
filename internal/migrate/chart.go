package migrate

import "encoding/json"

// theirValues are values of the Cluster Autoscaler's published chart, as far as
// they are carried over. What a file does not say has the chart's default.
type theirValues struct {
	CloudProvider *string `json:"cloudProvider"`
	AutoDiscovery struct {
		ClusterName string              `json:"clusterName"`
		Namespace   string              `json:"namespace"`
		Tags        []string            `json:"tags"`
		Labels      []map[string]string `json:"labels"`
		Roles       any                 `json:"roles"`
	} `json:"autoDiscovery"`
	AutoscalingGroups []struct {
		Name    string       `json:"name"`
		MinSize *json.Number `json:"minSize"`
		MaxSize *json.Number `json:"maxSize"`
	} `json:"autoscalingGroups"`

	AWSRegion                *string `json:"awsRegion"`
	AWSAccessKeyID           string  `json:"awsAccessKeyID"`
	AWSSecretAccessKey       string  `json:"awsSecretAccessKey"`
	SecretKeyRefNameOverride string  `json:"secretKeyRefNameOverride"`

	ClusterAPIMode                   *string `json:"clusterAPIMode"`
	ClusterAPIKubeconfigSecret       string  `json:"clusterAPIKubeconfigSecret"`
	ClusterAPIWorkloadKubeconfigPath *string `json:"clusterAPIWorkloadKubeconfigPath"`
	ClusterAPICloudConfigPath        *string `json:"clusterAPICloudConfigPath"`
	ClusterAPIConfigMapsNamespace    string  `json:"clusterAPIConfigMapsNamespace"`

	ExtraArgs          map[string]any `json:"extraArgs"`
	CustomArgs         []string       `json:"customArgs"`
	ExtraEnv           map[string]any `json:"extraEnv"`
	ExtraEnvConfigMaps map[string]key `json:"extraEnvConfigMaps"`
	ExtraEnvSecrets    map[string]key `json:"extraEnvSecrets"`
	ExtraVolumeSecrets map[string]struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	} `json:"extraVolumeSecrets"`
	ExpanderPriorities any    `json:"expanderPriorities"`
	KwokConfigMapName  string `json:"kwokConfigMapName"`

	ReplicaCount *int `json:"replicaCount"`
	Image        struct {
		Repository  string   `json:"repository"`
		Tag         string   `json:"tag"`
		PullPolicy  string   `json:"pullPolicy"`
		PullSecrets []string `json:"pullSecrets"`
	} `json:"image"`
	RBAC struct {
		Create         *bool           `json:"create"`
		ClusterScoped  *bool           `json:"clusterScoped"`
		ServiceAccount *serviceAccount `json:"serviceAccount"`
	} `json:"rbac"`
	ServiceMonitor struct {
		Enabled   bool               `json:"enabled"`
		Interval  *string            `json:"interval"`
		Namespace *string            `json:"namespace"`
		Selector  map[string]*string `json:"selector"`
	} `json:"serviceMonitor"`
	PrometheusRule struct {
		Enabled   bool              `json:"enabled"`
		Namespace *string           `json:"namespace"`
		Labels    map[string]string `json:"additionalLabels"`
	} `json:"prometheusRule"`

	// Carried over as they are.
	Affinity                  map[string]any    `json:"affinity"`
	NodeSelector              map[string]string `json:"nodeSelector"`
	Tolerations               []any             `json:"tolerations"`
	TopologySpreadConstraints []any             `json:"topologySpreadConstraints"`
	Resources                 map[string]any    `json:"resources"`
	PriorityClassName         *string           `json:"priorityClassName"`
	PodAnnotations            map[string]string `json:"podAnnotations"`
	PodLabels                 map[string]string `json:"podLabels"`
}

// key is a key of a Secret or a ConfigMap.
type key struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// ourValues are values of Plimsoll's chart. What is empty is the chart's to say.
type ourValues struct {
	CloudProvider string      `json:"cloudProvider"`
	AutoDiscovery *discovery  `json:"autoDiscovery,omitempty"`
	NodeGroups    []nodeGroup `json:"nodeGroups,omitempty"`
	ExtraArgs     extraArgs   `json:"extraArgs,omitempty"`
	Env           []envVar    `json:"env,omitempty"`
	ReplicaCount  *int        `json:"replicaCount,omitempty"`
	Image         *image      `json:"image,omitempty"`
	PullSecrets   []name      `json:"imagePullSecrets,omitempty"`
	RBAC          *rbac       `json:"rbac,omitempty"`
	Kwok          *kwok       `json:"kwok,omitempty"`
	Monitor       *monitor    `json:"serviceMonitor,omitempty"`
	Rule          *rule       `json:"prometheusRule,omitempty"`
	Budget        *budget     `json:"podDisruptionBudget,omitempty"`
	clusterAPI    `json:",inline"`
	scheduling    `json:",inline"`
	Annotations   map[string]string `json:"podAnnotations,omitempty"`
	Labels        map[string]string `json:"podLabels,omitempty"`
	Resources     map[string]any    `json:"resources,omitempty"`
	PriorityClass *string           `json:"priorityClassName,omitempty"`
}

type discovery struct {
	ClusterName string            `json:"clusterName,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

type nodeGroup struct {
	Name string      `json:"name"`
	Min  json.Number `json:"min"`
	Max  json.Number `json:"max"`
}

// extraArgs are flags by name; a flag that is repeated has a list.
type extraArgs map[string]any

type envVar struct {
	Name      string     `json:"name"`
	Value     *string    `json:"value,omitempty"`
	ValueFrom *valueFrom `json:"valueFrom,omitempty"`
}

type valueFrom struct {
	Secret    *key `json:"secretKeyRef,omitempty"`
	ConfigMap *key `json:"configMapKeyRef,omitempty"`
}

type image struct {
	Repository string `json:"repository,omitempty"`
	Tag        string `json:"tag,omitempty"`
	Digest     string `json:"digest,omitempty"`
	PullPolicy string `json:"pullPolicy,omitempty"`
}

type name struct {
	Name string `json:"name"`
}

type rbac struct {
	Create         *bool           `json:"create,omitempty"`
	ServiceAccount *serviceAccount `json:"serviceAccount,omitempty"`
}

type serviceAccount struct {
	Create      *bool             `json:"create,omitempty"`
	Name        string            `json:"name,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type kwok struct {
	ConfigMapName string `json:"configMapName"`
}

type rule struct {
	Enabled bool              `json:"enabled"`
	Labels  map[string]string `json:"labels,omitempty"`
}

type monitor struct {
	Enabled  bool              `json:"enabled"`
	Interval string            `json:"interval,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
}

// budget is the replicas' PodDisruptionBudget; of the two numbers one is there.
type budget struct {
	Enabled        *bool `json:"enabled,omitempty"`
	MaxUnavailable any   `json:"maxUnavailable,omitempty"`
	MinAvailable   any   `json:"minAvailable,omitempty"`
}

type clusterAPI struct {
	Mode             string `json:"clusterAPIMode,omitempty"`
	KubeconfigSecret string `json:"clusterAPIKubeconfigSecret,omitempty"`
	WorkloadPath     string `json:"clusterAPIWorkloadKubeconfigPath,omitempty"`
	CloudConfigPath  string `json:"clusterAPICloudConfigPath,omitempty"`
	Namespace        string `json:"clusterAPIConfigMapsNamespace,omitempty"`
}

type scheduling struct {
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Tolerations  []any             `json:"tolerations,omitempty"`
	Affinity     map[string]any    `json:"affinity,omitempty"`
	Spread       []any             `json:"topologySpreadConstraints,omitempty"`
}
