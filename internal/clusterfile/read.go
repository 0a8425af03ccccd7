package clusterfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Read reads files, folders with all that is below them, and standard input for "-".
func Read(ctx context.Context, paths []string, stdin io.Reader) (*Cluster, error) {
	files, err := filesOf(paths)
	if err != nil {
		return nil, err
	}
	b := newBuilder()
	err = pipeline(ctx, func(emit func(piece) error) error {
		for _, name := range files {
			if err := readFile(name, stdin, emit); err != nil {
				return err
			}
		}
		return nil
	}, b.add)
	if err != nil {
		return nil, err
	}
	return b.built(files)
}

// ReadGroups reads the node groups of a file; nil if it has none, but Kubernetes objects.
func ReadGroups(ctx context.Context, name string) (*provider.Inventory, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, fmt.Errorf("read the node groups: %w", err)
	}
	c, err := Read(ctx, []string{name}, nil)
	if err != nil {
		return nil, err
	}
	return c.Inventory, nil
}

// filesOf lists the files that are meant. In folders, those that end like YAML or JSON are.
func filesOf(paths []string) ([]string, error) {
	var out []string
	var seen []os.FileInfo
	for i, path := range paths {
		if path == "-" {
			if slices.Contains(paths[:i], path) {
				return nil, errors.New("read a cluster: standard input is given twice, and can be read once")
			}
			out = append(out, path)
			continue
		}
		if path == "" {
			return nil, errors.New("read a cluster: the name of a file is empty: give a file, a folder, or - for standard input")
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read a cluster: %w", err)
		}
		if slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			return nil, fmt.Errorf("read a cluster: %s is given twice", path)
		}
		seen = append(seen, info)
		if !info.IsDir() {
			out = append(out, path)
			continue
		}
		found := len(out)
		err = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() &&
				slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(strings.TrimSuffix(name, ".gz"))) {
				out = append(out, name)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the folder %s: %w", path, err)
		}
		if len(out) == found {
			return nil, fmt.Errorf("read the folder %s: no file in it ends in .yaml, .yml or .json, with or without .gz", path)
		}
	}
	return out, nil
}

// readFile hands over the objects of a file, which may be packed.
func readFile(name string, stdin io.Reader, emit func(piece) error) error {
	in, err := opened(name, stdin)
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("read a cluster: %w", err)
	}
	if err != nil {
		return err
	}
	defer in.close()
	held := &bounded{in: in, mostAll: mostBytes, mostInOne: mostInOne}
	return split(in.name, held, func(p piece) error {
		held.one, p.written = 0, in.written
		return emit(p)
	})
}

// batchSize is about how many bytes of text are parsed at a time.
const batchSize = 1 << 18

// batch is some pieces and, later, what is in them.
type batch struct {
	pieces []piece
	done   chan struct{}
	found  []parsed
	err    error
}

// pipeline parses what read hands over, on all cores, and takes it in the order of reading. The first
// error ends all of it.
func pipeline(ctx context.Context, read func(emit func(piece) error) error, take func(parsed) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	work, order := make(chan *batch), make(chan *batch, 2*workers)
	for range workers {
		go func() {
			for b := range work {
				for _, p := range b.pieces {
					found, err := p.parse()
					if err != nil {
						b.err = err
						break
					}
					b.found = append(b.found, found...)
				}
				b.pieces = nil
				close(b.done)
			}
		}()
	}
	var ended error
	go func() {
		defer close(order)
		defer close(work)
		next, size := &batch{done: make(chan struct{})}, 0
		send := func() error {
			for _, to := range []chan *batch{order, work} {
				select {
				case to <- next:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			next, size = &batch{done: make(chan struct{})}, 0
			return nil
		}
		ended = read(func(p piece) error {
			next.pieces = append(next.pieces, p)
			if size += len(p.data); size < batchSize {
				return nil
			}
			return send()
		})
		// What came before a mistake is parsed all the same: it may have an earlier one.
		if err := send(); ended == nil {
			ended = err
		}
	}()
	for {
		var b *batch
		var more bool
		select {
		case b, more = <-order:
		case <-ctx.Done(): // a read of a pipe may never end
			return context.Cause(ctx)
		}
		if !more {
			return ended
		}
		select {
		case <-b.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for _, p := range b.found {
			if err := take(p); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
	}
}

// key says which object of which kind.
type key struct {
	kind reflect.Type
	name cache.ObjectName
}

// builder puts a cluster together.
type builder struct {
	cluster Cluster
	at      map[key]int // where an object is
	dump    *dump
	newest  time.Time
	// groupsOf and dumpOf are the files that have them.
	groupsOf, dumpOf string
	// kinds counts what each file has, by kind.
	kinds map[string]map[string]int
}

func newBuilder() *builder {
	return &builder{cluster: Cluster{Skipped: map[string]int{}}, at: map[key]int{}, kinds: map[string]map[string]int{}}
}

func (b *builder) add(p parsed) error {
	c := &b.cluster
	if p.kind != "" {
		if b.kinds[p.file] == nil {
			b.kinds[p.file] = map[string]int{}
		}
		b.kinds[p.file][p.kind]++
	}
	for _, obj := range p.objects {
		meta := obj.(metav1.Object)
		k := key{reflect.TypeOf(obj), cache.ObjectName{Namespace: meta.GetNamespace(), Name: meta.GetName()}}
		if i, twice := b.at[k]; twice {
			c.Objects[i] = obj // as with kubectl apply, the last one counts
			c.Replaced = append(c.Replaced,
				fmt.Sprintf("%s %s by that of %s", gvkOf(obj).Kind, strings.TrimPrefix(k.name.String(), "/"), p.file))
			continue
		}
		if len(c.Objects) >= mostObjects {
			return fmt.Errorf("read a cluster: the files have more than %d objects", mostObjects)
		}
		b.at[k] = len(c.Objects)
		c.Objects = append(c.Objects, obj)
	}
	b.newest = model.Latest(b.newest, p.newest)
	if p.odd != "" {
		c.Odd = append(c.Odd, p.odd)
	}
	if p.skipped != "" {
		c.Skipped[p.skipped]++
	}
	if p.dump != nil && b.dump != nil {
		return errTwice("a dump", b.dumpOf, p.file)
	}
	if p.groups != nil {
		if c.Inventory != nil {
			return errTwice("node groups", b.groupsOf, p.file)
		}
		c.Inventory, b.groupsOf = p.groups, p.file
	}
	if p.memory != nil && b.dump == nil {
		c.Memory = *p.memory
	}
	if p.dump != nil {
		b.dump, b.dumpOf, b.cluster.FlagsAt = p.dump, p.file, p.flagsAt
	}
	return nil
}

// errTwice is what may be there once, in a file and in the same one or another.
func errTwice(what, first, second string) error {
	if first == second {
		return fmt.Errorf("read a cluster: %s has %s twice", first, what)
	}
	return fmt.Errorf("read a cluster: both %s and %s have %s: give one of them", first, second, what)
}

func (b *builder) built(files []string) (*Cluster, error) {
	c := &b.cluster
	if d := b.dump; d != nil {
		if err := d.whole(b.dumpOf, b.kinds[b.dumpOf]); err != nil {
			return nil, err
		}
		c.Time, c.Version, c.Flags, c.Anonymized = d.Time, d.Version, d.Flags, d.Anonymized
		c.Listed, c.Unread, c.InventoryErr = d.Listed, d.Unread, d.InventoryErr
	}
	if len(c.Objects) == 0 && b.dump == nil && c.Inventory == nil {
		what := "no Kubernetes objects are in it"
		if len(c.Skipped) > 0 {
			what = fmt.Sprintf("it has none of the objects that are needed, only %s",
				strings.Join(slices.Sorted(maps.Keys(c.Skipped)), ", "))
		}
		for i := range files {
			if files[i] == "-" {
				files[i] = stdinName
			}
		}
		return nil, fmt.Errorf("read a cluster from %s: %s", strings.Join(files, ", "), what)
	}
	if c.Time.IsZero() {
		c.Time = model.Latest(b.newest, c.Memory.Written)
	}
	if c.Inventory != nil && (b.dump == nil || b.dump.Inventory == nil) {
		// Groups of a file of their own are taken to be as they were at that moment.
		c.Inventory.AsOf = c.Time
	}
	return c, nil
}
