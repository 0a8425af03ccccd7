package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/providers/kwok"
)

// clusterSource says where a command has its cluster from: from files, or live.
type clusterSource struct {
	files  []string
	groups string
}

func (s *clusterSource) bind(set *pflag.FlagSet) {
	set.StringArrayVarP(&s.files, "filename", "f", nil,
		"file or folder with the cluster, -: standard input (repeat); YAML or JSON, packed or not, of plimsoll dump, of "+
			"kubectl get -o yaml, of kwokctl snapshot export; none: the cluster that the kubeconfig names")
	set.StringVar(&s.groups, "groups", "",
		"file with the node groups, where they are not in the others: what plimsoll groups -o yaml prints, or kwok "+
			"templates; none: they are guessed from the nodes' labels")
}

// cluster reads the cluster. It tells a person, on told, what is missing and what is assumed, the node groups included.
func (s *clusterSource) cluster(ctx context.Context, from *start, stdin io.Reader, told io.Writer) (
	*clusterfile.Cluster, error,
) {
	read, err := s.read(ctx, stdin)
	if err != nil {
		return nil, err
	}
	c, err := s.complete(ctx, from, read, told)
	if err != nil {
		return nil, err
	}
	tellNoGroups(c, told)
	return c, nil
}

// tellNoGroups says why there are no node groups, beside an answer that does not.
func tellNoGroups(c *clusterfile.Cluster, told io.Writer) {
	switch _, err := c.Groups(); {
	case err == nil:
	case c.InventoryErr != "":
		cli.Tell(told, "note", "the node groups could not be read ("+c.InventoryErr+"): nothing is bought or removed")
	default:
		cli.Tell(told, "note", "no node groups, and no label of a node that names one: nothing can be bought or removed; "+
			groupsFrom(c))
	}
}

// groupsFrom says what would give a cluster its node groups.
func groupsFrom(c *clusterfile.Cluster) string {
	if c.Live {
		return "--cloud-provider=... reads them, or --groups=FILE has them"
	}
	return "--groups=FILE gives them"
}

// read reads the files; nil if none is given.
func (s *clusterSource) read(ctx context.Context, stdin io.Reader) (*clusterfile.Cluster, error) {
	if len(s.files) == 0 {
		return nil, nil
	}
	if slices.Contains(s.files, "") {
		return nil, misusef("--filename (-f) is empty: name a file or a folder, or - for standard input")
	}
	return clusterfile.Read(ctx, s.files, stdin)
}

// complete gives the cluster of the files, else the live one, what it lacks. That there are no node groups, an answer
// tells.
func (s *clusterSource) complete(ctx context.Context, from *start, c *clusterfile.Cluster, told io.Writer) (
	*clusterfile.Cluster, error,
) {
	if c == nil {
		var err error
		if c, err = from.live(ctx); err != nil {
			return nil, err
		}
	}
	notes := c.Notes()
	if c.Time.IsZero() {
		c.Time = time.Now().UTC()
		notes = append(notes, "no object says a time: it is taken to be now")
	}
	assumed, err := s.addGroups(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, note := range append(notes, assumed...) {
		cli.Tell(told, "note", note)
	}
	return c, nil
}

// addGroups finds the node groups if the cluster has none, and says what it assumed.
func (s *clusterSource) addGroups(ctx context.Context, c *clusterfile.Cluster) (notes []string, err error) {
	switch {
	case s.groups != "":
		if c.Inventory != nil {
			return nil, fmt.Errorf("--groups=%s: the cluster has its node groups already", s.groups)
		}
		if c.Inventory, err = clusterfile.ReadGroups(ctx, s.groups); err != nil {
			return nil, fmt.Errorf("--groups=%s: %w", s.groups, err)
		}
		if c.Inventory == nil {
			var nodes []*corev1.Node
			for _, obj := range c.Objects {
				if n, ok := obj.(*corev1.Node); ok {
					nodes = append(nodes, n)
				}
			}
			inventory, err := kwok.InventoryOf(s.groups, nodes, c.Time)
			if err != nil {
				return nil, err
			}
			c.Inventory = &inventory
		}
		c.Inventory.AsOf, c.InventoryErr = c.Time, ""
		return nil, nil
	case c.Inventory != nil || c.InventoryErr != "":
		return nil, nil
	}
	labels := c.GuessGroups()
	if len(labels) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("the node groups are guessed from the label %s: minimum 0, no maximum, new nodes like "+
		"the newest ready one; --groups=FILE gives them", strings.Join(labels, " or "))}, nil
}

// live reads the cluster and its node groups once. It writes nothing, and takes no lease.
func (s *start) live(ctx context.Context) (*clusterfile.Cluster, error) {
	client, _, err := clientFor(s.config)
	if err != nil {
		return nil, err
	}
	c := &clusterfile.Cluster{Version: version, Live: true, Unread: map[string]string{}}
	// 1. The cloud first: deciding knows that a node may be younger than that (rule L5).
	if s.provider != nil {
		if err := s.readGroups(ctx, c); err != nil {
			return nil, err
		}
	}
	// 2. What the leader has written down.
	if err := s.readMemory(ctx, client, c); err != nil {
		return nil, err
	}
	// 3. The objects.
	objects, unread, err := observe.List(ctx, client, s.observing(),
		func(ctx context.Context) (context.Context, func()) { return patient(ctx, s.config.Cluster) })
	if err != nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	for resource, err := range unread {
		c.Unread[resource] = err.Error()
	}
	if len(objects) == 0 {
		return nil, unreadable(unread)
	}
	for _, k := range observe.Kinds() {
		if unread[k.Resource] == nil {
			c.Listed = append(c.Listed, k.Resource)
		}
	}
	c.Objects, c.Time = objects, time.Now().UTC()
	return c, nil
}

// unreadable is the error of a cluster none of whose kinds could be read: the first reason, and the names of the
// others.
func unreadable(unread map[string]error) error {
	kinds := slices.Sorted(maps.Keys(unread))
	if len(kinds) == 0 {
		return errors.New("read the cluster: it has no objects: is that the API server of a cluster?")
	}
	err := refused("read the cluster", unread[kinds[0]])
	if others := kinds[1:]; len(others) > 0 {
		err = fmt.Errorf("%w (nor could %s be read)", err, strings.Join(others, ", "))
	}
	return err
}

// refused is an error about what was tried, with what a person can do about it where the API server has answered.
func refused(tried string, err error) error {
	status := apierrors.APIStatus(nil)
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: %w; the API server does not know these credentials; renew them", tried, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w; the permission for that is missing", tried, err)
	case errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError:
		return fmt.Errorf("%s: %w; %s", tried, err, report.ServerFault)
	case unconnected(err) && !errors.Is(err, errNoAnswer):
		return fmt.Errorf("%s: %w; is that the address of the API server, and can this machine reach it?", tried, err)
	}
	return fmt.Errorf("%s: %w", tried, err)
}

// unconnected reports whether a request got no answer from the API server.
func unconnected(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// readMemory reads what the leader has written down. Only a server that does not answer is an error.
func (s *start) readMemory(ctx context.Context, client kubernetes.Interface, c *clusterfile.Cluster) error {
	ctx, end := patient(ctx, s.config.Cluster)
	defer end()
	m, err := report.StatusMap(ctx, client, s.config.Cluster.Namespace, s.config.Report.StatusConfigMap)
	if apierrors.IsNotFound(err) {
		return nil // there is no leader
	}
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return fmt.Errorf("read the cluster: %w", err)
	}
	var left report.Left
	if err == nil {
		left, err = report.LeftIn(m)
	}
	if err != nil {
		c.Unread[clusterfile.TheMemory] = err.Error()
	}
	c.Memory, c.Pending = left.Memory, left.Document.Pending
	return nil
}

// readGroups asks the provider. What it cannot read is kept as what is wrong with it.
func (s *start) readGroups(ctx context.Context, c *clusterfile.Cluster) error {
	deadline := s.config.Cloud.InventoryDeadline
	ctx, cancel := context.WithTimeoutCause(ctx, deadline,
		fmt.Errorf("no answer within %s (--inventory-deadline)", deadline))
	defer cancel()
	cloud, err := s.newProvider(ctx, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	inventory, err := cloud.Inventory(ctx)
	if err != nil {
		c.InventoryErr = err.Error()
		return nil
	}
	c.Inventory = &inventory
	return nil
}

// observing are the settings by which a cluster that is at hand is observed.
func (s *start) observing() observe.Settings {
	return observe.Settings{
		Namespace: s.config.Cluster.Namespace, Seed: s.config.Loop.Seed, Passing: s.config.Policy.Rules.Passing,
		Priorities: slices.Contains(s.config.Policy.ScaleUp.Expanders, model.ByPriority),
		Prices:     observe.Prices{First: s.config.Prices.First},
	}
}
