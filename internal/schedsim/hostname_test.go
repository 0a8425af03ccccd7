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
				s.Nodes = append(s.Nodes, model.Node{Object: node})
			}
			if got := sharedHostname(s); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
