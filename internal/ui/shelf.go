package ui

import (
	"net/http"
	"sync"
	"time"
)

// mostShelved bounds the pages that are kept, in bytes.
const mostShelved = 4 << 20

// shelf keeps the pages that were made since the last look, so that all who look at one share it.
type shelf struct {
	mu    sync.Mutex
	of    glance
	pages map[string]*page
	bytes int
}

// glance is what a page shows besides its address: which decision and leader, and when the cluster was looked at.
type glance struct {
	number uint64
	looked time.Time
}

// page is HTML. Its lock is held while it is made.
type page struct {
	mu     sync.Mutex
	status int // 0: it is not made
	text   []byte
}

// take gives a page from the shelf, or makes it. Only what was found is kept: the addresses of what is not there
// have no end.
func (f *shelf) take(g glance, address string, make func() (int, []byte)) (int, []byte) {
	p := f.at(g, address)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status != 0 {
		return p.status, p.text
	}
	status, text := make()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.pages[address] != p: // a later glance has its own
	case status != http.StatusOK || len(text) > mostShelved:
		delete(f.pages, address)
	default:
		if f.bytes+len(text) > mostShelved {
			f.pages, f.bytes = map[string]*page{address: p}, 0
		}
		p.status, p.text = status, text
		f.bytes += len(text)
	}
	return status, text
}

// at is the place of a page. Those of an earlier glance go.
func (f *shelf) at(g glance, address string) *page {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of != g || f.pages == nil {
		f.of, f.pages, f.bytes = g, map[string]*page{}, 0
	}
	p := f.pages[address]
	if p == nil {
		p = &page{}
		f.pages[address] = p
	}
	return p
}
