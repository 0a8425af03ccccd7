package schedsim

// This file lets a search pass over many nodes, or many classes, at one look.

// blockSize is how many nodes, or classes, are looked at in one.
const blockSize = 64

// block is the most that any of some nodes has free. It may be more than that, never less: nodes fill
// up unseen, and it is found again when a search finds nothing there.
type block struct {
	cpu, memory, pods int64
	kinds             NodeSet
}

func (b *block) add(n *node) {
	b.cpu, b.memory, b.pods = max(b.cpu, n.free.cpu), max(b.memory, n.free.memory), max(b.pods, n.free.pods)
	b.kinds |= n.kind
}

// roomier takes notice of a node that is new, or has more room than before.
func (w *World) roomier(i int) {
	for len(w.blocks) <= i/blockSize {
		w.blocks = append(w.blocks, block{})
	}
	w.blocks[i/blockSize].add(&w.nodes[i])
	w.made++
}

// mayTake reports whether some node of a block, of the given sets, may have room for a class.
func (w *World) mayTake(b int, class *class, on NodeSet) bool {
	w.Looked(1)
	most := &w.blocks[b]
	if most.kinds&on == 0 || most.pods < 1 {
		return false
	}
	want := &class.request
	return class.zero || (want.cpu == 0 || most.cpu >= want.cpu) && (want.memory == 0 || most.memory >= want.memory)
}

// tighten finds a block's most again.
func (w *World) tighten(b int) {
	w.blocks[b] = block{}
	for i := b * blockSize; i < min(len(w.nodes), (b+1)*blockSize); i++ {
		if !w.nodes[i].gone {
			w.blocks[b].add(&w.nodes[i])
		}
	}
}

// least is the smallest requests of some classes that pods are left of; none of a resource where no
// pods are left.
type least struct {
	cpu, memory int64
	any         bool
}

// smallest is the least of each block of what is wanted.
func (k *packer) smallest() []least {
	list := make([]least, (len(k.want)+blockSize-1)/blockSize)
	for b := range list {
		k.shrunk(list, b)
	}
	return list
}

// shrunk finds a block's least again, when pods of a class in it have been placed.
func (k *packer) shrunk(list []least, b int) {
	l := least{}
	for i := b * blockSize; i < min(len(k.want), (b+1)*blockSize); i++ {
		if k.rest[i] == 0 {
			continue
		}
		r := &k.w.classes[k.want[i].Class].request
		if !l.any {
			l = least{cpu: r.cpu, memory: r.memory, any: true}
		}
		l.cpu, l.memory = min(l.cpu, r.cpu), min(l.memory, r.memory)
	}
	list[b] = l
}

// mayFit reports whether a class of the block may have room in what is free. A class that requests
// nothing has room where there is less than nothing.
func (l *least) mayFit(free *amounts) bool {
	return l.any && free.pods > 0 && (l.cpu == 0 || free.cpu >= l.cpu) && (l.memory == 0 || free.memory >= l.memory)
}
