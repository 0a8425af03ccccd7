package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// configMaps is an API server that has ConfigMaps and nothing else.
type configMaps struct {
	mu      sync.Mutex
	objects map[string]*corev1.ConfigMap // by path
	version int
}

// servingConfigMaps gives the URL of such a server, with these objects in it.
func servingConfigMaps(t *testing.T, objects ...*corev1.ConfigMap) (url string) {
	t.Helper()
	c := &configMaps{objects: map[string]*corev1.ConfigMap{}}
	for _, o := range objects {
		c.objects[path.Join("/api/v1/namespaces", o.Namespace, "configmaps", o.Name)] = o
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return server.URL
}

func (c *configMaps) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, sent := r.URL.Path, &corev1.ConfigMap{}
	if r.Method != http.MethodGet {
		body, err := io.ReadAll(r.Body)
		if err == nil { // clients write protobuf
			_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, sent)
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
	}
	if r.Method == http.MethodPost {
		at = path.Join(at, sent.Name)
	}
	old := c.objects[at]
	switch {
	case r.Method == http.MethodPost && old != nil:
		refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, at+" already exists")
		return
	case r.Method != http.MethodPost && old == nil || !strings.Contains(at, "/configmaps/"):
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, at+" not found")
		return
	case r.Method == http.MethodPut && sent.ResourceVersion != old.ResourceVersion:
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict, at+" has been modified")
		return
	case r.Method != http.MethodGet:
		c.version++
		sent.ResourceVersion = strconv.Itoa(c.version)
		c.objects[at] = sent
	}
	answer(w, http.StatusOK, c.objects[at])
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	answer(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
}

func answer(w http.ResponseWriter, code int, object any) {
	if m, ok := object.(*corev1.ConfigMap); ok {
		m.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client has gone
}
