package kubetest

import (
	"fmt"
	"strconv"
	"strings"
)

// serve carries a request out.
func (a *API) serve(c call) (Object, *status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance()
	k := Key{c.resource.Kind, c.namespace, c.name}
	switch c.verb {
	case "list":
		return a.list(c), nil
	case "create":
		return a.create(c)
	}
	old := a.objects.Get(k)
	if old == nil {
		return nil, notFound(fmt.Sprintf("%s %q", c.resource.Plural, c.name))
	}
	if c.sub != "" && (c.sub != "scale" || !c.resource.Scale) {
		return nil, notFound(c.what())
	}
	shown := a.show(old, c)
	if c.sub == "scale" {
		shown = scaleOf(old)
	}
	switch c.verb {
	case "get":
		return shown, nil
	case "delete":
		if bad := c.precondition(old); bad != nil {
			return nil, bad
		}
		a.objects.Delete(k)
		a.changed()
		return Object{"kind": "Status", "apiVersion": "v1", "status": "Success"}, nil
	}
	sent, bad := c.sent(shown)
	if bad != nil {
		return nil, bad
	}
	if version := Text(sent, "metadata", "resourceVersion"); version != "" &&
		version != Text(old, "metadata", "resourceVersion") {
		return nil, &status{code: 409, reason: "Conflict", message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: "+
			"the object has been modified; please apply your changes to the latest version and try again",
			c.resource.Plural, c.name)}
	}
	next := Clone(old)
	if c.sub == "scale" {
		replicas, ok := Get(sent, "spec", "replicas").(int64)
		if !ok || replicas < 0 {
			return nil, &status{code: 422, reason: "Invalid", message: "spec.replicas must be set and not negative"}
		}
		Set(next, replicas, "spec", "replicas")
	} else {
		next = a.dialect.Take(next, sent, c.resource)
	}
	a.objects.Put(next)
	a.changed()
	now := a.objects.Get(k)
	switch {
	case now == nil:
		return a.show(next, c), nil
	case c.sub == "scale":
		return scaleOf(now), nil
	}
	return a.show(now, c), nil
}

// precondition is what a delete asks of the object to be, if it does.
func (c call) precondition(old Object) *status {
	options, _ := Decode(c.body) // there need not be any
	for _, field := range []string{"uid", "resourceVersion"} {
		if want := Text(options, "preconditions", field); want != "" && want != Text(old, "metadata", field) {
			message := fmt.Sprintf("precondition failed: the %s is %s, not %s", field, Text(old, "metadata", field), want)
			return &status{code: 409, reason: "Conflict", message: message}
		}
	}
	return nil
}

func (a *API) show(o Object, c call) Object {
	return a.dialect.Show(Clone(o), c.resource, c.version)
}

// sent is the object that a write would leave: the body of an update, or a patch
// applied to what is there.
func (c call) sent(shown Object) (Object, *status) {
	if c.verb == "patch" && c.content != "" && c.content != "application/merge-patch+json" {
		return nil, &status{
			code: 415, reason: "UnsupportedMediaType", message: c.content + ": only JSON merge patches are understood here",
		}
	}
	body, err := Decode(c.body)
	if err != nil {
		return nil, &status{code: 400, reason: "BadRequest", message: err.Error()}
	}
	if c.verb == "update" {
		return body, nil
	}
	out := Clone(shown)
	merge(out, body)
	return out, nil
}

// merge applies a JSON merge patch (RFC 7386).
func merge(into, patch Object) {
	for name, value := range patch {
		inner, isObject := value.(Object)
		old, wasObject := into[name].(Object)
		switch {
		case value == nil:
			delete(into, name)
		case isObject && wasObject:
			merge(old, inner)
		case isObject:
			fresh := Object{}
			merge(fresh, inner) // without its nulls
			into[name] = fresh
		default:
			into[name] = value
		}
	}
}

func (a *API) create(c call) (Object, *status) {
	sent, err := Decode(c.body)
	if err != nil {
		return nil, &status{code: 400, reason: "BadRequest", message: err.Error()}
	}
	Set(sent, c.namespace, "metadata", "namespace")
	if a.objects.Get(KeyOf(sent)) != nil {
		return nil, &status{code: 409, reason: "AlreadyExists", message: "it is there already"}
	}
	a.objects.Put(sent)
	a.changed()
	return Clone(sent), nil
}

// list is in no order, on purpose.
func (a *API) list(c call) Object {
	items := []any{}
	more := ""
	for k, o := range a.objects.objects {
		if k.Kind != c.resource.Kind || c.namespace != "" && k.Namespace != c.namespace || !selects(c.selector, o) {
			continue
		}
		if c.limit > 0 && len(items) == c.limit {
			more = "more"
			break
		}
		items = append(items, a.show(o, c))
	}
	meta := Object{"resourceVersion": strconv.Itoa(a.objects.version)}
	if more != "" {
		meta["continue"] = more
	}
	if c.metadata {
		for i := range items {
			items[i] = Object{"metadata": items[i].(Object)["metadata"]}
		}
		return Object{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "items": items}
	}
	return Object{"kind": c.resource.Kind + "List", "apiVersion": strings.TrimPrefix(c.resource.Group+"/"+c.version, "/"),
		"metadata": meta, "items": items}
}

// selects knows equality, which is all that anybody asks for here.
func selects(selector string, o Object) bool {
	labels, _ := Get(o, "metadata", "labels").(Object)
	for term := range strings.SplitSeq(selector, ",") {
		key, value, _ := strings.Cut(term, "=")
		if term != "" && labels[key] != value {
			return false
		}
	}
	return true
}

func scaleOf(o Object) Object {
	meta := Object{}
	for _, field := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		meta[field] = Text(o, "metadata", field)
	}
	scale := Object{"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": Object{},
		"status": Object{"replicas": int64(Int(o, "status", "replicas"))}}
	if n := Int(o, "spec", "replicas"); n > 0 { // the type's tag leaves a zero out
		Set(scale, int64(n), "spec", "replicas")
	}
	return scale
}
