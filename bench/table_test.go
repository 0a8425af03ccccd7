package bench

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// This file has worlds that make deciding hard in one way each: many apps, classes, groups, zones
// or claims.

// standard is a cluster of groups over three zones, of nodes that have room for two pods of half a
// core each.
func standard(nodes, groups int) *testkit.Cluster {
	c := testkit.New()
	machine := func(name string, g int) *corev1.Node {
		return testkit.Node(name, "16", "64Gi", map[string]string{zone: string(rune('a' + g%3)), "group": fmt.Sprint(g)})
	}
	for g := range groups {
		c.Group(fmt.Sprintf("g%04d", g), 0, 100000, machine("", g))
	}
	for i := range nodes {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(machine(name, i%groups), fmt.Sprintf("g%04d", i%groups))
		c.Bound(testkit.Pod("default", "old", "530m", "2Gi", map[string]string{"app": "old"}), 28, name)
	}
	return c
}

func appPod(app, cpu, memory string) *corev1.Pod {
	return testkit.Pod("default", app, cpu, memory, map[string]string{"app": app})
}

// u5 is 15,000 nodes of 30 pods and 100,000 that wait, of 100 classes; the first of them spread over
// zones, the next are one a node.
func u5(groups, spread, anti int) *testkit.Cluster {
	c := testkit.New()
	machine := func(name string, g int) *corev1.Node {
		return testkit.Node(name, "16", "64Gi", map[string]string{zone: string(rune('a' + g%3)), "group": fmt.Sprint(g)})
	}
	for g := range groups {
		c.Group(fmt.Sprintf("g%03d", g), 0, 100000, machine("", g))
	}
	for i := range 15000 {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(machine(name, i%groups), fmt.Sprintf("g%03d", i%groups))
		c.Bound(appPod(fmt.Sprintf("app%03d", i%100), "530m", "2Gi"), 30, name)
	}
	for k := range 100 {
		p := appPod(fmt.Sprintf("app%03d", k), fmt.Sprintf("%dm", 200+20*k), fmt.Sprintf("%dMi", 256+128*(k%7)))
		switch {
		case k < spread:
			testkit.SpreadOver(p, zone, 1, p.Labels)
		case k < spread+anti:
			testkit.Apart(p, host, p.Labels)
		}
		c.Pending(p, 1000)
	}
	return c
}

// surge is 5,000 nodes with ten pods each, and as many pods that wait, of apps of which a node takes
// one pod each.
func surge(apps int) *testkit.Cluster {
	c := testkit.New()
	machine := func(name string, z int) *corev1.Node {
		return testkit.Node(name, "16", "64Gi", map[string]string{zone: string(rune('a' + z))})
	}
	for z := range 3 {
		c.Group(fmt.Sprintf("g%d", z), 0, 20000, machine("", z))
	}
	pods := make([]*corev1.Pod, apps)
	for a := range pods {
		pods[a] = appPod(fmt.Sprintf("app%04d", a), "1200m", "4Gi")
		testkit.Apart(pods[a], host, pods[a].Labels)
	}
	for i := range 5000 {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(machine(name, i%3), fmt.Sprintf("g%d", i%3))
		for j := range 10 {
			c.Bound(pods[(i*10+j)%apps], 1, name)
		}
	}
	for _, p := range pods {
		c.Pending(p, 50000/apps)
	}
	return c
}

// sets is pods of a StatefulSet with a claim each: of volumes that wait for their pods, or that are in
// a zone already.
func sets(pods int, bound, spread bool) *testkit.Cluster {
	c := standard(1000, 20)
	for i := range pods {
		p := testkit.Pod("default", fmt.Sprintf("db-%05d", i), "500m", "1Gi", map[string]string{
			"app": "db", podIndex: fmt.Sprint(i),
		})
		if spread {
			testkit.SpreadOver(p, zone, 1, map[string]string{"app": "db"})
		}
		c.Claim(p, "data-"+p.Name, bound)
		if bound {
			c.Volumes.Persistent[i].Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{string(rune('a' + i%3))}}}}}}}
		}
		c.Pending(p, 1)
	}
	return c
}

// limitedSets is pods of a StatefulSet with a claim each, and nodes that attach only so many volumes.
func limitedSets(pods int, most int32) *testkit.Cluster {
	c := sets(pods, false, false)
	for i := range c.Groups {
		c.Groups[i].Template.CSINode = &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "example.com/disk", Allocatable: &storagev1.VolumeNodeResources{Count: &most}}}}}
	}
	return c
}

// distinct is pods each of which requests something else.
func distinct(pods int) *testkit.Cluster {
	c := standard(1000, 20)
	for i := range pods {
		c.Pending(appPod(fmt.Sprintf("app%05d", i), fmt.Sprintf("%dm", 100+i%4000), fmt.Sprintf("%dMi", 128+i/7%3000)), 1)
	}
	return c
}

// unplaceable is classes that no group has room for.
func unplaceable(classes, groups int) *testkit.Cluster {
	c := standard(100, groups)
	for i := range classes {
		c.Pending(appPod(fmt.Sprintf("app%05d", i), fmt.Sprintf("%dm", 20000+i), "1Gi"), 1)
	}
	return c
}

// manyGroups is eight apps, five spread over zones and three one a node, and many groups.
func manyGroups(groups int) *testkit.Cluster {
	c := standard(1000, groups)
	for k := range 8 {
		p := appPod(fmt.Sprintf("app%02d", k), fmt.Sprintf("%dm", 200+50*k), "1Gi")
		if k < 5 {
			testkit.SpreadOver(p, zone, 1, p.Labels)
		} else {
			testkit.Apart(p, host, p.Labels)
		}
		c.Pending(p, 375)
	}
	return c
}

// manyZones is ten apps spread over many zones.
func manyZones(zones int) *testkit.Cluster {
	c := testkit.New()
	machine := func(name string, z int) *corev1.Node {
		return testkit.Node(name, "16", "64Gi", map[string]string{zone: fmt.Sprintf("z%03d", z)})
	}
	for z := range zones {
		c.Group(fmt.Sprintf("g%04d", z), 0, 100000, machine("", z))
	}
	for i := range 1000 {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(machine(name, i%zones), fmt.Sprintf("g%04d", i%zones))
		c.Bound(appPod("old", "530m", "2Gi"), 28, name)
	}
	for a := range 10 {
		p := appPod(fmt.Sprintf("app%03d", a), "500m", "1Gi")
		testkit.SpreadOver(p, zone, 1, p.Labels)
		c.Pending(p, 500)
	}
	return c
}
