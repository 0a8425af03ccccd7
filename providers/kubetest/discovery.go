package kubetest

import "strings"

// discover answers what is served: /api, /apis, /apis/group, /apis/group/version.
func (a *API) discover(path string) (Object, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/api":
		return Object{"kind": "APIVersions", "versions": []any{"v1"}}, true
	case path == "/apis":
		var groups []any
		seen := map[string]bool{"": true}
		for _, r := range a.resources {
			if !seen[r.Group] {
				seen[r.Group] = true
				groups = append(groups, a.describe(r.Group))
			}
		}
		return Object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}, true
	case len(parts) == 2 && parts[0] == "apis":
		o := a.describe(parts[1])
		return o, o != nil
	case len(parts) == 3 && parts[0] == "apis":
		var list []any
		for _, r := range a.resources {
			if _, ok := a.resource(parts[1], parts[2], r.Plural); !ok || r.Group != parts[1] {
				continue
			}
			list = append(list, Object{
				"name": r.Plural, "kind": r.Kind, "namespaced": true, "verbs": []any{"get", "list", "watch", "update"},
			})
			list = append(list, Object{"name": r.Plural + "/status", "kind": r.Kind, "namespaced": true, "verbs": []any{"get"}})
			if r.Scale {
				list = append(list, Object{
					"name":       r.Plural + "/scale",
					"kind":       "Scale",
					"group":      "autoscaling",
					"version":    "v1",
					"namespaced": true,
					"verbs":      []any{"get", "update"},
				})
			}
		}
		return Object{
			"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": parts[1] + "/" + parts[2], "resources": list,
		}, list != nil
	}
	return nil, false
}

// describe is an API group with the versions of all of its kinds.
func (a *API) describe(group string) Object {
	var versions []any
	seen := map[string]bool{}
	for _, r := range a.resources {
		for _, v := range r.Versions {
			if r.Group == group && !seen[v] {
				seen[v] = true
				versions = append(versions, Object{"groupVersion": group + "/" + v, "version": v})
			}
		}
	}
	if len(versions) == 0 {
		return nil
	}
	return Object{
		"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": versions, "preferredVersion": versions[0],
	}
}
