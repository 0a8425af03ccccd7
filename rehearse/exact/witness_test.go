package exact

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// The scheduler's words, as of v1.37.
func TestAVerdictIsHeldToTheSchedulersWords(t *testing.T) {
	const (
		mixed = "0/9 nodes are available: 2 node(s) had untolerated taint(s), 3 node(s) didn't match Pod's node " +
			"affinity/selector, 4 Insufficient cpu. no new claims to deallocate, preemption: 0/9 nodes are available: " +
			"9 Preemption is not helpful for scheduling."
		missing = `0/9 nodes are available: persistentvolumeclaim "none" not found. not found`
	)
	for _, c := range []struct {
		name    string
		refuses map[model.Reason][]string
		said    string
		good    bool
	}{
		{"it says the same", map[model.Reason][]string{
			"InsufficientResources": {"a", "b", "c", "d"}, "NodeAffinity": {"e", "f", "g"}, "TaintNotTolerated": {"h"},
		}, mixed, true},
		{"of fewer nodes than there are groups",
			map[model.Reason][]string{"TaintNotTolerated": {"a", "b", "c"}}, mixed, false},
		{"of another reason", map[model.Reason][]string{"PortConflict": {"a"}}, mixed, false},
		{"of preemption", map[model.Reason][]string{"InsufficientResources": {"a", "b", "c", "d", "e"}}, mixed, false},
		{"of the pod itself", map[model.Reason][]string{
			"VolumeNotBindable": {"a", "b", "c"}, "TaintNotTolerated": {"d"},
		}, missing, true},
		{"of the pod itself, for another reason", map[model.Reason][]string{"NodeAffinity": {"a"}}, missing, false},
		{"a reason without words", map[model.Reason][]string{"GroupBackoff": {"a"}}, mixed, false},
	} {
		v := verdict{refuses: c.refuses}
		if err := v.compare(c.said); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
