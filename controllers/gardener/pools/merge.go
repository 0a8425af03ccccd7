package pools

import "reflect"

// whole is a map that is owned with all its keys: those that are not in it go. Of
// any other map only the keys in it are owned, and a nil value means that the key
// must not be there.
type whole map[string]any

// mergePatch is the JSON merge patch (RFC 7386) that makes a live object what is
// wanted of it; nil, if it is that already.
func mergePatch(live, want map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range want {
		has, there := live[key]
		switch value := value.(type) {
		case nil:
			if there && has != nil {
				patch[key] = nil
			}
		case map[string]any:
			fields, _ := has.(map[string]any)
			if deeper := mergePatch(fields, value); deeper != nil {
				patch[key] = deeper
			}
		case whole:
			fields, _ := has.(map[string]any)
			all := map[string]any{}
			for name := range fields {
				all[name] = nil
			}
			for name, v := range value {
				all[name] = v
			}
			if deeper := mergePatch(fields, all); deeper != nil {
				patch[key] = deeper
			}
		default:
			if !there || !reflect.DeepEqual(has, value) {
				patch[key] = value
			}
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// plain is a wanted object as it is when it is new: without what must not be there.
func plain(want map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range want {
		switch value := value.(type) {
		case nil:
		case map[string]any:
			if deeper := plain(value); len(deeper) > 0 {
				out[key] = deeper
			}
		case whole:
			if deeper := plain(value); len(deeper) > 0 {
				out[key] = deeper
			}
		default:
			out[key] = value
		}
	}
	return out
}

// nested is the value at a path of maps; nil, if there is none.
func nested(object map[string]any, path ...string) any {
	var at any = object
	for _, name := range path {
		fields, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = fields[name]
	}
	return at
}

func stringAt(object map[string]any, path ...string) string {
	s, _ := nested(object, path...).(string)
	return s
}

// without is a patch from which the leaf at a path is gone, with the maps around
// it that it leaves empty; nil, if nothing is left.
func without(patch map[string]any, path ...string) map[string]any {
	out := map[string]any{}
	for key, value := range patch {
		if key != path[0] {
			out[key] = value
			continue
		}
		if fields, ok := value.(map[string]any); ok && len(path) > 1 {
			if deeper := without(fields, path[1:]...); deeper != nil {
				out[key] = deeper
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
