package gardener

import (
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// Provider is the contract over the MachineDeployments of a namespace. All that it
// decides on is read again at each call.
type Provider struct {
	settings settings
	client   dynamic.Interface
	examples *examples
	memory   *kube.Memory
	news     provider.News
	underWay *underWay
	now      func() time.Time
	settling time.Duration // between marks on machines and the target that pays for them
	log      *slog.Logger
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Notifier = (*Provider)(nil)
)

// New reads the configuration and makes the client of the control cluster. It makes no
// call: a wrong address or a missing permission shows at the first Inventory.
// nodes are the shoot's, the examples for new ones; without, nil, a node is taken to
// have all of its machine to give.
func New(control *rest.Config, nodes typedcorev1.NodeInterface, cfg Config, log *slog.Logger) (*Provider, error) {
	s, err := cfg.read()
	if err != nil {
		return nil, fmt.Errorf("gardener provider: %w", err)
	}
	// Objects of unknown types travel as JSON, whatever the other clients of this
	// program prefer.
	rc := rest.CopyConfig(control)
	rc.ContentType, rc.AcceptContentTypes = "", ""
	client, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("gardener provider: make a client for the control cluster %s: %w", rc.Host, err)
	}
	return &Provider{settings: s, client: client, examples: newExamples(nodes, time.Now), memory: kube.NewMemory(),
		underWay: &underWay{removals: map[provider.GroupID]removing{}}, now: time.Now, settling: settling, log: log}, nil
}
