package kwok

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// apiServer speaks as much of the API server's wire protocol as this provider
// uses: LIST of nodes, whole or as metadata, in protobuf where the client asks
// for it; create and delete of nodes with names, uids and preconditions; ConfigMaps, each
// with its resource version; Status errors. Mishaps are per request.
type apiServer struct {
	url string

	mu         sync.Mutex
	nodes      map[string]*corev1.Node
	configMaps map[string]*corev1.ConfigMap
	version    int
	requests   []string // "METHOD path", as they came
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
	s := &apiServer{nodes: map[string]*corev1.Node{}, configMaps: map[string]*corev1.ConfigMap{}, version: 1}
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
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+
		runtime.ContentTypeJSON
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

func (s *apiServer) add(nodes ...*corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range nodes {
		s.store(n.DeepCopy())
	}
}

func (s *apiServer) store(n *corev1.Node) {
	s.version++
	n.ResourceVersion = fmt.Sprint(s.version)
	n.UID = types.UID(fmt.Sprintf("uid-%d", s.version))
	if n.CreationTimestamp.IsZero() {
		n.CreationTimestamp = metav1.Now().Rfc3339Copy()
	}
	s.nodes[n.Name] = n
}

// all are the nodes by name, as they are.
func (s *apiServer) all() []*corev1.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	var nodes []*corev1.Node
	for _, n := range s.nodes {
		nodes = append(nodes, n.DeepCopy())
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

func (s *apiServer) names() []string {
	var names []string
	for _, n := range s.all() {
		names = append(names, n.Name)
	}
	return names
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
		object, status := s.serve(r, body)
		s.answer(w, r, object, status)
		return
	}
	if f.after {
		s.serve(r, body)
	}
	switch {
	case f.hold:
		if f.held != nil {
			f.held <- struct{}{}
		}
		<-r.Context().Done()
	case f.status != nil:
		s.answer(w, r, nil, f.status)
	default:
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		io.WriteString(w, f.body)
	}
}

// subject is the node that a request is about, nil for any other.
func (s *apiServer) subject(r *http.Request, body []byte) *corev1.Node {
	if r.Method == http.MethodPost {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if node, ok := object.(*corev1.Node); ok && err == nil {
			return node
		}
	}
	return s.nodes[strings.TrimPrefix(r.URL.Path, "/api/v1/nodes/")]
}

func (s *apiServer) serve(r *http.Request, body []byte) (runtime.Object, *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := schema.GroupResource{Resource: "nodes"}
	name, one := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
	switch {
	case r.URL.Path == "/api/v1/nodes" && r.Method == http.MethodGet:
		return s.list(strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")), nil
	case r.URL.Path == "/api/v1/nodes" && r.Method == http.MethodPost:
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		node := object.(*corev1.Node)
		if _, ok := s.nodes[node.Name]; ok {
			return nil, apierrors.NewAlreadyExists(nodes, node.Name)
		}
		s.store(node)
		return node.DeepCopy(), nil
	case one && r.Method == http.MethodDelete:
		node, ok := s.nodes[name]
		if !ok {
			return nil, apierrors.NewNotFound(nodes, name)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &metav1.DeleteOptions{})
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if p := object.(*metav1.DeleteOptions).Preconditions; p != nil && p.UID != nil && *p.UID != node.UID {
			return nil, apierrors.NewConflict(nodes, name, fmt.Errorf("precondition failed: UID %s, not %s", node.UID, *p.UID))
		}
		s.version++
		if len(node.Finalizers) > 0 {
			now := metav1.Now()
			node.DeletionTimestamp = &now
		} else {
			delete(s.nodes, name)
		}
		return &metav1.Status{Status: metav1.StatusSuccess}, nil
	case strings.Contains(r.URL.Path, "/configmaps"):
		return s.serveConfigMap(r, body)
	}
	return nil, apierrors.NewMethodNotSupported(nodes, r.Method)
}

// serveConfigMap wants of an update and of a delete that they are of the newest
// version, as the API server does of those that name one.
func (s *apiServer) serveConfigMap(r *http.Request, body []byte) (runtime.Object, *apierrors.StatusError) {
	configMaps := corev1.Resource("configmaps")
	namespace, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/configmaps")
	key := namespace + name // the name begins with a slash
	var sent *corev1.ConfigMap
	version := ""
	if r.Method != http.MethodGet {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &metav1.DeleteOptions{})
		switch o := object.(type) {
		case *corev1.ConfigMap:
			sent, version = o, o.ResourceVersion
			key = namespace + "/" + o.Name
		case *metav1.DeleteOptions:
			version = *o.Preconditions.ResourceVersion
		default:
			return nil, apierrors.NewBadRequest(fmt.Sprint(err))
		}
	}
	old, ok := s.configMaps[key]
	switch {
	case r.Method == http.MethodPost && ok:
		return nil, apierrors.NewAlreadyExists(configMaps, key)
	case r.Method != http.MethodPost && !ok:
		return nil, apierrors.NewNotFound(configMaps, key)
	case ok && r.Method != http.MethodGet && version != old.ResourceVersion:
		return nil, apierrors.NewConflict(configMaps, key, fmt.Errorf("version %q, not %q", old.ResourceVersion, version))
	}
	switch r.Method {
	case http.MethodPost, http.MethodPut:
		s.storeConfigMap(sent)
		return sent.DeepCopy(), nil
	case http.MethodDelete:
		s.version++
		delete(s.configMaps, key)
		return &metav1.Status{Status: metav1.StatusSuccess}, nil
	}
	return old.DeepCopy(), nil
}

func (s *apiServer) storeConfigMap(cm *corev1.ConfigMap) {
	s.version++
	cm.ResourceVersion = fmt.Sprint(s.version)
	s.configMaps[cm.Namespace+"/"+cm.Name] = cm
}

// machines is what the ConfigMap of machines without a node says; nil if there is
// none.
func (s *apiServer) machines(namespace string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	cm, ok := s.configMaps[namespace+"/"+machinesConfigMap]
	if !ok {
		return nil
	}
	data := map[string]string{}
	maps.Copy(data, cm.Data)
	return data
}

func (s *apiServer) list(asMetadata bool) runtime.Object {
	version := fmt.Sprint(s.version)
	if !asMetadata {
		list := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
		for _, n := range s.nodes { // in no order, on purpose
			list.Items = append(list.Items, *n.DeepCopy())
		}
		return list
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, n := range s.nodes {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: *n.ObjectMeta.DeepCopy()})
	}
	return list
}

var metaScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(s); err != nil {
		panic(err)
	}
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	return s
}()

func (s *apiServer) answer(
	w http.ResponseWriter, r *http.Request, object runtime.Object, refused *apierrors.StatusError,
) {
	code := http.StatusOK
	if refused != nil {
		status := refused.Status()
		object, code = &status, int(status.Code)
		if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(d.RetryAfterSeconds))
		}
	}
	typer := scheme.Scheme
	switch object.(type) {
	case *metav1.PartialObjectMetadataList, *metav1.Status:
		typer = metaScheme
	}
	kinds, _, err := typer.ObjectKinds(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotAcceptable)
		return
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	if !strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(object)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	w.WriteHeader(code)
	protobuf.NewSerializer(typer, typer).Encode(object, w)
}
