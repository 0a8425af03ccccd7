package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

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
	with   credentials
}

func (l *toLeader) bind(set *pflag.FlagSet) {
	l.config = config.Defaults()
	c := &l.config
	l.bindPage(set)
	bindCluster(set, &c.Cluster)
	set.StringVar(&c.Leader.Name, "leader-elect-resource-name", c.Leader.Name, "name of the autoscaler's lease")
	set.StringVar(&c.Page.Address, "ui-address", c.Page.Address, "what the autoscaler has for --ui-address")
}

// pageFlags are those that bindPage binds.
var pageFlags = []string{"url", "ui-ca-file", "ui-token-file", "ui-server-name"}

// bindPage binds the flags that say how the page is asked.
func (l *toLeader) bindPage(set *pflag.FlagSet) {
	set.StringVar(&l.url, "url", "", "address of the leader's page, if it can be reached as it is; none: the leader is "+
		"found by its lease, and a port is forwarded")
	set.StringVar(&l.with.caFile, "ui-ca-file", "",
		"file with the CA of the page's certificate, where it uses TLS; none: those of this machine")
	set.StringVar(&l.with.tokenFile, "ui-token-file", "",
		"file with the bearer token for a page that authenticates; none: that of the kubeconfig's user")
	set.StringVar(&l.with.serverName, "ui-server-name", "",
		"a name in the page's certificate; none: the host of --url, or the leader's pod through a forwarded port")
}

// reach finds the page. It can be asked until its end is called.
func (l *toLeader) reach(ctx context.Context) (*page, error) {
	if l.url != "" {
		return l.named()
	}
	if err := l.with.readable(); err != nil {
		return nil, err
	}
	c := l.config
	_, port, err := net.SplitHostPort(c.Page.Address)
	if err != nil {
		return nil, misusef("--ui-address: %w", err)
	}
	c.Cluster.ContentType = runtime.ContentTypeJSON // forwarding speaks it; nothing here is large
	client, rc, err := clientFor(c)
	if err != nil {
		return nil, err
	}
	asking, end := patient(ctx, c.Cluster)
	defer end()
	pod, err := leaderOf(asking, client, c.Cluster.Namespace, c.Leader.Name)
	if err != nil {
		return nil, err
	}
	found := &page{client: &http.Client{CheckRedirect: noRedirect}, patience: c.Cluster.RequestTimeout, end: func() {}}
	scheme := "http://"
	if !ui.Loopback(c.Page.Address) {
		scheme = "https://"
		with := l.with
		with.serverName = cmp.Or(with.serverName, pod) // as in a certificate that the leader makes itself
		if found.client, err = with.clientOf(rc); err != nil {
			return nil, err
		}
	}
	_, err = client.CoreV1().Pods(c.Cluster.Namespace).Get(asking, pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		// The leader may be a process on this machine.
		if here, hostErr := os.Hostname(); hostErr == nil && here == pod {
			found.base, found.hint = scheme+c.Page.Address, "; the leader is a process of this machine: where its page is, "+
				"its log says (\"the page is served\"); "+byURL
			return found, nil
		}
		return nil, fmt.Errorf("the leader %s is no pod of namespace %s; %s", pod, c.Cluster.Namespace, byURL)
	} else if err != nil {
		return nil, fmt.Errorf("find the leader's pod %s/%s: %w", c.Cluster.Namespace, pod, err)
	}
	local, ended, stop, err := forward(asking, rc, client, c.Cluster.Namespace, pod, port)
	if err != nil {
		return nil, err
	}
	found.base, found.ended, found.end = scheme+local, ended, stop
	return found, nil
}

// named is the page at --url. A token is sent with TLS only.
func (l *toLeader) named() (*page, error) {
	at, err := url.Parse(l.url)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, misusef("--url=%s: want an address such as https://plimsoll.example.com", l.url)
	}
	if at.Scheme == "http" && l.with.tokenFile != "" &&
		!ui.Loopback(net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "80"))) {
		return nil, misusef("--url=%s: a token is not sent without TLS; use https", l.url)
	}
	if err := l.with.readable(); err != nil {
		return nil, err
	}
	found := &page{base: strings.TrimSuffix(l.url, "/"), client: &http.Client{CheckRedirect: noRedirect},
		patience: l.config.Cluster.RequestTimeout, end: func() {}}
	if at.Scheme == "http" {
		return found, nil
	}
	var rc *rest.Config
	if l.with.tokenFile == "" {
		if rc, err = restConfig(l.config.Cluster); err != nil {
			return nil, fmt.Errorf("find a token for the page (or give --ui-token-file): %w", err)
		}
	}
	found.client, err = l.with.clientOf(rc)
	return found, err
}

// byURL is the way to a page that is not found by the lease.
const byURL = "--url=http://HOST:PORT names a page that can be reached as it is"

// leaderOf is the name of the pod that leads: the lease's holder begins with it.
func leaderOf(ctx context.Context, client kubernetes.Interface, namespace, name string) (string, error) {
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("there is no lease %s in namespace %s: does the autoscaler run there? --namespace and "+
			"--leader-elect-resource-name say where; %s", name, namespace, byURL)
	} else if err != nil {
		return "", refused("read the lease "+namespace+"/"+name, err)
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder, _, _ = strings.Cut(*lease.Spec.HolderIdentity, "_")
	}
	if holder == "" {
		return "", fmt.Errorf("no process holds the lease %s/%s: no autoscaler leads now; %s", namespace, name, byURL)
	}
	return holder, nil
}

// forward forwards a free port of this machine to a pod's, until stop is called. ended gets why it has ended before.
func forward(
	ctx context.Context, rc *rest.Config, client *kubernetes.Clientset, namespace, pod, port string,
) (local string, ended <-chan error, stop func(), err error) {
	failed := func(err error) (string, <-chan error, func(), error) {
		return "", nil, nil, fmt.Errorf("forward a port to the pod %s/%s (it needs create on pods/portforward): %w; %s",
			namespace, pod, err, byURL)
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
	end, ready := make(chan struct{}), make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:" + port}, end, ready, io.Discard,
		io.Discard)
	if err != nil {
		return failed(err)
	}
	over := make(chan error, 1)
	go func() {
		err := f.ForwardPorts()
		over <- fmt.Errorf("the connection to the pod %s/%s has ended: %w; is it gone, or does another one lead?", namespace,
			pod, cmp.Or(err, io.EOF))
	}()
	select {
	case <-ctx.Done():
		return failed(context.Cause(ctx))
	case err := <-over:
		return failed(err)
	case <-ready:
	}
	ports, err := f.GetPorts()
	if err != nil {
		close(end)
		return failed(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), over, func() { close(end) }, nil
}
