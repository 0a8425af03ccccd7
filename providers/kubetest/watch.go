package kubetest

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// watch tells of events after the version that is asked for, until the client
// goes.
func (a *API) watch(out http.ResponseWriter, r *http.Request, c call) {
	from, err := strconv.Atoi(c.from)
	if err != nil {
		from = 0 // from the beginning, which is as good as what there is now
	}
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(http.StatusOK)
	flusher, _ := out.(http.Flusher)
	flusher.Flush()
	enc := json.NewEncoder(out)
	for {
		a.mu.Lock()
		var due []event
		for _, e := range a.objects.events {
			if e.version > from && Text(e.object, "kind") == c.resource.Kind &&
				(c.namespace == "" || c.namespace == Text(e.object, "metadata", "namespace")) {
				due = append(due, e)
			}
		}
		from = a.objects.version
		news := a.objects.news
		a.mu.Unlock()
		for _, e := range due {
			if enc.Encode(Object{"type": e.what, "object": a.show(e.object, c)}) != nil {
				return
			}
		}
		flusher.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-news:
		}
	}
}
