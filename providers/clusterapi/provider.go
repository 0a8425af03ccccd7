package clusterapi

import (
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Provider is the contract over the groups of a management cluster. All that it
// decides on is read again at each call; no lock is held over a call.
type Provider struct {
	settings       settings
	client         dynamic.Interface
	directory      *directory
	infrastructure *infrastructure
	examples       *examples
	memory         *memory
	news           provider.News
	now            func() time.Time
	patience       time.Duration // with what is optional
	settling       time.Duration // between marks and the target that pays for them
	standstill     time.Duration // of a MachinePool that is taken back to what there is
	log            *slog.Logger
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Notifier = (*Provider)(nil)
)

// New reads the configuration and makes the clients of the management cluster.
// It makes no call: a wrong address or a missing permission shows at the first
// Inventory. nodes are those of the workload cluster, the examples for new ones;
// without, nil, only annotations and templates say what these will be like.
//
// Both clients should allow some tens of requests a second: one that holds back
// makes the first inventory of a hundred groups wait for its turn.
func New(management *rest.Config, nodes typedcorev1.NodeInterface, cfg Config, log *slog.Logger) (*Provider, error) {
	s, err := cfg.read()
	if err != nil {
		return nil, fmt.Errorf("clusterapi provider: %w", err)
	}
	// Objects of unknown types travel as JSON, whatever the other clients of
	// this program prefer.
	rc := rest.CopyConfig(management)
	rc.ContentType, rc.AcceptContentTypes = "", ""
	// Each answer warns that a version will go one day. The operator cannot change that:
	// what is served decides which one is read.
	rc.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("clusterapi provider: make a client for the management cluster %s: %w", rc.Host, err)
	}
	disc, err := discovery.NewDiscoveryClientForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("clusterapi provider: make a discovery client for the management cluster %s: %w", rc.Host, err)
	}
	p := &Provider{settings: s, client: client, directory: newDirectory(disc, time.Now), memory: newMemory(),
		now: time.Now, patience: patience, settling: settling, standstill: standstill, log: log}
	p.infrastructure = newInfrastructure(client, p.directory, time.Now)
	p.examples = newExamples(nodes, time.Now)
	return p, nil
}
