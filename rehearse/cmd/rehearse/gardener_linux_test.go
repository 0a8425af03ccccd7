package main

import (
	"regexp"
	"testing"
)

// The story fails by itself if a pool's limits do not hold; here is what it says.
func TestDemoGardenerOnce(t *testing.T) {
	p, out := demoProgram(t, "--story=gardener", "--once", "--plimsoll", shippedPlimsoll(t))
	children := p.until(out, "Deployment arrives for each")
	if _, ok := children["machine-controller-manager"]; !ok {
		t.Errorf("the components are %v", children)
	}
	p.endsWell(out)
	p.leavesNothing(children)

	said := out.text()
	for _, want := range []string{
		`▸ plimsoll .*gives up .*shoot-equitable-z1-\S+ \(InstanceFailed\)`,
		`▸ plimsoll .*buys \d nodes that a minimum lacks: .*shoot-equitable-z2 1->2`,
		`▸ plimsoll leaves \d of \d pods of default/backward-compatible-\S+ pending: .*PoolShareReached`,
		`▸ plimsoll leaves \d of \d pods of default/equitable-\S+ pending: .*PoolAtMax`,
		// With a zone out of quota, with more pods than machines, with the quota back, and empty.
		`Lax-Greedy +0\+\d\+\d = 3 +0\+\d\+\d = 4 +0\+\d\+\d = 4 +0\+\d\+\d = 3\n`,
		`Backward-Compatible +0\+2\+1 = 3 +0\+2\+1 = 3 +1\+2\+1 = 4 +\d\+\d\+\d = 3\n`,
		`Equitable +0\+2\+1 = 3 +0\+2\+2 = 4 +0\+2\+2 = 4 +0\+\d\+\d = 3\n`,
		`Lax-Greedy +3 +3 +4 +4\n`, `Backward-Compatible +3 +3 +4 +4\n`, `Equitable +3 +3 +4 +4\n`,
	} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("it did not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}
