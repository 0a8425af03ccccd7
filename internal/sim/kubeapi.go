package sim

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is the API server as act's client calls it: a real clientset over a transport that reads
// and writes the truth. It serves what act asks for: nodes by GET, PUT and LIST, pods by LIST, and
// evictions.

// kubeAPI is the transport of the world's clientset.
type kubeAPI struct{ w *world }

// codec is how clientset and API server talk.
var codec = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// clientset is a client of the world's API server. Whose requests are sent is in their context.
func (w *world) clientset() kubernetes.Interface {
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{
		Host: "http://sim", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf},
	}, &http.Client{Transport: kubeAPI{w}})
	w.wrong(err)
	return client
}

// RoundTrip sends a request, and hands back what the API server answers.
func (k kubeAPI) RoundTrip(req *http.Request) (*http.Response, error) {
	ask, err := readAsk(req)
	if err != nil {
		k.w.wrong(err)
		return nil, err
	}
	from := req.Context().Value(deadlineKey{}).(deadline)
	answer, err := k.w.ask(from, ask)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if s, ok := answer.(*metav1.Status); ok {
		status = int(s.Code)
	}
	var body bytes.Buffer
	if err := codec.Encode(answer, &body); err != nil {
		return nil, fmt.Errorf("encode the answer to %s %s: %w", req.Method, req.URL, err)
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: req, Body: io.NopCloser(&body),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {runtime.ContentTypeProtobuf}},
	}, nil
}

// ask is one request to the API server.
type ask struct {
	method, resource string
	id               podName // of a node only the name
	query            url.Values
	node             *corev1.Node       // that is put
	eviction         *policyv1.Eviction // that is posted
}

// readAsk reads a request: /api/v1/nodes[/NAME], /api/v1/[namespaces/NS/]pods[/NAME/eviction].
func readAsk(req *http.Request) (ask, error) {
	a := ask{method: req.Method, query: req.URL.Query()}
	words := strings.Split(strings.TrimPrefix(req.URL.Path, "/api/v1/"), "/")
	if words[0] == "namespaces" && len(words) > 2 {
		a.id.namespace, words = words[1], words[2:]
	}
	a.resource = words[0]
	if len(words) > 1 {
		a.id.name = words[1]
	}
	if len(words) > 2 {
		a.resource += "/" + words[2]
	}
	if req.Body == nil {
		return a, nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return a, fmt.Errorf("read the body of %s %s: %w", req.Method, req.URL, err)
	}
	object, _, err := codec.Decode(body, nil, nil)
	if err != nil {
		return a, fmt.Errorf("decode the body of %s %s: %w", req.Method, req.URL, err)
	}
	a.node, _ = object.(*corev1.Node)
	a.eviction, _ = object.(*policyv1.Eviction)
	return a, nil
}

// ask sends one request and returns the API server's answer, a *metav1.Status if it refuses.
func (w *world) ask(from deadline, a ask) (answer runtime.Object, err error) {
	if w.suffers(apiDown) != nil {
		return nil, w.unreachable(from)
	}
	took := w.delayed(w.settings.Lags.API.draw(w.dice.api))
	r, f := request{took: took, serve: func() { answer = w.answers(a) }}, (*fault)(nil)
	switch {
	case a.node != nil:
		old := w.truth.object(a.id.name)
		verb := model.Annotate
		if old != nil {
			verb = verbOf(old, a.node)
		}
		r, f = w.meetWrite(verb, w.groupOf(a.id.name), took, func() { answer = w.put(a.node) })
	case a.eviction != nil:
		r, f = w.meetWrite(model.Evict, w.groupOf(w.truth.seats[a.id].node), took,
			func() { answer = w.evictBy(a.id, a.eviction) })
	}
	if err := from.send(r); err != nil {
		return nil, err
	}
	if f != nil {
		return refusedBy(f, a), nil
	}
	return answer, nil
}

// answers serves a request that reads.
func (w *world) answers(a ask) runtime.Object {
	seen := w.served()
	version := metav1.ListMeta{ResourceVersion: strconv.FormatUint(w.version, 10)}
	switch {
	case a.resource == "nodes" && a.id.name != "":
		if n := seen.object(a.id.name); n != nil {
			return kinded(n)
		}
		return status(apierrors.NewNotFound(corev1.Resource("nodes"), a.id.name))
	case a.resource == "nodes":
		list := &corev1.NodeList{TypeMeta: typeMeta("NodeList"), ListMeta: version}
		all := seen.observed()
		from, _ := strconv.Atoi(a.query.Get("continue"))
		to := len(all)
		if limit, _ := strconv.Atoi(a.query.Get("limit")); limit > 0 && from+limit < to {
			to = from + limit
			list.Continue = strconv.Itoa(to)
		}
		for _, o := range all[min(from, to):to] {
			list.Items = append(list.Items, *o.Object)
		}
		return list
	case a.resource == "pods":
		list := &corev1.PodList{TypeMeta: typeMeta("PodList"), ListMeta: version}
		selector, err := fields.ParseSelector(a.query.Get("fieldSelector"))
		w.wrong(err)
		if node, ok := selector.RequiresExactMatch("spec.nodeName"); ok {
			for _, p := range seen.podsOn(node) {
				list.Items = append(list.Items, w.listedPod(w.catalog.Contents().Specs[p.Spec].Pod.Namespace, node, p))
			}
		} else if name, ok := selector.RequiresExactMatch(metav1.ObjectNameField); ok {
			if s, there := seen.seats[podName{a.id.namespace, name}]; there {
				list.Items = append(list.Items, w.listedPod(a.id.namespace, s.node, s.pod))
			}
		}
		return list
	}
	w.wrong(fmt.Errorf("the API server was asked for %s %s", a.method, a.resource))
	return status(apierrors.NewMethodNotSupported(corev1.Resource(a.resource), a.method))
}

// put replaces a node if it has not changed since it was read. Its status is not written with it.
func (w *world) put(n *corev1.Node) runtime.Object {
	old := w.truth.object(n.Name)
	if old == nil {
		return status(apierrors.NewNotFound(corev1.Resource("nodes"), n.Name))
	}
	if old = w.others(old); old.ResourceVersion != n.ResourceVersion {
		return status(apierrors.NewConflict(corev1.Resource("nodes"), n.Name,
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again")))
	}
	n = n.DeepCopy()
	n.TypeMeta, n.Status, n.CreationTimestamp = metav1.TypeMeta{}, old.Status, old.CreationTimestamp
	if sameNode(old, n) {
		return kinded(old)
	}
	verb := verbOf(old, n)
	w.judge.ours = true
	n = w.putNode(n)
	w.judge.ours = false
	w.wrote(verb)
	return kinded(n)
}

// verbOf tells what a write on a node is by what it changes.
func verbOf(old, n *corev1.Node) model.Verb {
	was, is := old.Annotations[model.AnnotationRemoval], n.Annotations[model.AnnotationRemoval]
	marked, marks := model.HasTaint(old, model.TaintCandidate), model.HasTaint(n, model.TaintCandidate)
	switch {
	case model.HasTaint(old, model.TaintToBeDeleted) && !model.HasTaint(n, model.TaintToBeDeleted), was != "" && is == "":
		return model.Untaint
	case n.Spec.Unschedulable && !old.Spec.Unschedulable:
		return model.Cordon
	case was != is:
		return model.Taint
	case marks && !marked:
		return model.Mark
	case marked && !marks:
		return model.Unmark
	}
	return model.Annotate
}

// evictBy is the Eviction API. What it allows is counted against the pod's budget there and then, so
// that no two evictions use the same disruption.
func (w *world) evictBy(id podName, e *policyv1.Eviction) runtime.Object {
	s, there := w.truth.seats[id]
	if !there {
		return status(apierrors.NewNotFound(corev1.Resource("pods"), id.name))
	}
	options := e.DeleteOptions
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != s.pod.UID {
		return status(apierrors.NewConflict(corev1.Resource("pods"), id.name,
			fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s)", *p.UID, s.pod.UID)))
	}
	done := &metav1.Status{TypeMeta: typeMeta("Status"), Status: metav1.StatusSuccess, Code: http.StatusCreated}
	if s.pod.Flags&model.Terminating != 0 {
		return done
	}
	if s.node != "" {
		if err := w.disrupt(s, w.covering(s)); err != nil {
			return status(err)
		}
	}
	grace := w.graceOf(s)
	if options.GracePeriodSeconds != nil {
		grace = time.Duration(*options.GracePeriodSeconds) * time.Second
	}
	w.log.count(s.node, "pods evicted")
	w.judge.evicts = "evict/" + id.namespace + "/" + id.name
	w.endPod(id, grace)
	w.judge.evicts = ""
	w.wrote(model.Evict)
	return done
}

// disrupt uses one disruption of the budget about a pod, or says why there is none.
func (w *world) disrupt(s seat, budgets []*budget) *apierrors.StatusError {
	switch {
	case len(budgets) == 0:
		return nil
	case len(budgets) > 1:
		return apierrors.NewInternalError(
			fmt.Errorf("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support"))
	}
	b := budgets[0]
	refused := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	cause := metav1.StatusCause{Type: policyv1.DisruptionBudgetCause,
		Message: fmt.Sprintf("the disruption budget %s needs %s", b.id.name, b.detail)}
	switch {
	case !b.synced:
		cause.Message = fmt.Sprintf("the disruption budget %s is still being processed by the server", b.id.name)
		refused.ErrStatus.Details.RetryAfterSeconds = 10
	case b.allowed > 0:
		b.allowed--
		b.disrupted[s.pod.UID] = w.now
		w.tellBudget(b)
		return nil
	}
	refused.ErrStatus.Details.Causes = append(refused.ErrStatus.Details.Causes, cause)
	return refused
}

// refusedBy is what a fault makes the API server answer.
func refusedBy(f *fault, a ask) runtime.Object {
	of, why := corev1.Resource(a.resource), fmt.Errorf("%s", f)
	switch f.Err.Kind {
	case provider.Throttled:
		return status(apierrors.NewTooManyRequests(f.String(), 0))
	case provider.Conflict:
		return status(apierrors.NewConflict(of, a.id.name, why))
	case provider.Denied, provider.Quota, provider.NoCapacity, provider.Limit:
		return status(apierrors.NewForbidden(of, a.id.name, why))
	case provider.Credentials:
		return status(apierrors.NewUnauthorized(f.String()))
	case provider.Unavailable:
		return status(apierrors.NewServiceUnavailable(f.String()))
	}
	return status(apierrors.NewInternalError(why))
}

// groupOf is the group of a node's machine, nil if it has none.
func (w *world) groupOf(node string) *group {
	for _, m := range w.machines {
		if m.node == node && node != "" {
			return m.group
		}
	}
	return nil
}

// listedPod is what act reads of a pod: who it is, whether it ends, and whether it may be lost.
func (w *world) listedPod(namespace, node string, p model.Pod) corev1.Pod {
	priority := w.catalog.Contents().Specs[p.Spec].Priority
	out := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name, UID: p.UID},
		Spec:       corev1.PodSpec{NodeName: node, Priority: &priority},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if p.Flags&model.Terminating != 0 {
		ends := metav1.NewTime(time.Unix(p.Ends, 0))
		out.DeletionTimestamp = &ends
	}
	if p.Flags&model.Mirror != 0 {
		out.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "static"}
	}
	if p.Flags&model.Finished != 0 {
		out.Status.Phase = corev1.PodSucceeded
	}
	if p.Flags&model.FromDaemonSet != 0 {
		yes := true
		out.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "DaemonSet", UID: p.Owner, Controller: &yes}}
	}
	return out
}

func typeMeta(kind string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: "v1"} }

// kinded is a node as it is sent. The world's own is not changed.
func kinded(n *corev1.Node) *corev1.Node {
	out := *n
	out.TypeMeta = typeMeta("Node")
	return &out
}

func status(err *apierrors.StatusError) *metav1.Status {
	s := err.ErrStatus
	s.TypeMeta = typeMeta("Status")
	return &s
}
