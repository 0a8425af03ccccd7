package eks

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

const (
	// lookEvery is how often the account and the nodes are compared.
	lookEvery = 200 * time.Millisecond
	// lookWithin bounds one look: one that hangs must not hang for ever.
	lookWithin = 10 * time.Second
	// mostTries is how many addresses an instance tries for one that is free.
	mostTries = 100
)

// keeper keeps the nodes of an account: one for each instance that has booted, none
// for one that is gone. What is there is all that it knows, so that it may be killed
// and started again at any time.
type keeper struct {
	aws    awstest.Remote
	client kubernetes.Interface
	nodes  corelisters.NodeLister
	log    *slog.Logger
}

// RunNodes keeps the nodes of the account at a URL until ctx ends. It reads past
// AWS's API, since machines do not live by it: no fault of the API keeps one from
// booting. An account that cannot be read is not an empty one, and nothing happens.
func RunNodes(ctx context.Context, url string, client kubernetes.Interface, log *slog.Logger) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes := factory.Core().V1().Nodes()
	k := keeper{aws: awstest.Remote{URL: url}, client: client, nodes: nodes.Lister(), log: log}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	told := "" // trouble, once for as long as it lasts
	for ctx.Err() == nil {
		trouble := ""
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			trouble = err.Error()
		}
		if trouble != "" && trouble != told {
			log.Warn("cannot keep the nodes; trying again", "error", trouble)
		}
		told = trouble
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// look compares once, and does what is missing.
func (k keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	account, err := k.aws.Account(ctx)
	if err != nil {
		return err
	}
	all, err := k.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	nodes := map[string]*corev1.Node{} // by provider id; at last those without an instance
	for _, node := range all {
		if strings.HasPrefix(node.Spec.ProviderID, providerScheme) {
			nodes[node.Spec.ProviderID] = node
		}
	}
	for _, g := range account.Groups {
		for _, i := range g.Instances {
			if i.State == awstest.Terminated {
				continue // it may be listed for a while
			}
			id := providerID(i)
			if _, registered := nodes[id]; !registered && hasBooted(i) {
				if err := k.register(ctx, account, g, i); err != nil {
					return err
				}
			}
			delete(nodes, id)
		}
	}
	for _, node := range nodes {
		options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(node.UID))}
		err := k.client.CoreV1().Nodes().Delete(ctx, node.Name, options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete the node %s, whose instance is gone: %w", node.Name, err)
		}
	}
	return nil
}

// register makes an instance's node, under the first address that is free.
func (k keeper) register(ctx context.Context, account awstest.Spec, g awstest.Group, i awstest.Instance) error {
	for try := range mostTries {
		node, err := nodeOf(account, g, i, nodeName(account.Region, i, try))
		if err != nil {
			return err
		}
		_, err = k.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err == nil {
			k.log.Info("node registered", "node", node.Name, "instance", i.ID, "group", g.Name)
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("register the node %s: %w", node.Name, err)
		}
		// It may be this instance's own, which the watch has not shown yet.
		other, err := k.client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("look at the node %s: %w", node.Name, err)
		}
		if err == nil && other.Spec.ProviderID == node.Spec.ProviderID {
			return nil
		}
	}
	return fmt.Errorf("register a node for the instance %s: %d addresses in a row are taken", i.ID, mostTries)
}
