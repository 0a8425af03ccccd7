package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// toLeader says how a command finds the leader's page.
type toLeader struct {
	config config.Config
	url    string
}

func (l *toLeader) bind(set *pflag.FlagSet) {
	l.config = config.Defaults()
	c := &l.config
	set.StringVar(&l.url, "url", "", "address of the page, if it can be reached as it is; none: the leader is found by "+
		"its lease, and a port is forwarded")
	bindCluster(set, &c.Cluster)
	set.StringVar(&c.Leader.Name, "leader-elect-resource-name", c.Leader.Name, "name of the autoscaler's lease")
	set.StringVar(&c.Page.Address, "ui-address", c.Page.Address, "what the autoscaler has for --ui-address")
}

// reach gives the address of the leader's page, which holds until the returned function is called.
func (l *toLeader) reach(ctx context.Context) (string, func(), error) {
	if l.url != "" {
		return strings.TrimSuffix(l.url, "/"), func() {}, nil
	}
	c := l.config
	_, port, err := net.SplitHostPort(c.Page.Address)
	if err != nil {
		return "", nil, fmt.Errorf("--ui-address: %w", err)
	}
	if !ui.Loopback(c.Page.Address) {
		return "", nil, errors.New("a page that is not bound to the loopback wants a bearer token: ask it by --url, or curl")
	}
	c.Cluster.ContentType = runtime.ContentTypeJSON // forwarding speaks it; nothing here is large
	client, rc, err := clientFor(c)
	if err != nil {
		return "", nil, err
	}
	asking, end := patient(ctx, c.Cluster)
	defer end()
	pod, err := leaderOf(asking, client, c.Cluster.Namespace, c.Leader.Name)
	if err != nil {
		return "", nil, err
	}
	_, err = client.CoreV1().Pods(c.Cluster.Namespace).Get(asking, pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		// The leader may be a process on this machine.
		if here, hostErr := os.Hostname(); hostErr == nil && here == pod {
			return "http://" + c.Page.Address, func() {}, nil
		}
		return "", nil, fmt.Errorf("the leader %s is no pod of namespace %s: give its page's address with --url", pod,
			c.Cluster.Namespace)
	} else if err != nil {
		return "", nil, fmt.Errorf("find the leader's pod %s/%s: %w", c.Cluster.Namespace, pod, err)
	}
	return forward(asking, rc, client, c.Cluster.Namespace, pod, port)
}

// leaderOf is the name of the pod that leads: the lease's holder begins with it.
func leaderOf(ctx context.Context, client kubernetes.Interface, namespace, name string) (string, error) {
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("there is no lease %s in namespace %s: does the autoscaler run there? --namespace and "+
			"--leader-elect-resource-name say where", name, namespace)
	} else if err != nil {
		return "", fmt.Errorf("read the lease %s/%s: %w", namespace, name, err)
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder, _, _ = strings.Cut(*lease.Spec.HolderIdentity, "_")
	}
	if holder == "" {
		return "", fmt.Errorf("no process holds the lease %s/%s: no autoscaler leads now", namespace, name)
	}
	return holder, nil
}

// forward forwards a free port of this machine to a pod's.
func forward(
	ctx context.Context, rc *rest.Config, client *kubernetes.Clientset, namespace, pod, port string,
) (string, func(), error) {
	failed := func(err error) (string, func(), error) {
		return "", nil, fmt.Errorf("forward a port to the pod %s/%s (it needs create on pods/portforward): %w", namespace,
			pod, err)
	}
	to := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).
		SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(rc)
	if err != nil {
		return failed(err)
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(to, rc)
	if err != nil {
		return failed(err)
	}
	dialer := portforward.NewFallbackDialer(tunnel,
		spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, to), func(err error) bool {
			return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
		})
	stop, ready := make(chan struct{}), make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:" + port}, stop, ready, io.Discard,
		io.Discard)
	if err != nil {
		return failed(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.ForwardPorts() }()
	select {
	case <-ctx.Done():
		return failed(context.Cause(ctx))
	case err := <-ended:
		return failed(cmp.Or(err, errors.New("it ended at once")))
	case <-ready:
	}
	ports, err := f.GetPorts()
	if err != nil {
		close(stop)
		return failed(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", ports[0].Local), func() { close(stop) }, nil
}

// askLeader is what the leader answers to a path.
func askLeader(ctx context.Context, base, path string) (ui.Envelope, error) {
	var answer ui.Envelope
	if err := fetch(ctx, base, path, &answer); err != nil {
		return ui.Envelope{}, err
	}
	if !answer.Leads {
		return ui.Envelope{}, fmt.Errorf("the process at %s does not lead; the leader is %s", base,
			cmp.Or(answer.Leader, "not known"))
	}
	return answer, nil
}

// leaderRefusal is what the leader says where it has no answer.
type leaderRefusal struct {
	status int
	why    string
}

func (r leaderRefusal) Error() string { return "the leader says: " + r.why }

// fetch reads what the leader answers to a path.
func fetch(ctx context.Context, base, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return fmt.Errorf("ask the leader: %w", err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask the leader: %w", withoutURL(err))
	}
	defer res.Body.Close()
	var failed ui.Failure
	if res.StatusCode != http.StatusOK {
		into = &failed
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return fmt.Errorf("ask the leader for %s: it answers %s with what is not JSON: %w", path, res.Status, err)
	}
	if res.StatusCode != http.StatusOK {
		return leaderRefusal{res.StatusCode, failed.Text()}
	}
	return nil
}

func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
