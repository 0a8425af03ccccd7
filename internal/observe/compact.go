package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// compactFrom is the size from which a catalog is worth rebuilding.
const compactFrom = 1 << 16

// adopt names a row's content and facts in the present catalog, if it was
// made with an older one.
func (c *cluster) adopt(r *podRow) {
	if r.catalog != c.catalog {
		old := r.catalog.Contents()
		r.pod.Content = intern(c.catalog, old, r.pod.Content)
		r.pod.Facts = c.catalog.InternFacts(*old.Facts[r.pod.Facts])
		r.catalog = c.catalog
	}
}

// intern gives the name in a new catalog of what an old one calls c. A spec in
// a catalog is cut down already, and cutting it down again changes nothing.
func intern(to *catalog.Catalog, from model.Contents, c model.Content) model.Content {
	pod := &corev1.Pod{Spec: from.Specs[c.Spec].Pod.Spec}
	pod.Namespace = from.Specs[c.Spec].Pod.Namespace
	pod.Labels = from.Labels[c.Labels].Labels
	return to.Pod(pod)
}

// compact starts a new catalog when more than half of a large one is content that no pod and no
// node has any more. It reports whether it did: other holders of contents must then intern them
// again.
func (c *cluster) compact() bool {
	contents := c.catalog.Contents()
	size := len(contents.Specs) + len(contents.Labels) + len(contents.Shapes) + len(contents.Facts)
	if size < c.checkAt {
		return false
	}
	live := c.live(contents)
	if 2*live >= size {
		c.checkAt = 2 * size
		return false
	}
	c.catalog = catalog.New()
	// Many pods share a content, and more share their facts; each is interned once.
	named := map[model.Content]model.Content{}
	facts := map[model.FactsID]model.FactsID{}
	rename := func(p *model.Pod) {
		to, ok := named[p.Content]
		if !ok {
			to = intern(c.catalog, contents, p.Content)
			named[p.Content] = to
		}
		p.Content = to
		known, ok := facts[p.Facts]
		if !ok {
			known = c.catalog.InternFacts(*contents.Facts[p.Facts])
			facts[p.Facts] = known
		}
		p.Facts = known
	}
	for _, n := range c.nodes {
		n.own()
		for i := range n.pods {
			rename(&n.pods[i])
		}
		if n.object != nil {
			n.shape = c.catalog.Shape(n.object)
		}
		c.touchNode(n)
	}
	for _, p := range c.unbound {
		rename(p)
	}
	c.unboundStale = true
	c.checkAt = max(compactFrom, 2*live)
	c.bump()
	return true
}

// live counts the contents that some pod or node has.
func (c *cluster) live(contents model.Contents) int {
	specs := make([]bool, len(contents.Specs))
	labels := make([]bool, len(contents.Labels))
	shapes := make([]bool, len(contents.Shapes))
	facts := make([]bool, len(contents.Facts))
	use := func(p *model.Pod) { specs[p.Spec], labels[p.Labels], facts[p.Facts] = true, true, true }
	for _, n := range c.nodes {
		if n.object != nil {
			shapes[n.shape] = true
		}
		for i := range n.pods {
			use(&n.pods[i])
		}
	}
	for _, p := range c.unbound {
		use(p)
	}
	n := 0
	for _, set := range [][]bool{specs, labels, shapes, facts} {
		for _, is := range set {
			if is {
				n++
			}
		}
	}
	return n
}
