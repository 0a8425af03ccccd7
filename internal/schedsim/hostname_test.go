package schedsim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestSharedHostname: labels are compared, whether or not they are the nodes' names.
func TestSharedHostname(t *testing.T) {
	for name, c := range map[string]struct {
		hosts []string // of nodes a, b, ...; empty: no label
		want  bool
	}{
		"their names":                  {[]string{"a", "b", "c"}, false},
		"others, each its own":         {[]string{"x", "y", "c"}, false},
		"one has that of another":      {[]string{"a", "a", "c"}, true},
		"two have the same other one":  {[]string{"x", "b", "x"}, true},
		"two have none":                {[]string{"", "", "c"}, false},
		"one has none, two share one":  {[]string{"", "x", "x"}, true},
		"one that comes has no object": {[]string{"a", "-", "c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &model.Snapshot{}
			for i, host := range c.hosts {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i)), Labels: map[string]string{}}}
				switch host {
				case "-":
					node = nil
				case "":
				default:
					node.Labels[corev1.LabelHostname] = host
				}
				s.Nodes = append(s.Nodes, &model.Node{Object: node})
			}
			if got := sharedHostname(s); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestOwnHostnamesOfTheWorldBefore: a node that was seen to have its own name as hostname is not looked at again, and
// every other one is.
func TestOwnHostnamesOfTheWorldBefore(t *testing.T) {
	node := func(name, host string) *model.Node {
		return &model.Node{Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{corev1.LabelHostname: host}}}}
	}
	a, b, odd := node("a", "a"), node("b", "b"), node("odd", "a")
	before := &World{snap: &model.Snapshot{Nodes: []*model.Node{a, b}}, ownNames: true}
	for name, c := range map[string]struct {
		prev  *World
		nodes []*model.Node
		want  bool
	}{
		"the same":                   {before, []*model.Node{a, b}, true},
		"none before":                {nil, []*model.Node{a, b}, true},
		"one came":                   {before, []*model.Node{a, b, node("c", "c")}, true},
		"one came with another name": {before, []*model.Node{a, b, node("c", "a")}, false},
		"one has another name now":   {before, []*model.Node{a, node("b", "a")}, false},
		"one has gone":               {before, []*model.Node{b}, true},
		"it had another name before": {&World{snap: &model.Snapshot{Nodes: []*model.Node{odd}}}, []*model.Node{odd}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ownHostnames(c.prev, &model.Snapshot{Nodes: c.nodes}); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
