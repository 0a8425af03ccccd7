package exact

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// Rounds from Seed on are played unless others are asked for: they have between them all that pods can want.
const (
	Rounds = 3
	Seed   = 1799
)

const (
	namespace = "exact"

	diskLabel      = "exact.plimsoll.dev/disk"
	dedicatedTaint = "exact.plimsoll.dev/dedicated"
	edgeTaint      = "exact.plimsoll.dev/edge"
	// generous is a maximum that no round reaches.
	generous = 60
	// edgeMost is the maximum of the group that has too few nodes.
	edgeMost = 2
	// mostPods is the largest size of a workload.
	mostPods = 8
)

// Round is what one seed draws.
type Round struct {
	Seed   uint64
	Zones  []string
	Groups []stage.Group
	// Flags are Plimsoll's.
	Flags []string
	// Common is what workloads share: classes of priority, of storage and of runtimes.
	Common    []client.Object
	Daemons   []client.Object
	Workloads []*Workload
}

// Workload makes pods that are alike.
type Workload struct {
	Name string
	// Maker is a Deployment or a StatefulSet; Needs are what its pods want to be there before: volumes, a budget.
	Maker client.Object
	Needs []client.Object
	Pods  int
	// Stays is how many of the pods have no node, whatever is bought.
	Stays int
	// Most is how many pods can run at once, and Least how many others depend on.
	Most, Least int
	Gated       bool
	// Traits are what its pods want, in words.
	Traits []string
}

// drawing is a round that is being drawn.
type drawing struct {
	*Round
	dice *rand.Rand
	// leaders are workloads that others may want to be beside.
	leaders []*Workload
	// hasDisk and the others are whether there is such a group.
	hasDisk, hasDedicated bool
}

// Draw draws a round: the same for the same seed.
func Draw(seed uint64) *Round {
	d := &drawing{Round: &Round{Seed: seed, Common: common()}, dice: rand.New(rand.NewPCG(seed, 12))}
	d.drawGroups()
	d.drawFlags()
	d.drawDaemons()
	for i := range 8 + d.dice.IntN(8) {
		d.Workloads = append(d.Workloads, d.drawWorkload(fmt.Sprintf("app-%d", i)))
	}
	for _, i := range d.dice.Perm(len(impossible))[:1+d.dice.IntN(3)] {
		d.Workloads = append(d.Workloads, d.drawImpossible(impossible[i]))
	}
	return d.Round
}

// drawGroups draws a general group in each zone, which takes each pod that asks for nothing but a zone; and some that
// pods must ask for.
func (d *drawing) drawGroups() {
	d.Zones = []string{"zone-a", "zone-b", "zone-c"}[:2+d.dice.IntN(2)]
	for i, zone := range d.Zones {
		cores := 4 << d.dice.IntN(3)
		g := stage.Group{
			Name: "general-" + string(rune('a'+i)), Zone: zone,
			CPU: fmt.Sprint(cores), Memory: fmt.Sprintf("%dGi", cores*(2+2*d.dice.IntN(2))), Max: generous,
		}
		if d.dice.IntN(4) == 0 {
			g.Min = 1
		}
		d.Groups = append(d.Groups, g)
	}
	if d.dice.IntN(3) > 0 {
		d.hasDisk = true
		d.Groups = append(d.Groups, stage.Group{
			Name: "disk", Zone: d.zone(), CPU: "8", Memory: "32Gi", Max: generous, Labels: map[string]string{diskLabel: "ssd"},
		})
	}
	if d.dice.IntN(3) > 0 {
		d.hasDedicated = true
		d.Groups = append(d.Groups, stage.Group{
			Name: "dedicated", Zone: d.zone(), CPU: "8", Memory: "16Gi", Max: generous, Taints: []corev1.Taint{
				{Key: dedicatedTaint, Value: "batch", Effect: corev1.TaintEffectNoSchedule},
			},
		})
	}
	// Its nodes are for those pods alone that cannot all run.
	d.Groups = append(d.Groups, stage.Group{
		Name: "edge", Zone: d.zone(), CPU: "4", Memory: "8Gi", Max: edgeMost, Taints: []corev1.Taint{
			{Key: edgeTaint, Effect: corev1.TaintEffectNoSchedule},
		},
	})
	if d.dice.IntN(2) == 0 {
		d.Groups = append(d.Groups, stage.Group{Name: "large", Zone: d.zone(), CPU: "32", Memory: "64Gi", Max: generous})
	}
	if d.dice.IntN(2) == 0 {
		for i := range d.Groups {
			d.Groups[i].Price = fmt.Sprintf("%.2f", 0.1+d.dice.Float64())
		}
	}
}

func (d *drawing) drawFlags() {
	expanders := []string{"least-waste", "least-nodes", "random", "most-pods"}
	if d.Groups[0].Price != "" {
		expanders = append(expanders, "price")
	}
	d.Flags = []string{"--expander=" + pick(d.dice, expanders)}
	if d.dice.IntN(3) == 0 {
		d.Flags = append(d.Flags, "--balance-similar-node-groups")
	}
}

func (d *drawing) zone() string { return pick(d.dice, d.Zones) }

// someZones are one zone less than all, in the order of all.
func (d *drawing) someZones() []string {
	without := d.dice.IntN(len(d.Zones))
	return slices.Delete(slices.Clone(d.Zones), without, without+1)
}

func pick[T any](dice *rand.Rand, from []T) T { return from[dice.IntN(len(from))] }
