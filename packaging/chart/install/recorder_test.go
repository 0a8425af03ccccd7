package install

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// use is what one account has asked of one kind of object: what RBAC decides on.
type use struct {
	verb, group, resource string // the resource with its subresource
	namespace, name       string
}

func (u use) String() string {
	return fmt.Sprintf("%s %s.%s %s/%s",
		u.verb, u.resource, cmp.Or(u.group, "core"), cmp.Or(u.namespace, "*"), cmp.Or(u.name, "*"))
}

// recorder stands between one account and the API server, and keeps what is asked, and
// what of it was forbidden.
type recorder struct {
	server *httptest.Server

	mu        sync.Mutex
	uses      map[use]bool
	forbidden map[use]bool
}

// record starts one. Like an API server before 1.32 it refuses to send a list as a watch,
// so that clients list, too.
func record(t *testing.T, admin *rest.Config) *recorder {
	t.Helper()
	target, err := url.Parse(admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	// The account's token goes along; the administrator's certificate must not.
	transport, err := rest.TransportFor(&rest.Config{
		Host: admin.Host, TLSClientConfig: rest.TLSClientConfig{CAFile: admin.CAFile, CAData: admin.CAData},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{uses: map[use]bool{}, forbidden: map[use]bool{}}
	infos := &request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ModifyResponse: func(response *http.Response) error {
			info, err := infos.NewRequestInfo(response.Request)
			if err != nil || !info.IsResourceRequest {
				return err
			}
			r.saw(info, response.StatusCode == http.StatusForbidden)
			return nil
		},
	}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Query().Get("sendInitialEvents") == "true" {
			refuse(w)
			return
		}
		proxy.ServeHTTP(w, request)
	}))
	// Clients send tokens over TLS alone.
	r.server.EnableHTTP2 = true
	r.server.StartTLS()
	t.Cleanup(r.server.CloseClientConnections)
	return r
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Reason:   metav1.StatusReasonInvalid,
		Code:     http.StatusUnprocessableEntity,
		Message:  "sendInitialEvents: Forbidden: not supported by this server",
	})
}

func (r *recorder) saw(info *request.RequestInfo, forbidden bool) {
	u := use{info.Verb, info.APIGroup, info.Resource, info.Namespace, info.Name}
	if info.Subresource != "" {
		u.resource += "/" + info.Subresource
	}
	if info.Verb == "create" { // RBAC does not know the name then
		u.name = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uses[u] = true
	if forbidden {
		r.forbidden[u] = true
	}
}

// all are the uses so far, and those that were forbidden, in order.
func (r *recorder) all() (uses, forbidden []use) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sorted := func(m map[use]bool) []use {
		var out []use
		for u := range m {
			out = append(out, u)
		}
		slices.SortFunc(out, func(a, b use) int { return cmp.Compare(a.String(), b.String()) })
		return out
	}
	return sorted(r.uses), sorted(r.forbidden)
}
