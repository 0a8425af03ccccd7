package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/utils/ptr"
)

// clusterOfLeader is an API server with a lease, the pod that holds it, and the streams of a kubelet that lead to a
// port of the pod, which is one of this machine here.
type clusterOfLeader struct {
	t    *testing.T
	page string // host:port of the leader's page
	port string // that is to be forwarded; empty: the default

	mu    sync.Mutex
	asked []string
	conns []httpstream.Connection
}

// lose ends all connections to the pod.
func (c *clusterOfLeader) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
}

func (c *clusterOfLeader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked = append(c.asked, r.Method+" "+r.URL.Path)
	c.mu.Unlock()
	var answer any
	switch r.URL.Path {
	case "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cluster-autoscaler":
		answer = coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("plimsoll-7d9f_uid")}}
	case "/api/v1/namespaces/kube-system/pods/plimsoll-7d9f":
		answer = corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plimsoll-7d9f"}}
	case "/api/v1/namespaces/kube-system/pods/plimsoll-7d9f/portforward":
		if r.Method != http.MethodPost {
			// The tunnel over WebSocket is a GET, for which create is not enough everywhere.
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		c.forward(w, r)
		return
	default:
		c.t.Error("it asks for", r.Method, r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		c.t.Error(err)
	}
}

// forward does what a kubelet does: it joins each stream of data with the port that it names.
func (c *clusterOfLeader) forward(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		c.t.Error(err)
		return
	}
	streams := make(chan httpstream.Stream, 100)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		c.t.Error("the connection could not be upgraded")
		return
	}
	defer conn.Close()
	c.mu.Lock()
	c.conns = append(c.conns, conn)
	c.mu.Unlock()
	for {
		select {
		case <-conn.CloseChan():
			return
		case s := <-streams:
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				s.Close()
				continue
			}
			if port := s.Headers().Get(corev1.PortHeader); port != cmp.Or(c.port, "8086") {
				c.t.Errorf("port %s is forwarded", port)
			}
			to, err := net.Dial("tcp", c.page)
			if err != nil {
				c.t.Error(err)
				return
			}
			go func() { io.Copy(to, s); to.Close() }()
			go func() { io.Copy(s, to); s.Close() }()
		}
	}
}

// spoken is what a command says, to be read while it goes on.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (s *spoken) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		select {
		case s.more <- struct{}{}:
		default:
		}
	}()
	return s.text.Write(text)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// `plimsoll ui` finds the leader's pod by its lease, and forwards a port to its page, until it is ended. It asks for
// no more than docs/ui.md says that it needs.
func TestUICommandForwardsAPort(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/state" {
			fmt.Fprint(w, "{}")
			return
		}
		fmt.Fprintln(w, "the leader's page of", r.URL.Path, "for", r.Host)
	}))
	defer page.Close()
	cluster := &clusterOfLeader{t: t, page: page.Listener.Addr().String()}
	server := httptest.NewServer(cluster)
	defer server.Close()
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	out := &spoken{more: make(chan struct{}, 1)}
	cmd := root()
	cmd.SetOut(out)
	cmd.SetErr(out)
	cmd.SetArgs([]string{"ui", "--no-browser", "--kubeconfig", kubeconfigOf(t, server.URL)})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	for !strings.Contains(out.String(), "until Ctrl-C") {
		select {
		case <-out.more:
		case err := <-ended:
			t.Fatal(err, out)
		case <-ctx.Done():
			t.Fatal("it never says where the page is:", out)
		}
	}
	_, rest, _ := strings.Cut(out.String(), "the page is at ")
	url, _, _ := strings.Cut(rest, " ")
	for _, path := range []string{"", "api/v1/groups"} {
		res, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if want := fmt.Sprintf("the leader's page of /%s for 127.0.0.1:", path); err != nil ||
			!strings.HasPrefix(string(body), want) {
			t.Errorf("%s%s says %q (%v), not %q", url, path, body, err, want)
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error("asked to end, it ends with", err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the port is forwarded still")
	}
	const pod = "/api/v1/namespaces/kube-system/pods/plimsoll-7d9f"
	if want := []string{"GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cluster-autoscaler",
		"GET " + pod, "GET " + pod + "/portforward", "POST " + pod + "/portforward"}; !slices.Equal(cluster.asked, want) {
		t.Errorf("it asks for %q", cluster.asked)
	}
}
