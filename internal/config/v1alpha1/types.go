package v1alpha1

// Configuration is the whole file. What it does not say is as the flag's default; a flag that is given
// wins over the file.
//
// A field with the tag flag is that flag: its description and its bounds are the flag's own, so that the
// two cannot differ. One with the tag like is the same for some groups. Other fields have comments here.
type Configuration struct {
	// APIVersion is plimsoll.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is Configuration.
	Kind string `json:"kind"`
	Mode string `json:"mode,omitempty" flag:"mode"`
	// Cloud says which provider to use, and which groups there are.
	Cloud *Cloud `json:"cloud,omitempty"`
	// Cluster says how the API server is reached.
	Cluster *Cluster `json:"cluster,omitempty"`
	// Loop says how often Plimsoll looks.
	Loop *Loop `json:"loop,omitempty"`
	// ScaleUp says which nodes are bought.
	ScaleUp *ScaleUp `json:"scaleUp,omitempty"`
	// ScaleDown says which nodes are removed, and when.
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`
	// Drain says which pods may be moved, and how.
	Drain *Drain `json:"drain,omitempty"`
	// Moves says which nodes are replaced by others, which are bought first.
	Moves *Moves `json:"moves,omitempty"`
	// NodeHealth says what is done about nodes that do not come, or break.
	NodeHealth *NodeHealth `json:"nodeHealth,omitempty"`
	// LeaderElection says how one of several processes is chosen to act.
	LeaderElection *LeaderElection `json:"leaderElection,omitempty"`
	// Serving says where metrics and health are served, and what counts as healthy.
	Serving *Serving `json:"serving,omitempty"`
	// Page is the page for people, with the decisions.
	Page *Page `json:"page,omitempty"`
	// Reporting says what is logged and reported.
	Reporting *Reporting `json:"reporting,omitempty"`
	// AWS is read by the aws provider only.
	AWS *AWS `json:"aws,omitempty"`
	// ClusterAPI is read by the clusterapi provider only.
	ClusterAPI *ClusterAPI `json:"clusterAPI,omitempty"`
	// Gardener is read by the mcm (gardener) provider only.
	Gardener *Gardener `json:"gardener,omitempty"`
	// Kwok is read by the kwok provider only.
	Kwok *Kwok `json:"kwok,omitempty"`
	// Policies are settings of some groups. Of several policies that match a group, the last one that says
	// something counts, field by field: write the general ones first.
	Policies []Policy `json:"policies,omitempty"`
	// Pause stops buying and removing in the whole cluster.
	Pause *Pause `json:"pause,omitempty"`
	// Budgets bound how many nodes of the whole cluster go.
	Budgets []Budget `json:"budgets,omitempty"`
}

// Cloud says which provider to use, and which groups there are.
type Cloud struct {
	Provider          string   `json:"provider,omitempty" flag:"cloud-provider"`
	Nodes             []string `json:"nodes,omitempty" flag:"nodes"`
	Discovery         []string `json:"discovery,omitempty" flag:"node-group-auto-discovery"`
	InventoryDeadline string   `json:"inventoryDeadline,omitempty" flag:"inventory-deadline"`
	InventoryMaxAge   string   `json:"inventoryMaxAge,omitempty" flag:"inventory-max-age"`
	CallDeadline      string   `json:"callDeadline,omitempty" flag:"call-deadline"`
}

// Cluster says how the API server is reached.
type Cluster struct {
	Kubeconfig  string   `json:"kubeconfig,omitempty" flag:"kubeconfig"`
	Server      string   `json:"server,omitempty" flag:"kubernetes"`
	Namespace   string   `json:"namespace,omitempty" flag:"namespace"`
	QPS         *float64 `json:"qps,omitempty" flag:"kube-client-qps"`
	Burst       *int64   `json:"burst,omitempty" flag:"kube-client-burst"`
	ContentType string   `json:"contentType,omitempty" flag:"kube-api-content-type"`
	UserAgent   string   `json:"userAgent,omitempty" flag:"user-agent"`
}

// Loop says how often Plimsoll looks.
type Loop struct {
	ScanInterval string  `json:"scanInterval,omitempty" flag:"scan-interval"`
	NudgeIdle    string  `json:"nudgeIdle,omitempty" flag:"nudge-idle"`
	NudgeMax     string  `json:"nudgeMax,omitempty" flag:"nudge-max"`
	DecideBudget string  `json:"decideBudget,omitempty" flag:"decide-budget"`
	DecideSteps  *int64  `json:"decideSteps,omitempty" flag:"decide-steps"`
	Seed         *uint64 `json:"seed,omitempty" flag:"seed"`
}

// ScaleUp says which nodes are bought.
type ScaleUp struct {
	Expander                      string   `json:"expander,omitempty" flag:"expander"`
	PriceFile                     string   `json:"priceFile,omitempty" flag:"price-file"`
	MaxNodesTotal                 *int64   `json:"maxNodesTotal,omitempty" flag:"max-nodes-total"`
	CoresTotal                    string   `json:"coresTotal,omitempty" flag:"cores-total"`
	MemoryTotal                   string   `json:"memoryTotal,omitempty" flag:"memory-total"`
	MaxNodesPerScaleUp            *int64   `json:"maxNodesPerScaleUp,omitempty" flag:"max-nodes-per-scaleup"`
	BalanceSimilar                *bool    `json:"balanceSimilar,omitempty" flag:"balance-similar-node-groups"`
	BalanceIgnoreLabels           []string `json:"balanceIgnoreLabels,omitempty" flag:"balancing-ignore-label"`
	BalanceLabels                 []string `json:"balanceLabels,omitempty" flag:"balancing-label"`
	MemoryDifferenceRatio         *float64 `json:"memoryDifferenceRatio,omitempty" flag:"memory-difference-ratio"`
	MaxFreeDifferenceRatio        *float64 `json:"maxFreeDifferenceRatio,omitempty" flag:"max-free-difference-ratio"`
	MaxAllocatableDifferenceRatio *float64 `json:"maxAllocatableDifferenceRatio,omitempty" flag:"max-allocatable-difference-ratio"`
	EnforceMinSize                *bool    `json:"enforceMinSize,omitempty" flag:"enforce-node-group-min-size"`
	FromZero                      *bool    `json:"fromZero,omitempty" flag:"scale-up-from-zero"`
	NewPodDelay                   string   `json:"newPodDelay,omitempty" flag:"new-pod-scale-up-delay"`
	ExpendablePodsPriorityCutoff  *int64   `json:"expendablePodsPriorityCutoff,omitempty" flag:"expendable-pods-priority-cutoff"`
	BypassedSchedulers            []string `json:"bypassedSchedulers,omitempty" flag:"bypassed-scheduler-names"`
	AllowedSchedulers             []string `json:"allowedSchedulers,omitempty" flag:"allowed-scheduler-names"`
}

// ScaleDown says which nodes are removed, and when.
type ScaleDown struct {
	Enabled                    *bool    `json:"enabled,omitempty" flag:"scale-down-enabled"`
	UnneededTime               string   `json:"unneededTime,omitempty" flag:"scale-down-unneeded-time"`
	UtilizationThreshold       *float64 `json:"utilizationThreshold,omitempty" flag:"scale-down-utilization-threshold"`
	GPUUtilizationThreshold    *float64 `json:"gpuUtilizationThreshold,omitempty" flag:"scale-down-gpu-utilization-threshold"`
	IgnoreDaemonSetUtilization *bool    `json:"ignoreDaemonSetUtilization,omitempty" flag:"ignore-daemonsets-utilization"`
	IgnoreMirrorPodUtilization *bool    `json:"ignoreMirrorPodUtilization,omitempty" flag:"ignore-mirror-pods-utilization"`
	DelayAfterAdd              string   `json:"delayAfterAdd,omitempty" flag:"scale-down-delay-after-add"`
	DelayAfterDelete           string   `json:"delayAfterDelete,omitempty" flag:"scale-down-delay-after-delete"`
	DelayAfterFailure          string   `json:"delayAfterFailure,omitempty" flag:"scale-down-delay-after-failure"`
	DelayTypeLocal             *bool    `json:"delayTypeLocal,omitempty" flag:"scale-down-delay-type-local"`
	MaxParallelism             *int64   `json:"maxParallelism,omitempty" flag:"max-scale-down-parallelism"`
	MaxDrainParallelism        *int64   `json:"maxDrainParallelism,omitempty" flag:"max-drain-parallelism"`
	UnreadyEnabled             *bool    `json:"unreadyEnabled,omitempty" flag:"scale-down-unready-enabled"`
	UnreadyTime                string   `json:"unreadyTime,omitempty" flag:"scale-down-unready-time"`
	DeleteDelayAfterTaint      string   `json:"deleteDelayAfterTaint,omitempty" flag:"node-delete-delay-after-taint"`
	MaxSoftTaints              *int64   `json:"maxSoftTaints,omitempty" flag:"max-bulk-soft-taint-count"`
	AnnotateNodes              *bool    `json:"annotateNodes,omitempty" flag:"annotate-nodes"`
}

// Drain says which pods may be moved, and how.
type Drain struct {
	SkipSystemPods           *bool  `json:"skipSystemPods,omitempty" flag:"skip-nodes-with-system-pods"`
	SystemPodTimeout         string `json:"systemPodTimeout,omitempty" flag:"blocking-system-pod-distruption-timeout"`
	SkipLocalStorage         *bool  `json:"skipLocalStorage,omitempty" flag:"skip-nodes-with-local-storage"`
	SkipCustomControllerPods *bool  `json:"skipCustomControllerPods,omitempty" flag:"skip-nodes-with-custom-controller-pods"`
	MinReplicas              *int64 `json:"minReplicas,omitempty" flag:"min-replica-count"`
	MaxGraceSeconds          *int64 `json:"maxGraceSeconds,omitempty" flag:"max-graceful-termination-sec"`
	GraceByPriority          string `json:"graceByPriority,omitempty" flag:"drain-priority-config"`
	MaxEvictionTime          string `json:"maxEvictionTime,omitempty" flag:"max-pod-eviction-time"`
	MaxReplacementWait       string `json:"maxReplacementWait,omitempty" flag:"max-replacement-wait"`
	EvictDaemonSetsEmpty     *bool  `json:"evictDaemonSetsEmpty,omitempty" flag:"daemonset-eviction-for-empty-nodes"`
	EvictDaemonSetsOccupied  *bool  `json:"evictDaemonSetsOccupied,omitempty" flag:"daemonset-eviction-for-occupied-nodes"`
	Cordon                   *bool  `json:"cordon,omitempty" flag:"cordon-node-before-terminating"`
	DeletionDelayTimeout     string `json:"deletionDelayTimeout,omitempty" flag:"node-deletion-delay-timeout"`
}

// Moves says which nodes are replaced by others, which are bought first.
type Moves struct {
	Consolidation           string   `json:"consolidation,omitempty" flag:"consolidation"`
	MinSavingsPerHour       *float64 `json:"minSavingsPerHour,omitempty" flag:"min-savings-per-hour"`
	MinSavingsShare         *float64 `json:"minSavingsShare,omitempty" flag:"min-savings-share"`
	MinSavingsPerDisruption *float64 `json:"minSavingsPerDisruption,omitempty" flag:"min-savings-per-disruption"`
	Stay                    string   `json:"stay,omitempty" flag:"move-stay"`
	Patience                string   `json:"patience,omitempty" flag:"move-patience"`
	// ReturnToPreferred is of nodes of groups that come behind others in the priorities.
	ReturnToPreferred *bool `json:"returnToPreferred,omitempty" flag:"return-to-preferred"`
	// ReplaceAfter, ReplaceDrifted and ReplaceConditions are of nodes that are replaced whatever that costs.
	ReplaceAfter      string   `json:"replaceAfter,omitempty" flag:"replace-after"`
	ReplaceDrifted    *bool    `json:"replaceDrifted,omitempty" flag:"replace-drifted"`
	ReplaceConditions []string `json:"replaceConditions,omitempty" flag:"replace-conditions"`
	// ReplaceUnreadyAfter is of nodes that are not ready, and do not go as unneeded ones.
	ReplaceUnreadyAfter string `json:"replaceUnreadyAfter,omitempty" flag:"replace-unready-after"`
	// ReplaceInterrupted is of nodes whose machine the cloud is about to take.
	ReplaceInterrupted []string `json:"replaceInterrupted,omitempty" flag:"replace-interrupted"`
	// MaintenanceConditions are of nodes that are the first to go of those that could.
	MaintenanceConditions []string `json:"maintenanceConditions,omitempty" flag:"maintenance-conditions"`
	// InterruptionWeight is of spot nodes that come for a move.
	InterruptionWeight *float64 `json:"interruptionWeight,omitempty" flag:"interruption-weight"`
	// MaxInterruptions and InterruptionSpan are of groups whose machines the cloud often takes.
	MaxInterruptions *int64 `json:"maxInterruptions,omitempty" flag:"max-interruptions"`
	InterruptionSpan string `json:"interruptionSpan,omitempty" flag:"interruption-span"`
}

// NodeHealth says what is done about nodes that do not come, or break.
type NodeHealth struct {
	MaxProvisionTime        string   `json:"maxProvisionTime,omitempty" flag:"max-node-provision-time"`
	MaxStartupTime          string   `json:"maxStartupTime,omitempty" flag:"max-node-startup-time"`
	StartupTaints           []string `json:"startupTaints,omitempty" flag:"startup-taint"`
	StartupTaintPrefixes    []string `json:"startupTaintPrefixes,omitempty" flag:"startup-taint-prefix"`
	StatusTaints            []string `json:"statusTaints,omitempty" flag:"status-taint"`
	MaxUnreadyCount         *int64   `json:"maxUnreadyCount,omitempty" flag:"ok-total-unready-count"`
	MaxUnreadyPercentage    *float64 `json:"maxUnreadyPercentage,omitempty" flag:"max-total-unready-percentage"`
	StopGroupOnFirstDud     *bool    `json:"stopGroupOnFirstDud,omitempty" flag:"stop-group-on-first-dud"`
	CountUnmanagedNodes     *bool    `json:"countUnmanagedNodes,omitempty" flag:"unmanaged-nodes-count-as-unready"`
	BackoffFirst            string   `json:"backoffFirst,omitempty" flag:"initial-node-group-backoff-duration"`
	BackoffMax              string   `json:"backoffMax,omitempty" flag:"max-node-group-backoff-duration"`
	BackoffReset            string   `json:"backoffReset,omitempty" flag:"node-group-backoff-reset-timeout"`
	ForceDeleteUnregistered *bool    `json:"forceDeleteUnregistered,omitempty" flag:"force-delete-unregistered-nodes"`
	ForceDeleteFailed       *bool    `json:"forceDeleteFailed,omitempty" flag:"force-delete-failed-nodes"`
	ResizeSkipsWholeCycle   *bool    `json:"resizeSkipsWholeCycle,omitempty" flag:"resize-skips-whole-cycle"`
}

// LeaderElection says how one of several processes is chosen to act.
type LeaderElection struct {
	Enabled       *bool  `json:"enabled,omitempty" flag:"leader-elect"`
	LeaseDuration string `json:"leaseDuration,omitempty" flag:"leader-elect-lease-duration"`
	RenewDeadline string `json:"renewDeadline,omitempty" flag:"leader-elect-renew-deadline"`
	RetryPeriod   string `json:"retryPeriod,omitempty" flag:"leader-elect-retry-period"`
	ResourceLock  string `json:"resourceLock,omitempty" flag:"leader-elect-resource-lock"`
	Name          string `json:"name,omitempty" flag:"leader-elect-resource-name"`
	Namespace     string `json:"namespace,omitempty" flag:"leader-elect-resource-namespace"`
}

// Serving says where metrics and health are served, and what counts as healthy.
type Serving struct {
	Address        string `json:"address,omitempty" flag:"address"`
	MaxInactivity  string `json:"maxInactivity,omitempty" flag:"max-inactivity"`
	MaxFailingTime string `json:"maxFailingTime,omitempty" flag:"max-failing-time"`
	MaxStartupTime string `json:"maxStartupTime,omitempty" flag:"max-startup-time"`
}

// Page is the page for people, with the decisions.
type Page struct {
	Address            string `json:"address,omitempty" flag:"ui-address"`
	CertFile           string `json:"certFile,omitempty" flag:"ui-tls-cert-file"`
	KeyFile            string `json:"keyFile,omitempty" flag:"ui-tls-private-key-file"`
	DecisionLog        string `json:"decisionLog,omitempty" flag:"decision-log"`
	DecisionLogMaxSize *int64 `json:"decisionLogMaxSize,omitempty" flag:"decision-log-max-size"`
}

// Reporting says what is logged and reported.
type Reporting struct {
	LogFormat        string `json:"logFormat,omitempty" flag:"logging-format"`
	Verbosity        *int64 `json:"verbosity,omitempty" flag:"v"`
	PerGroupMetrics  *bool  `json:"perGroupMetrics,omitempty" flag:"emit-per-nodegroup-metrics"`
	DuplicatedEvents *bool  `json:"duplicatedEvents,omitempty" flag:"record-duplicated-events"`
	ObserveEvents    *bool  `json:"observeEvents,omitempty" flag:"observe-events"`
	WriteStatus      *bool  `json:"writeStatus,omitempty" flag:"write-status-configmap"`
	StatusConfigMap  string `json:"statusConfigMap,omitempty" flag:"status-config-map-name"`
}

// AWS is read by the aws provider only.
type AWS struct {
	TemplatePrecedence       string `json:"templatePrecedence,omitempty" flag:"aws-template-precedence"`
	NodegroupCacheTTL        string `json:"nodegroupCacheTTL,omitempty" flag:"aws-nodegroup-cache-ttl"`
	DescribeAllNodegroups    *bool  `json:"describeAllNodegroups,omitempty" flag:"aws-describe-all-nodegroups"`
	MaxPods                  string `json:"maxPods,omitempty" flag:"aws-max-pods"`
	KubeReserved             string `json:"kubeReserved,omitempty" flag:"aws-kube-reserved"`
	Prices                   *bool  `json:"prices,omitempty" flag:"aws-prices"`
	ReservationsTag          string `json:"reservationsTag,omitempty" flag:"aws-reservations-tag"`
	UseStaticInstanceList    *bool  `json:"useStaticInstanceList,omitempty" flag:"aws-use-static-instance-list"`
	InterruptionQueue        string `json:"interruptionQueue,omitempty" flag:"aws-interruption-queue"`
	RebalanceRecommendations *bool  `json:"rebalanceRecommendations,omitempty" flag:"aws-rebalance-recommendations"`
}

// ClusterAPI is read by the clusterapi provider only.
type ClusterAPI struct {
	CloudConfig              string `json:"cloudConfig,omitempty" flag:"cloud-config"`
	CloudConfigAuthoritative *bool  `json:"cloudConfigAuthoritative,omitempty" flag:"clusterapi-cloud-config-authoritative"`
}

// Gardener is read by the mcm (gardener) provider only.
type Gardener struct {
	Sizing           string   `json:"sizing,omitempty" flag:"mcm-sizing"`
	DeletionMarker   string   `json:"deletionMarker,omitempty" flag:"mcm-deletion-marker"`
	RequireAvailable *bool    `json:"requireAvailable,omitempty" flag:"mcm-require-available"`
	ControlQPS       *float64 `json:"controlQPS,omitempty" flag:"control-apiserver-qps"`
	ControlBurst     *int64   `json:"controlBurst,omitempty" flag:"control-apiserver-burst"`
}

// Kwok is read by the kwok provider only.
type Kwok struct {
	KeepNodes *bool `json:"keepNodes,omitempty" flag:"kwok-keep-nodes"`
}

// Policy is what is otherwise for some groups than for the cluster.
type Policy struct {
	// Name is for people: it stands where a value comes from this policy. No two have the same one.
	Name string `json:"name"`
	// Groups are names of groups, or patterns of them with * and ?. With a selector as well, a group has to
	// match both.
	Groups []string `json:"groups,omitempty"`
	// Selector picks groups by the labels of their nodes, as their templates have them.
	Selector *Selector `json:"selector,omitempty"`
	// Priority of the group for the expander priority; higher is better. It wins over the ConfigMap's.
	Priority *int64 `json:"priority,omitempty"`
	// PricePerHour is what a node of the group costs, in the one currency of all prices.
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
	// Size bounds the number of nodes of each group at all times at which no window of Schedule is open. The
	// group's own bounds, as its cloud has them, can only be narrowed.
	Size *Size `json:"size,omitempty"`
	// Schedule bounds it at times. Of several windows that are open, the last one that says something counts.
	Schedule []ScheduledSize `json:"schedule,omitempty"`
	// ScaleDown says when nodes of the group are unneeded. The tags and annotations that a group has in its
	// cloud for the same win over it.
	ScaleDown *GroupScaleDown `json:"scaleDown,omitempty"`
	// NodeHealth says how long nodes of the group may take. Tags and annotations win here, too.
	NodeHealth *GroupHealth `json:"nodeHealth,omitempty"`
	// Pause stops buying and removing in each group.
	Pause *Pause `json:"pause,omitempty"`
	// Moves says which nodes go beside empty and unneeded ones, and what that must be worth.
	Moves *GroupMoves `json:"moves,omitempty"`
	// Budgets bound how many nodes of these groups go, counted together.
	Budgets []Budget `json:"budgets,omitempty"`
	// Headroom is kept free in these groups. Not built yet.
	Headroom *Headroom `json:"headroom,omitempty"`
}

// Selector picks by labels; all that it says has to hold.
type Selector struct {
	// MatchLabels are labels and their values.
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchExpressions are further conditions.
	MatchExpressions []Expression `json:"matchExpressions,omitempty"`
}

// Expression is one condition on a label.
type Expression struct {
	// Key of the label.
	Key string `json:"key"`
	// Operator is In, NotIn, Exists or DoesNotExist.
	Operator string `json:"operator"`
	// Values are those of In and NotIn.
	Values []string `json:"values,omitempty"`
}

// Window is a span of time that comes again, by the clock on the wall of its zone: what opens at 22:00 for
// 8h closes at 06:00 in the nights in which clocks change, too.
type Window struct {
	// Schedule says when the window opens: five cron fields (minute, hour, day of month, month, day of
	// week), or one of @hourly, @daily, @weekly, @monthly, @yearly.
	Schedule string `json:"schedule"`
	// TimeZone is the IANA name of the zone whose clock counts, such as Europe/Berlin. Default: UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// Duration says how long the window stays open by that clock, such as 8h or 1h30m.
	Duration string `json:"duration"`
}

// Size bounds a number of nodes.
type Size struct {
	// Min is the least number of nodes. A group below it grows, whether or not pods need the nodes.
	Min *int64 `json:"min,omitempty"`
	// Max is the largest number of nodes that growth leads to. Nodes above it are not removed for its sake.
	Max *int64 `json:"max,omitempty"`
}

// ScheduledSize bounds a number of nodes while a window is open.
type ScheduledSize struct {
	Window
	Size
}

// GroupScaleDown says when nodes of a group are unneeded.
type GroupScaleDown struct {
	UnneededTime               string   `json:"unneededTime,omitempty" like:"scale-down-unneeded-time"`
	UnreadyTime                string   `json:"unreadyTime,omitempty" like:"scale-down-unready-time"`
	UtilizationThreshold       *float64 `json:"utilizationThreshold,omitempty" like:"scale-down-utilization-threshold"`
	GPUUtilizationThreshold    *float64 `json:"gpuUtilizationThreshold,omitempty" like:"scale-down-gpu-utilization-threshold"`
	IgnoreDaemonSetUtilization *bool    `json:"ignoreDaemonSetUtilization,omitempty" like:"ignore-daemonsets-utilization"`
}

// GroupHealth says how long nodes of a group may take.
type GroupHealth struct {
	MaxProvisionTime string `json:"maxProvisionTime,omitempty" like:"max-node-provision-time"`
	MaxStartupTime   string `json:"maxStartupTime,omitempty" like:"max-node-startup-time"`
}

// Pause stops buying and removing.
type Pause struct {
	// Until is when the pause ends, such as 2026-12-24T18:00:00Z. Without it, it ends when it is taken out.
	Until string `json:"until,omitempty"`
	// Reason is told wherever the pause holds something back.
	Reason string `json:"reason,omitempty"`
}

// GroupMoves is Moves of some groups. A move with nodes of several groups must be worth what each of them asks for.
type GroupMoves struct {
	// Consolidation is WhenEmpty, WhenUnneeded or WhenCheaper, see --consolidation.
	Consolidation string `json:"consolidation,omitempty"`
	// MinSavingsPerHour is the least that a move to cheaper nodes saves, in the currency of the prices.
	MinSavingsPerHour *float64 `json:"minSavingsPerHour,omitempty"`
	// MinSavingsShare is the least share of what its nodes cost that a move saves, 0 to 1.
	MinSavingsShare *float64 `json:"minSavingsShare,omitempty"`
	// MinSavingsPerDisruption is the least that a move saves per hour for each node that it removes
	// and each pod that it evicts.
	MinSavingsPerDisruption *float64 `json:"minSavingsPerDisruption,omitempty"`
	// Stay is how long other moves leave the nodes of a move alone after its end, and how long pods that a move has moved
	// stay where they are.
	Stay string `json:"stay,omitempty"`
	// ReturnToPreferred replaces nodes of these groups by those of groups that the priorities prefer, when these can
	// grow again. It has an effect where priority is the first expander.
	ReturnToPreferred *bool `json:"returnToPreferred,omitempty"`
	// ReplaceAfter is how old a node may get before it is replaced; 0s: no limit.
	ReplaceAfter string `json:"replaceAfter,omitempty"`
	// ReplaceDrifted replaces nodes that are not what their group makes now.
	ReplaceDrifted *bool `json:"replaceDrifted,omitempty"`
	// ReplaceConditions are types of node conditions; a node with a true one is replaced. [] are none.
	ReplaceConditions *[]string `json:"replaceConditions,omitempty"`
	// ReplaceUnreadyAfter is how long a node may be not ready before it is replaced; 0s: no limit.
	ReplaceUnreadyAfter string `json:"replaceUnreadyAfter,omitempty"`
	// ReplaceInterrupted are keys of taints and annotations of nodes, and types of conditions, by which the cloud
	// says that it is about to take a machine; such a node is replaced at once. [] are none.
	ReplaceInterrupted *[]string `json:"replaceInterrupted,omitempty"`
	// InterruptionWeight is the share of the price of a spot node of these groups that a move to it must save beside
	// all else, since the cloud may take it. It is of what is bought, and not of what goes.
	InterruptionWeight *float64 `json:"interruptionWeight,omitempty"`
}

// Budget bounds how many nodes go. Of several that cover a node, each must have room.
type Budget struct {
	// Name is for people, where the budget holds something back.
	Name string `json:"name,omitempty"`
	// Reasons are those for which the budget counts: Empty, Underutilized, Cheaper, Drifted, Expired, Unready.
	// None: all of them.
	Reasons []string `json:"reasons,omitempty"`
	// Nodes is how many may be on their way out at once: a number, or a share such as 10%, rounded up.
	Nodes string `json:"nodes,omitempty"`
	// Rate is how many may begin to go within any time of a length, such as 5/1h.
	Rate string `json:"rate,omitempty"`
	// Windows are when nodes and rate count. None: always.
	Windows []Window `json:"windows,omitempty"`
	// Allow are the only times at which nodes may begin to go. None: always.
	Allow []Window `json:"allow,omitempty"`
}

// Headroom is what is kept free. Not built yet.
type Headroom struct {
	// Nodes is a number of empty nodes, or a share of the group's, such as 10%.
	Nodes string `json:"nodes,omitempty"`
}
