package kwok

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// apiServer is kubetest's with nodes and ConfigMaps, and with mishaps per request.
type apiServer struct {
	*kubetest.API
	url string

	mu       sync.Mutex
	requests []string // "METHOD path", as they came
	// mishap is asked at each request, with the node that it creates or deletes.
	mishap func(r *http.Request, node *corev1.Node) mishap
}

// mishap is what befalls one request.
type mishap struct {
	status *apierrors.StatusError // answered instead of doing anything
	hold   bool                   // no answer until the client has gone
	after  bool                   // the effect takes place first, then the rest
	body   string                 // answered with 200, instead of the truth
	held   chan<- struct{}        // told once the request is held
	before func()                 // run before the request is served
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{API: kubetest.New(time.Now, nil, kubetest.Dialect{})}
	s.Serve(
		kubetest.Resource{Versions: []string{"v1"}, Kind: "Node", Plural: "nodes"},
		kubetest.Resource{Versions: []string{"v1"}, Kind: "ConfigMap", Plural: "configmaps"},
	)
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL
	return s
}

// clients are real ones, as a host makes them.
func (s *apiServer) clients(t *testing.T) (kubernetes.Interface, metadata.Interface) {
	t.Helper()
	cfg := &rest.Config{Host: s.url, QPS: -1}
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON // kubetest knows no other
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := metadata.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client, meta
}

// add stores nodes, each as another one than that of its name before.
func (s *apiServer) add(nodes ...*corev1.Node) {
	for _, n := range nodes {
		s.Drop("Node", "", n.Name)
		n = n.DeepCopy()
		n.UID = ""
		s.put("Node", n)
	}
}

func (s *apiServer) put(kind string, object runtime.Object) {
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	kubetest.Set(o, "v1", "apiVersion")
	kubetest.Set(o, kind, "kind")
	s.Apply(o)
}

// all are the nodes by name, as they are.
func (s *apiServer) all() []*corev1.Node {
	var nodes []*corev1.Node
	for _, o := range s.List("Node") {
		nodes = append(nodes, read[corev1.Node](o))
	}
	return nodes
}

func read[T any](o kubetest.Object) *T {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, out); err != nil {
		panic(err)
	}
	return out
}

func (s *apiServer) names() []string {
	var names []string
	for _, n := range s.all() {
		names = append(names, n.Name)
	}
	return names
}

// machines is what the ConfigMap of machines without a node says; nil if there is
// none.
func (s *apiServer) machines(namespace string) map[string]string {
	o := s.Get("ConfigMap", namespace, machinesConfigMap)
	if o == nil {
		return nil
	}
	if data := read[corev1.ConfigMap](o).Data; data != nil {
		return data
	}
	return map[string]string{}
}

func (s *apiServer) setMachines(data map[string]string) {
	meta := metav1.ObjectMeta{Namespace: faultNamespace, Name: machinesConfigMap}
	s.put("ConfigMap", &corev1.ConfigMap{ObjectMeta: meta, Data: data})
}

func (s *apiServer) setMishap(f func(r *http.Request, node *corev1.Node) mishap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mishap = f
}

func (s *apiServer) count(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if strings.HasPrefix(r, request) {
			n++
		}
	}
	return n
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // also lets the server notice that the client has gone
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	var f mishap
	if s.mishap != nil {
		f = s.mishap(r, s.subject(r, body))
	}
	s.mu.Unlock()

	if f.before != nil {
		f.before()
	}
	if !f.hold && f.status == nil && f.body == "" {
		s.API.ServeHTTP(w, r)
		return
	}
	if f.after {
		s.API.ServeHTTP(httptest.NewRecorder(), r)
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	switch {
	case f.hold:
		if f.held != nil {
			f.held <- struct{}{}
		}
		<-r.Context().Done()
	case f.status != nil:
		status := f.status.Status()
		status.Kind, status.APIVersion = "Status", "v1"
		w.WriteHeader(int(status.Code))
		json.NewEncoder(w).Encode(status)
	default:
		io.WriteString(w, f.body)
	}
}

// subject is the node that a request is about, nil for any other.
func (s *apiServer) subject(r *http.Request, body []byte) *corev1.Node {
	o := s.Get("Node", "", strings.TrimPrefix(r.URL.Path, "/api/v1/nodes/"))
	if r.Method == http.MethodPost && r.URL.Path == "/api/v1/nodes" {
		o, _ = kubetest.Decode(body)
	}
	if o == nil {
		return nil
	}
	return read[corev1.Node](o)
}
