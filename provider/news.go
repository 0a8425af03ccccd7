package provider

import "sync"

// News finds the notices that are new, so that each is logged once when it begins, and again if it
// was over in between. The zero value has seen none. It may be used from any goroutine.
type News struct {
	mu   sync.Mutex
	told map[Notice]bool
}

// Among returns those of the notices that did not hold at the call before, each once and in order.
// notices are all that hold now.
func (n *News) Among(notices []Notice) []Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := make(map[Notice]bool, len(notices))
	var fresh []Notice
	for _, notice := range notices {
		if !n.told[notice] && !now[notice] {
			fresh = append(fresh, notice)
		}
		now[notice] = true
	}
	n.told = now
	return fresh
}
