// Package config turns flags and files into validated values, grouped by who
// consumes them.
//
// Flags have the Cluster Autoscaler's names and, but for the few named in
// docs/flags.md, its defaults: its users can keep the command line. Its
// flags that Plimsoll lacks are accepted, each with one warning, or refused where
// other nodes would be bought or removed without them; a flag that neither has is
// an error.
//
// What flows in: a command line, and the files that it names. What flows out: a
// Config, of which every package gets only its own part, warnings, and one
// error that lists everything that is wrong, each by its flag. All defaults are
// in this file.
//
// Who may import it: hosts (cmd). It imports model, and knows providers by what their
// entries say.
package config

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Config is what the operator chose.
type Config struct {
	Cloud   Cloud
	Cluster Cluster
	Loop    Loop
	Policy  model.Policy
	Prices  Prices
	Leader  LeaderElection
	HTTP    HTTP
	Page    Page
	Logging Logging
	Report  Report
}

// Cloud says which provider to use, and how.
type Cloud struct {
	// Provider is the name of one of the known ones.
	Provider string
	// InventoryDeadline is how long one read of the cloud may take.
	InventoryDeadline time.Duration
	// Nodes and Discovery say which groups there are, each in the provider's own
	// words. Everything else of a provider is in its own flags.
	Nodes, Discovery []string
}

// Prices are what nodes cost, as the operator says.
type Prices struct {
	// File is where they are written, empty for none; First is what it said at the start.
	File  string
	First *model.Prices
}

// Cluster says how the API server is reached.
type Cluster struct {
	// Kubeconfig and Server are empty inside of a cluster.
	Kubeconfig string
	Server     string
	// Namespace is Plimsoll's own: its ConfigMaps and its lease are there.
	Namespace   string
	QPS         float32
	Burst       int
	ContentType string
	UserAgent   string
	// RequestTimeout is how long a command that asks once waits for one answer; zero: forever.
	RequestTimeout time.Duration
}

// Loop says when the loop runs.
type Loop struct {
	ScanInterval time.Duration
	// A nudge wakes the loop when it has been quiet for NudgeIdle, and at the
	// latest NudgeMax after the first of them (rule L12).
	NudgeIdle time.Duration
	NudgeMax  time.Duration
	// DecideBudget is how long one decision may take, and DecideSteps that in steps; zero: as many as this machine
	// takes in that time.
	DecideBudget time.Duration
	DecideSteps  int
	// Seed settles what is left to chance. It is the same for the whole life of
	// the process.
	Seed uint64
}

// Steps is the budget of a decision in steps, on a machine that takes so many in a second.
func (l *Loop) Steps(perSecond int) int {
	if l.DecideSteps > 0 {
		return l.DecideSteps
	}
	return int(l.DecideBudget.Seconds() * float64(perSecond))
}

// LeaderElection says how one of several processes is chosen to act.
type LeaderElection struct {
	Enabled       bool
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
	Namespace     string
	Name          string
}

// HTTP says where metrics and health are served, and what counts as healthy.
type HTTP struct {
	// Address is host:port; an empty host means all of them.
	Address string
	// MaxInactivity: unhealthy when no cycle began for so long. MaxFailingTime:
	// unhealthy when none succeeded for so long. MaxStartupTime: how long the
	// first may take.
	MaxInactivity  time.Duration
	MaxFailingTime time.Duration
	MaxStartupTime time.Duration
}

// Page says where people look at what is seen and decided, and which file keeps the decisions.
type Page struct {
	// Address is host:port, empty: there is no page. One that other machines reach authenticates each
	// request and uses TLS, with a certificate of its own making if none is named.
	Address           string
	CertFile, KeyFile string
	// DecisionLog is the file, empty: there is none. It is put aside at LogMegabytes.
	DecisionLog  string
	LogMegabytes int
}

// Logging says how logs look. Verbosity 4 and above shows details of each
// cycle.
type Logging struct {
	Format    string // text or json
	Verbosity int
}

// Report says what is reported beside logs.
type Report struct {
	PerGroupMetrics  bool
	DuplicatedEvents bool
	// StatusConfigMap is the object that events about the whole cluster and its
	// groups are about. WriteStatus: it is written, too.
	StatusConfigMap string
	WriteStatus     bool
}

const gib = 1 << 30

// Defaults is the configuration without any flag. It names no provider.
func Defaults() Config {
	c := Config{
		Cloud: Cloud{InventoryDeadline: time.Minute},
		Cluster: Cluster{
			Namespace: "kube-system",
			// A client that is slower than the server makes every scale-up wait.
			QPS: 200, Burst: 400,
			ContentType: "application/vnd.kubernetes.protobuf",
			UserAgent:   "cluster-autoscaler",
		},
		Loop: Loop{ScanInterval: 10 * time.Second, NudgeIdle: 250 * time.Millisecond, NudgeMax: 2 * time.Second,
			DecideBudget: 2 * time.Second},
		Policy: model.Policy{
			Rules: model.Rules{
				ExpendableBelow: -10, StartupTime: 15 * time.Minute, ProvisionTime: 15 * time.Minute,
				MaxUnready: 3, MaxUnreadyShare: 0.45,
				BackoffFirst: 5 * time.Minute, BackoffMost: 30 * time.Minute, BackoffReset: 3 * time.Hour,
			},
			ScaleUp: model.ScaleUpPolicy{
				MaxCoresTotal: 320000, MaxMemoryTotal: 6400000 * gib,
				Expanders:   []model.Expander{model.ByLeastWaste},
				MemoryRatio: 0.015, FreeRatio: 0.05, AllocRatio: 0.05,
				ScaleFromZero: true,
			},
			ScaleDown: model.ScaleDownPolicy{
				Enabled:           true,
				UnneededTime:      10 * time.Minute,
				DelayAfterAdd:     10 * time.Minute,
				DelayAfterFailure: 3 * time.Minute,
				MaxParallelism:    10,
				MaxDrains:         1,
				Threshold:         0.5,
				GPUThreshold:      0.5,
				SoftTaints:        10,
				DeleteDelay:       5 * time.Second,
				UnreadyEnabled:    true,
				UnreadyTime:       20 * time.Minute,
				Drain: model.DrainPolicy{
					SkipSystem: true, SystemTimeout: time.Hour,
					SkipLocal: true, SkipCustom: true,
					Cordon: true, EvictDaemons: true,
					MaxGrace:     10 * time.Minute,
					EvictionTime: 2 * time.Minute, DelayTimeout: 2 * time.Minute, ReplacementTime: 2 * time.Minute,
				},
			},
			Moves: model.MovePolicy{
				MinSavingsShare: 0.1, Stay: time.Hour, Patience: time.Hour, InterruptionSpan: time.Hour,
			},
			InventoryMaxAge: 5 * time.Minute,
			CallDeadline:    2 * time.Minute,
		},
		Leader: LeaderElection{
			Enabled: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Name: "cluster-autoscaler",
		},
		Page: Page{Address: "127.0.0.1:8086", LogMegabytes: 100},
		HTTP: HTTP{Address: ":8085", MaxInactivity: 10 * time.Minute, MaxFailingTime: 15 * time.Minute,
			MaxStartupTime: 20 * time.Minute},
		Logging: Logging{Format: "text"},
		Report:  Report{StatusConfigMap: "cluster-autoscaler-status", WriteStatus: true},
	}
	c.Policy.Share(c.Loop.Steps(model.StepsPerSecond))
	return c
}
