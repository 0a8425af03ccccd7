package clusterapi

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// A failure is told of a Machine that has no node, and of one that is on its way out:
// there it may be why it does not go.
func TestWhichInstancesTellOfAFailure(t *testing.T) {
	mark := markPrefix + "now"
	broken := &failure{reason: "CreateError", message: "Quota 'CPUS' exceeded"}
	for name, c := range map[string]struct {
		machine machine
		target  int
		state   provider.State
		op      provider.Op // of the error, empty if there is none
	}{
		"one that works":                    {machine{nodeName: "n"}, 1, provider.Running, ""},
		"one that is awaited":               {machine{}, 1, provider.Creating, ""},
		"one that failed":                   {machine{failure: broken}, 1, provider.Creating, provider.OpGrow},
		"one that failed and has a node":    {machine{nodeName: "n", failure: broken}, 1, provider.Running, ""},
		"deleted":                           {machine{nodeName: "n", deleting: true}, 0, provider.Deleting, ""},
		"deleted, since it failed":          {machine{failure: broken, deleting: true}, 0, provider.Deleting, provider.OpGrow},
		"deleted, which fails":              {machine{nodeName: "n", failure: broken, deleting: true}, 0, provider.Deleting, provider.OpRemove},
		"marked and paid for, as it failed": {machine{failure: broken, mark: &mark}, 0, provider.Deleting, provider.OpGrow},
	} {
		got := standingOf([]*machine{&c.machine}, nil, c.target).instanceOf(&c.machine)
		if got.State != c.state || (got.Err != nil) != (c.op != "") ||
			got.Err != nil && (got.Err.Op != c.op || got.Err.Kind != provider.Quota || got.Err.Code != "CreateError") {
			t.Errorf("%s: %+v, error %+v", name, got, got.Err)
		}
	}
}
