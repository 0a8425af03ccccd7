package clusterapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// serve carries a request out.
func (w *World) serve(c call) (Object, *status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance()
	k := key{c.resource.Kind, c.namespace, c.name}
	if c.verb == "list" {
		return w.list(c), nil
	}
	if c.verb == "create" {
		return w.create(c)
	}
	old, ok := w.objects[k]
	if !ok {
		return nil, notFound(fmt.Sprintf("%s %q", c.resource.Plural, c.name))
	}
	if c.sub == "scale" && !c.resource.Scale {
		return nil, notFound(c.what())
	}
	if c.sub != "" && c.sub != "scale" {
		return nil, notFound(c.what())
	}
	shown := convert(clone(old), c.resource, c.version)
	if c.sub == "scale" {
		shown = scaleOf(old)
	}
	var sent Object
	switch c.verb {
	case "get":
		return shown, nil
	case "delete":
		w.delete(k)
		w.changed()
		w.advance()
		return Object{"kind": "Status", "apiVersion": "v1", "status": "Success"}, nil
	case "update":
		if err := json.Unmarshal(c.body, &sent); err != nil {
			return nil, &status{code: 400, reason: "BadRequest", message: err.Error()}
		}
	case "patch":
		var err error
		if sent, err = merged(shown, c.body); err != nil {
			return nil, &status{code: 400, reason: "BadRequest", message: err.Error()}
		}
	}
	numbers(sent)
	if version := getText(sent, "metadata", "resourceVersion"); version != "" && version != getText(old, "metadata", "resourceVersion") {
		return nil, &status{code: 409, reason: "Conflict", message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: the object has been modified; please apply your changes to the latest version and try again", c.resource.Plural, c.name)}
	}
	next := clone(old)
	switch {
	case c.sub == "scale":
		replicas, ok := get(sent, "spec", "replicas").(int64)
		if !ok || replicas < 0 {
			return nil, &status{code: 422, reason: "Invalid", message: "spec.replicas must be set and not negative"}
		}
		set(next, replicas, "spec", "replicas")
	case c.resource.Group == Group:
		// Of what is sent only that is taken which a client may write; spec of
		// v1beta1 has other names for some of it.
		for _, field := range []string{"annotations", "labels", "finalizers"} {
			set(next, get(sent, "metadata", field), "metadata", field)
		}
		if replicas, ok := get(sent, "spec", "replicas").(int64); ok {
			set(next, replicas, "spec", "replicas")
		}
	default:
		next = sent
	}
	w.put(next)
	w.changed()
	w.advance()
	now, ok := w.objects[k]
	switch {
	case !ok:
		return convert(next, c.resource, c.version), nil
	case c.sub == "scale":
		return scaleOf(now), nil
	}
	return convert(clone(now), c.resource, c.version), nil
}

func (w *World) create(c call) (Object, *status) {
	var sent Object
	if err := json.Unmarshal(c.body, &sent); err != nil {
		return nil, &status{code: 400, reason: "BadRequest", message: err.Error()}
	}
	numbers(sent)
	setText(sent, c.namespace, "metadata", "namespace")
	if _, ok := w.objects[keyOf(sent)]; ok {
		return nil, &status{code: 409, reason: "AlreadyExists", message: "it is there already"}
	}
	w.put(sent)
	w.changed()
	w.advance()
	return clone(sent), nil
}

// list is in no order, on purpose.
func (w *World) list(c call) Object {
	items := []any{}
	more := ""
	for k, o := range w.objects {
		if k.kind != c.resource.Kind || c.namespace != "" && k.namespace != c.namespace || !selects(c.selector, o) {
			continue
		}
		if c.limit > 0 && len(items) == c.limit {
			more = "more"
			break
		}
		items = append(items, convert(clone(o), c.resource, c.version))
	}
	meta := Object{"resourceVersion": strconv.Itoa(w.version)}
	if more != "" {
		meta["continue"] = more
	}
	return Object{"kind": c.resource.Kind + "List", "apiVersion": c.resource.Group + "/" + c.version, "metadata": meta, "items": items}
}

// selects knows equality, which is all that anybody asks for here.
func selects(selector string, o Object) bool {
	labels, _ := get(o, "metadata", "labels").(Object)
	for term := range strings.SplitSeq(selector, ",") {
		key, value, _ := strings.Cut(term, "=")
		if term != "" && labels[key] != value {
			return false
		}
	}
	return true
}

// delete begins or completes a deletion.
func (w *World) delete(k key) {
	o := clone(w.objects[k])
	if held, _ := get(o, "metadata", "finalizers").([]any); len(held) == 0 {
		w.remove(k)
		return
	}
	if getText(o, "metadata", "deletionTimestamp") == "" {
		setText(o, w.now().UTC().Format(time.RFC3339), "metadata", "deletionTimestamp")
		w.put(o)
	}
}

func scaleOf(o Object) Object {
	meta := Object{}
	for _, field := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		meta[field] = getText(o, "metadata", field)
	}
	scale := Object{"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": Object{}, "status": Object{"replicas": int64(getInt(o, "status", "replicas"))}}
	if n := getInt(o, "spec", "replicas"); n > 0 { // the type's tag leaves a zero out
		set(scale, int64(n), "spec", "replicas")
	}
	return scale
}

// merged is an object with a JSON merge patch (RFC 7386) applied.
func merged(o Object, patch []byte) (Object, error) {
	var p Object
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	out := clone(o)
	merge(out, p)
	return out, nil
}

func merge(into, patch Object) {
	for name, value := range patch {
		inner, isObject := value.(Object)
		old, wasObject := into[name].(Object)
		switch {
		case value == nil:
			delete(into, name)
		case isObject && wasObject:
			merge(old, inner)
		default:
			into[name] = value
		}
	}
}

// numbers makes whole numbers of JSON what they are in unstructured objects.
func numbers(v any) any {
	switch v := v.(type) {
	case Object:
		for name := range maps.Clone(v) {
			v[name] = numbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}
