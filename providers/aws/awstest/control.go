package awstest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
)

// This file is how a parent process looks at a served cloud and disturbs it. The
// bodies are JSON, in the form of the spec:
//
//	GET    /_awstest/account                → Spec, as Cloud.Account gives it
//	PUT    /_awstest/account                Spec, instead of the whole account
//	GET    /_awstest/groups                 → [GroupState]
//	PUT    /_awstest/groups/{name}/desired  5
//	DELETE /_awstest/instances/{id}         the machine is gone (Kill)
//	PUT    /_awstest/stockouts              [StockOut], instead of all others
//	PUT    /_awstest/nodegroups             [Nodegroup], instead of all others
//	PUT    /_awstest/faults                 [Fault], instead of all others
//	PUT    /_awstest/held/{group}           [Step]: these are held, others not
//	POST   /_awstest/play/{group}/{step}    3 → how often it was played
//	POST   /_awstest/queues/{name}          an event, as a message in the queue
//	GET    /_awstest/calls                  → {"DescribeAutoScalingGroups": 7}
const controlPath = "/_awstest/"

func (c *Cloud) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /account", func(w http.ResponseWriter, _ *http.Request) { reply(w, c.Account()) })
	mux.HandleFunc("PUT /account", taking(func(_ *http.Request, spec Spec) (any, error) {
		if len(spec.Faults) > 0 {
			return nil, fmt.Errorf("change the account: faults are no part of it, and have a path of their own")
		}
		return nil, c.Change(func(s *Spec) { *s = spec })
	}))
	mux.HandleFunc("GET /groups", func(w http.ResponseWriter, _ *http.Request) { reply(w, c.Groups()) })
	mux.HandleFunc("PUT /groups/{name}/desired", taking(func(r *http.Request, n int) (any, error) {
		return nil, c.SetDesired(r.PathValue("name"), n)
	}))
	mux.HandleFunc("DELETE /instances/{id}", func(w http.ResponseWriter, r *http.Request) {
		if err := c.Kill(r.PathValue("id")); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		reply(w, nil)
	})
	mux.HandleFunc("PUT /stockouts", taking(func(_ *http.Request, outs []StockOut) (any, error) {
		return nil, c.SetStockOuts(outs...)
	}))
	mux.HandleFunc("PUT /nodegroups", taking(func(_ *http.Request, groups []Nodegroup) (any, error) {
		return nil, c.Change(func(s *Spec) { s.Nodegroups = groups })
	}))
	mux.HandleFunc("PUT /faults", taking(func(_ *http.Request, faults []Fault) (any, error) {
		c.ClearFaults()
		for _, f := range faults {
			c.Arm(f)
		}
		return nil, nil
	}))
	mux.HandleFunc("PUT /held/{group}", taking(func(r *http.Request, held []Step) (any, error) {
		if err := c.Release(r.PathValue("group")); err != nil || len(held) == 0 {
			return nil, err
		}
		return nil, c.Hold(r.PathValue("group"), held...)
	}))
	mux.HandleFunc("POST /play/{group}/{step}", taking(func(r *http.Request, n int) (any, error) {
		name, step := r.PathValue("group"), Step(r.PathValue("step"))
		if _, ok := c.Group(name); !ok || !slices.Contains(steps, step) {
			return nil, fmt.Errorf("play %q of %q: there is no such group or step", step, name)
		}
		return c.Play(name, step, n), nil
	}))
	mux.HandleFunc("POST /queues/{name}", taking(func(r *http.Request, event json.RawMessage) (any, error) {
		return c.Send(r.PathValue("name"), string(event))
	}))
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) { reply(w, c.counted()) })
	return mux
}

// taking is a handler of requests with a body.
func taking[B any](do func(*http.Request, B) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body B
		dec := json.NewDecoder(r.Body)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&body); err != nil {
			http.Error(w, "read the body: "+err.Error(), http.StatusBadRequest)
			return
		}
		result, err := do(r, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply(w, result)
	}
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(mustMarshal(json.Marshal(value)), '\n')) // a client that has gone is not our concern
}

// Remote is a cloud that is served by another process, at its URL.
type Remote struct{ URL string }

// Account is the whole account as it is now; see Cloud.Account.
func (r Remote) Account(ctx context.Context) (Spec, error) {
	var spec Spec
	err := r.do(ctx, http.MethodGet, "account", nil, &spec)
	return spec, err
}

// SetAccount makes the account another one, as Cloud.Change does: groups that it
// has already live on with their instances.
func (r Remote) SetAccount(ctx context.Context, spec Spec) error {
	return r.do(ctx, http.MethodPut, "account", spec, nil)
}

// Groups tells of all groups, sorted by name.
func (r Remote) Groups(ctx context.Context) ([]GroupState, error) {
	var groups []GroupState
	err := r.do(ctx, http.MethodGet, "groups", nil, &groups)
	return groups, err
}

// Calls are how many requests there were of each action.
func (r Remote) Calls(ctx context.Context) (map[string]int, error) {
	var counts map[string]int
	err := r.do(ctx, http.MethodGet, "calls", nil, &counts)
	return counts, err
}

// SetDesired sets a group's desired capacity past its limits.
func (r Remote) SetDesired(ctx context.Context, group string, n int) error {
	return r.do(ctx, http.MethodPut, "groups/"+url.PathEscape(group)+"/desired", n, nil)
}

// Kill takes an instance away at once.
func (r Remote) Kill(ctx context.Context, id string) error {
	return r.do(ctx, http.MethodDelete, "instances/"+url.PathEscape(id), nil, nil)
}

// SetStockOuts replaces all stock-outs.
func (r Remote) SetStockOuts(ctx context.Context, outs ...StockOut) error {
	return r.do(ctx, http.MethodPut, "stockouts", append([]StockOut{}, outs...), nil)
}

// Send puts an event into a queue, and gives the message's id.
func (r Remote) Send(ctx context.Context, queue string, event json.RawMessage) (string, error) {
	id := ""
	err := r.do(ctx, http.MethodPost, "queues/"+url.PathEscape(queue), event, &id)
	return id, err
}

// SetNodegroups replaces all node groups of EKS.
func (r Remote) SetNodegroups(ctx context.Context, groups ...Nodegroup) error {
	return r.do(ctx, http.MethodPut, "nodegroups", append([]Nodegroup{}, groups...), nil)
}

// SetFaults replaces all faults; without one, nothing is disturbed any more.
func (r Remote) SetFaults(ctx context.Context, faults ...Fault) error {
	return r.do(ctx, http.MethodPut, "faults", append([]Fault{}, faults...), nil)
}

// Hold stops exactly these steps of a group from happening by themselves.
func (r Remote) Hold(ctx context.Context, group string, which ...Step) error {
	return r.do(ctx, http.MethodPut, "held/"+url.PathEscape(group), append([]Step{}, which...), nil)
}

// Play does a step n times now, and tells how often there was something to do.
func (r Remote) Play(ctx context.Context, group string, step Step, n int) (int, error) {
	played := 0
	err := r.do(ctx, http.MethodPost, "play/"+url.PathEscape(group)+"/"+string(step), n, &played)
	return played, err
}

func (r Remote) do(ctx context.Context, method, path string, body, result any) error {
	req, err := http.NewRequestWithContext(ctx, method, r.URL+controlPath+path,
		bytes.NewReader(mustMarshal(json.Marshal(body))))
	if err != nil {
		return fmt.Errorf("disturb the simulated AWS: %s %s: %w", method, path, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("disturb the simulated AWS: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("disturb the simulated AWS: %s %s: %w", method, path, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("disturb the simulated AWS: %s %s: status %d: %s",
			method, path, res.StatusCode, bytes.TrimSpace(text))
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("disturb the simulated AWS: %s %s: read the answer: %w", method, path, err)
	}
	return nil
}
