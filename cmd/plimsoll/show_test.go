package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// reviewer is an API server that knows admin and tenant by their tokens, and has pods in the namespace autoscaling.
type reviewer struct {
	t *testing.T
	// forbids: pods may not be listed.
	forbids bool
	pods    []corev1.Pod

	mu    sync.Mutex
	asked []string
}

func (s *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	var answer any
	status := http.StatusCreated
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		var review authenticationv1.TokenReview
		s.read(r, &review)
		who := strings.TrimSuffix(review.Spec.Token, "-token")
		review.Status.Authenticated, review.Status.User.Username = who == "admin" || who == "tenant", who
		answer = review
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		var review authorizationv1.SubjectAccessReview
		s.read(r, &review)
		path, pod := review.Spec.NonResourceAttributes, review.Spec.ResourceAttributes
		review.Status.Allowed = review.Spec.User == "admin" && path != nil && path.Verb == "get" ||
			review.Spec.User == "tenant" && pod != nil && *pod == authorizationv1.ResourceAttributes{Namespace: "shop",
				Name: "web-000001", Verb: "get", Resource: "pods", Version: "v1"}
		answer = review
	case "/api/v1/namespaces/autoscaling/pods":
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		for _, p := range s.pods {
			if r.URL.Query().Get("fieldSelector") == "metadata.name="+p.Name {
				list.Items = append(list.Items, p)
			}
		}
		status, answer = http.StatusOK, list
		if s.forbids {
			refused := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no right"))
			status, answer = http.StatusForbidden, refused.Status()
		}
	default:
		s.t.Errorf("it is asked for %s", r.URL)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

// took gives what it was asked since the last time.
func (s *reviewer) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *reviewer) read(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		s.t.Error(err)
	}
}

// reached gives the configuration of a client of it.
func (s *reviewer) reached() *rest.Config {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}}
}

// told is what a log says at a message, as the text of one attribute.
func told(t *testing.T, log *bytes.Buffer, message, attribute string) string {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record["msg"] == message {
			text, _ := record[attribute].(string)
			return text
		}
	}
	return ""
}

// The page on the loopback is there unless the pod shares its node's network, which counts as so where it cannot be
// found out. A port that is taken is told. None of that stops the autoscaler.
func TestThePageOnTheLoopback(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	here := func(name string, host bool) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "autoscaling", Name: name},
			Spec: corev1.PodSpec{HostNetwork: host}}
	}
	own, others := here("plimsoll-0", false), here("plimsoll-1", true)
	for _, step := range []struct {
		name, address, pod string // named by its environment; -: it has no such environment
		api                *reviewer
		why                string
	}{
		{"on a machine", "127.0.0.1:0", "", &reviewer{}, ""},
		{"in a pod", "127.0.0.1:0", "plimsoll-0", &reviewer{pods: []corev1.Pod{own, others}}, ""},
		{"in its node's network", "127.0.0.1:0", "plimsoll-1", &reviewer{pods: []corev1.Pod{own, others}}, "the pod shares its node's network"},
		{"in a pod that it cannot look up", "127.0.0.1:0", "plimsoll-0", &reviewer{forbids: true}, "it is not known whether"},
		{"in a pod of another cluster", "127.0.0.1:0", "plimsoll-0", &reviewer{pods: []corev1.Pod{others}}, "has no pod autoscaling/plimsoll-0"},
		{"in a pod without a name", "127.0.0.1:0", "-", &reviewer{pods: []corev1.Pod{own}}, "no POD_NAME and POD_NAMESPACE"},
		{"on a taken port", taken.Addr().String(), "", &reviewer{}, "address already in use"},
		{"nowhere", "", "", &reviewer{}, ""},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", map[bool]string{true: "127.0.0.1"}[step.pod != ""])
			t.Setenv("KUBERNETES_SERVICE_PORT", "1")
			t.Setenv("POD_NAME", strings.TrimPrefix(step.pod, "-"))
			t.Setenv("POD_NAMESPACE", map[bool]string{true: "autoscaling"}[strings.HasPrefix(step.pod, "plimsoll")])
			step.api.t = t
			var log bytes.Buffer
			c := config.Defaults()
			c.Page.Address = step.address
			shown, err := show(t.Context(), c, config.Mode{}, step.api.reached(), prometheus.NewRegistry(),
				slog.New(slog.NewJSONHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer shown.stop()
			shown.leader("plimsoll-1_uid", false)
			if why := told(t, &log, "there is no page; everything else works", "why"); !strings.Contains(why, step.why) ||
				(why == "") != (step.why == "") {
				t.Errorf("it says %q:\n%s", why, &log)
			}
			url := told(t, &log, "the page is served", "url")
			if step.why != "" || step.address == "" {
				if url != "" {
					t.Errorf("there is a page at %s", url)
				}
				return
			}
			var e ui.Envelope
			served := page{base: strings.TrimSuffix(url, "/"), client: http.DefaultClient}
			err = served.fetch(t.Context(), "/api/v1/state", &e)
			if err != nil || e.Leader != "plimsoll-1" {
				t.Error(err, e)
			}
			r, err := http.NewRequest(http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "rebound.example"
			if res, err := http.DefaultClient.Do(r); err != nil || res.StatusCode != http.StatusForbidden {
				t.Error("a request for another host:", res, err)
			}
		})
	}
}

// On an address that other machines reach, the page speaks TLS, and the API server is asked who sends a token, and
// about every request whether they may. A tenant has their own pods explained, and sees no name of other tenants.
func TestThePageElsewhere(t *testing.T) {
	api := &reviewer{t: t}
	client, err := kubernetes.NewForConfig(api.reached())
	if err != nil {
		t.Fatal(err)
	}
	c := config.Defaults()
	c.Page.Address = ":8443"
	folder := t.TempDir()
	c.Page.CertFile, c.Page.KeyFile = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	trusted := certified(t, c.Page)
	base := elsewhere(t, c, client)
	ask := func(pool *x509.CertPool, token, path string) (int, string, error) {
		r, err := http.NewRequest(http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
		res, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return res.StatusCode, string(body), err
	}
	const reviewed, allowed = "POST /apis/authentication.k8s.io/v1/tokenreviews",
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews"
	for _, step := range []struct {
		token, path string
		want        int
		asked       []string
	}{
		{"", "/", 401, nil},
		{"stranger-token", "/", 401, []string{reviewed}},
		{"admin-token", "/", 200, []string{reviewed, allowed}},
		{"admin-token", "/api/v1/nodes", 200, []string{allowed}},
		{"tenant-token", "/", 403, []string{reviewed, allowed}},
		{"tenant-token", "/api/v1/pods", 403, []string{allowed}},
		{"tenant-token", "/pod/shop/web-000001", 403, []string{allowed}},
		{"tenant-token", "/api/v1/explain/pod/other/db-000001", 403, []string{allowed, allowed}},
		{"tenant-token", "/api/v1/explain/pod/shop/web-000001", 200, []string{allowed, allowed}},
	} {
		status, body, err := ask(trusted, step.token, step.path)
		asked := api.took()
		if err != nil || status != step.want || !slices.Equal(asked, step.asked) {
			t.Errorf("%s asks for %s: %d, %v; the API server was asked %q", step.token, step.path, status, err, asked)
		}
		if step.token == "tenant-token" && status == http.StatusOK &&
			(strings.Contains(body, "other/") || !strings.Contains(body, "(another namespace's)")) {
			t.Errorf("the tenant sees names of others, or what they hide is not told:\n%s", body)
		}
	}
	res, err := http.Get(strings.Replace(base, "https", "http", 1))
	if err != nil || res.StatusCode != http.StatusBadRequest {
		t.Error("without TLS:", res, err)
	}
	// The next connection has the new certificate.
	renewed := certified(t, c.Page)
	if _, _, err := ask(trusted, "admin-token", "/"); err == nil {
		t.Error("the old certificate is still used")
	}
	if status, _, err := ask(renewed, "admin-token", "/"); err != nil || status != http.StatusOK {
		t.Error("with the new certificate:", status, err)
	}
	// Without files it has one of its own, and with files that cannot be read there is no page.
	c.Page.CertFile, c.Page.KeyFile = "", ""
	own, err := tls.Dial("tcp", strings.TrimPrefix(elsewhere(t, c, client), "https://"),
		&tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	own.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Page.CertFile, c.Page.KeyFile = "none", "none"
	if _, err := servePage(t.Context(), listener, c.Page, nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a certificate that is not there is none")
	}
}

// elsewhere serves the page as on its address, which other machines reach, but on the loopback.
func elsewhere(t *testing.T, c config.Config, client kubernetes.Interface) string {
	t.Helper()
	scenario := testkit.NewScenario()
	if err := scenario.Add(`
		group general max=2 cpu=4 memory=16Gi
		node n1 group=general
		pods web count=1 cpu=100m memory=1Gi node=n1 namespace=shop
		pods db count=1 cpu=100m memory=1Gi node=n1 namespace=other evict=false
	`); err != nil {
		t.Fatal(err)
	}
	snap := scenario.Snapshot(c.Policy)
	var d decide.Decider
	defer d.Close()
	cycle := model.Cycle{Snapshot: snap, Plan: d.Decide(snap, c.Policy), Policy: c.Policy, Decided: true}
	log := slog.New(slog.DiscardHandler)
	page := ui.New(pageSettings(c, config.Mode{}, client),
		decisions.New(1, 1<<20, nil, prometheus.NewRegistry()), log)
	page.Leader("plimsoll-0", true)
	if err := page.Report(context.Background(), cycle); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop, err := servePage(context.Background(), listener, c.Page, page.Handler(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return "https://" + listener.Addr().String()
}

// certified writes a new certificate into the page's files, and gives those who trust it.
func certified(t *testing.T, c config.Page) *x509.CertPool {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{c.CertFile: certificate, c.KeyFile: key} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return pool
}
