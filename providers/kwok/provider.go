package kwok

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Provider is the contract over simulated nodes. Its groups are fixed when it
// is made; all else is read from the cluster at each call, so it holds no state
// and no lock over a call.
type Provider struct {
	client    kubernetes.Interface
	machines  machineStore
	lister    *lister
	groups    []group
	byName    map[string]group
	notices   []provider.Notice
	keepNodes bool
	log       *slog.Logger
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Starter  = (*Provider)(nil)
	_ provider.Closer   = (*Provider)(nil)
)

// New reads the templates and makes the provider. It writes nothing, so that
// bad input is an error before anything is touched; the error names the file
// or the object, the node and the field.
//
// The clients should allow a high rate (rest.Config's QPS of -1, or hundreds):
// the API server protects itself, and a client that holds back makes a scale-up
// by thousands of nodes take minutes. Protobuf, by rest.Config's ContentType,
// is cheaper for both sides.
func New(
	ctx context.Context, client kubernetes.Interface, metadata metadata.Interface, cfg Config, log *slog.Logger,
) (*Provider, error) {
	src, err := load(ctx, client, cfg)
	if err != nil {
		return nil, fmt.Errorf("kwok provider: %w", err)
	}
	groups, notices, err := buildGroups(src)
	if err != nil {
		return nil, fmt.Errorf("kwok provider: %w", err)
	}
	if err := checkMemory(src.name, groups, cfg.Namespace); err != nil {
		return nil, fmt.Errorf("kwok provider: %w", err)
	}
	machines := machineStore{client: client, namespace: cfg.Namespace}
	p := &Provider{
		client:    client,
		machines:  machines,
		lister:    newLister(metadata, machines),
		groups:    groups,
		byName:    map[string]group{},
		notices:   notices,
		keepNodes: cfg.KeepNodes,
		log:       log,
	}
	for _, g := range groups {
		p.byName[g.name] = g
	}
	for _, notice := range notices {
		log.Warn("what to know of the node templates", "code", notice.Code, "group", notice.Group, "why", notice.Message)
	}
	log.Info("node groups are read from templates", "source", src.name, "templates", len(src.nodes), "groups", len(groups))
	return p, nil
}

// Inventory is one LIST of the nodes' metadata, and one read of the ConfigMap of
// machines without a node.
func (p *Provider) Inventory(ctx context.Context) (provider.Inventory, error) {
	seen, err := p.lister.census(ctx)
	if err != nil {
		return provider.Inventory{}, hints.Error(provider.OpInventory, "", "read the simulated nodes", err)
	}
	inv := provider.Inventory{AsOf: seen.asOf, Notices: slices.Clone(p.notices)}
	for _, g := range p.groups {
		inv.Groups = append(inv.Groups, g.seenIn(seen))
	}
	inv.Notices = append(inv.Notices, p.strays(seen)...)
	return inv, nil
}

func (g group) seenIn(seen census) provider.Group {
	out := provider.Group{
		ID:          provider.GroupID(g.name),
		Min:         g.min,
		Max:         g.max,
		Target:      seen.live(g.name),
		Template:    g.template,
		Accelerator: g.accelerator,
		OwnLabels:   slices.Clone(g.ownLabels),

		PricePerHour: g.price,
	}
	for _, m := range seen.own[g.name] {
		out.Instances = append(out.Instances, g.instanceOf(m))
	}
	slices.SortFunc(out.Instances, func(a, b provider.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// instanceOf is a member as an instance.
func (g group) instanceOf(m member) provider.Instance {
	i := provider.Instance{
		ID:         provider.InstanceID(m.name),
		ProviderID: providerIDPrefix + m.name,
		NodeName:   m.name,
		State:      provider.Running,
		Created:    m.created,
		Zone:       cmp.Or(m.zone, g.zone),
	}
	switch {
	case m.fault != noFault:
		i.NodeName, i.State, i.Err = "", provider.Creating, m.fault.err(g.name, i.Zone)
	case m.deleting:
		i.State = provider.Deleting
	}
	return i
}

// strays are notices of simulated machines whose group has no template any more, as after a crash
// and a change of the templates: nothing will scale them.
func (p *Provider) strays(seen census) []provider.Notice {
	var notices []provider.Notice
	for _, name := range slices.Sorted(maps.Keys(seen.own)) {
		if _, ok := p.byName[name]; ok {
			continue
		}
		notices = append(notices, provider.Notice{Group: provider.GroupID(name), Code: "GroupGone", Message: fmt.Sprintf(
			"%d simulated machines such as %s belong to the group %q, which no template makes: they are not scaled, and are "+
				"deleted with the rest at the end",
			len(seen.own[name]), seen.own[name][0].name, name)})
	}
	return notices
}
