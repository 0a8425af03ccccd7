package schedsim

// This file takes changes back: nodes are saved to a log before they are changed.

// change is what must be restored to undo: a node as it was.
type change struct {
	node int
	was  node
}

// Mark is a state that the world can go back to.
type Mark struct {
	log, nodes, name, journal, moves int
	before                           uint32 // the epoch that was under way
}

// Mark remembers the world as it is.
func (w *World) Mark() Mark {
	before := w.epoch
	w.begin()
	return Mark{log: len(w.log), nodes: len(w.nodes), name: w.nextName, journal: len(w.journal), moves: len(w.moves),
		before: before}
}

// begin begins an epoch: all nodes are saved again before they are changed.
func (w *World) begin() {
	w.epochs++
	w.epoch = w.epochs
}

// keep makes all changes since the mark part of what was done since the mark before it. The mark must not be
// used any more. A node that was saved since the mark before is in the log twice otherwise, once for each move.
func (w *World) keep(m Mark) {
	left := m.log
	for i := m.log; i < len(w.log); i++ {
		c := &w.log[i]
		w.nodes[c.node].epoch = m.before
		if c.was.epoch < m.before {
			w.log[left] = *c
			left++
		}
	}
	clear(w.log[left:])
	w.log, w.epoch = w.log[:left], m.before
}

// Undo takes back everything since the mark.
func (w *World) Undo(m Mark) {
	for i := len(w.log) - 1; i >= m.log; i-- {
		c := w.log[i]
		if c.node >= m.nodes {
			continue
		}
		w.replaceNode(c.node, c.was)
	}
	w.log = w.log[:m.log]
	for i := len(w.nodes) - 1; i >= m.nodes; i-- {
		w.forget(i)
	}
	w.nodes = w.nodes[:m.nodes]
	w.journal = w.journal[:m.journal]
	w.moves = w.moves[:m.moves]
	w.nextName = m.name
	w.begin()
}

func (w *World) replaceNode(i int, was node) {
	w.account(i, -1)
	w.nodes[i] = was
	w.account(i, +1)
}

// forget takes a node out of all that counts it.
func (w *World) forget(i int) {
	if w.nodes[i].gone {
		return
	}
	w.account(i, -1)
	w.nodes[i].gone = true
	w.made++ // its number may be another's
}

// account adds a node's pods to, or takes them from, what is counted over the
// whole world: by topology domain, and by claim.
func (w *World) account(i, sign int) {
	n := &w.nodes[i]
	if n.gone {
		return
	}
	for _, b := range n.batches {
		w.use(b.Class, sign*b.Count)
	}
	w.counters.account(w, i, sign)
	if sign > 0 {
		w.roomier(i)
	}
}

// save puts a node into the log once per mark, before it is changed.
func (w *World) save(i int) *node {
	n := &w.nodes[i]
	if n.epoch != w.epoch {
		w.log = append(w.log, change{i, *n})
		n.epoch = w.epoch
		n.own = false
	}
	return n
}
