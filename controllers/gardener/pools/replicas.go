package pools

import "fmt"

// A machine deployment's replicas are written in these cases only, the first that
// applies. They are Gardener's, with two differences. The bounds are the pool's and
// not the zone's share of them: a zone may hold more than its share, and what the
// pool lacks of its minimum is the autoscaler's to buy, in a zone that can grow, or,
// where there is none, is added in zones below their share.
// And a shoot wakes up where it was put to sleep: that all replicas are 0 may be
// the autoscaler's doing.

// move is what to write to replicas; nothing, if Why is empty.
type move struct {
	To  int32
	Why string
}

// first is what a new machine deployment starts with where nothing else is there.
func (z Zone) first() int32 {
	if z.Cluster.Hibernated {
		return 0
	}
	return z.Minimum()
}

// room is how much a pool's machine deployments may grow before their sum is the
// pool's maximum.
type room map[string]int32

// roomOf counts what is there, machine deployments of zones that are gone included.
func roomOf(c Cluster, live []MachineDeployment) room {
	r, pools := room{}, map[string]string{}
	for _, p := range c.Pools {
		r[p.Name] = p.Maximum
	}
	for _, z := range c.Zones() {
		pools[z.Name()] = z.Pool.Name
	}
	for _, md := range live {
		pool := md.Pool
		if named, ok := pools[md.Name]; ok {
			pool = named // whether it is labelled by now or not
		}
		if _, ours := r[pool]; ours {
			r[pool] -= max(0, md.Replicas)
		}
	}
	return r
}

// take is what of n a pool has room for; that room is gone then.
func (r room) take(pool string, n int32) int32 {
	n = max(0, min(n, r[pool]))
	r[pool] -= n
	return n
}

// create is what a machine deployment that is not there begins with. restored is
// what it had on the seed that the shoot came from; nil: it is new.
func (z Zone) create(r room, restored *int32) move {
	switch {
	case z.Cluster.Hibernated:
		return move{0, "0 replicas, as the shoot is hibernated"}
	case restored != nil:
		n := r.take(z.Pool.Name, *restored)
		return move{n, fmt.Sprintf("%d replicas, of %d before the shoot moved here", n, *restored)}
	}
	n := r.take(z.Pool.Name, z.Minimum())
	return move{n, fmt.Sprintf("%d replicas, its share of the pool's minimum that the maximum has room for", n)}
}

// level is what the zones of pools have that no autoscaler looks after, by the names of
// their machine deployments. Such a pool has its minimum, wherever its machines are: one
// that has as many is left alone, since a zone above its share may stand in for one that
// the cloud gives nothing. Else a pool is only raised or only lowered, by what it lacks
// or has too much and in the zones that are off their share. So it never has more than
// before on the way to less, and whatever comes in between, nothing was raised at the
// expense of a decrease that is still to come.
//
// zones are those whose machine deployments are there and may be written. A machine deployment that
// is being deleted, or that another controller made, only counts against the room.
func level(zones []Zone, r room, live map[string]MachineDeployment) map[string]int32 {
	lack := map[string]int32{}
	for _, z := range zones {
		lack[z.Pool.Name] = z.Pool.Minimum
	}
	for _, z := range zones {
		lack[z.Pool.Name] -= max(0, live[z.Name()].Replicas)
	}
	out := map[string]int32{}
	for _, z := range zones {
		pool, has := z.Pool.Name, max(0, live[z.Name()].Replicas)
		off := z.Minimum() - has
		switch {
		case lack[pool] > 0 && off > 0:
			off = r.take(pool, min(off, lack[pool]))
		case lack[pool] < 0 && off < 0:
			off = max(off, lack[pool])
		default:
			off = 0
		}
		lack[pool] -= off
		out[z.Name()] = has + off
	}
	return out
}

// keep is what becomes of the replicas of a machine deployment that is there. levels are
// those of pools that no autoscaler looks after.
func (z Zone) keep(r room, md MachineDeployment, allAsleep bool, levels map[string]int32) move {
	has := md.Replicas
	to := func(n int32, why string) move {
		if n == has {
			return move{}
		}
		return move{n, fmt.Sprintf("replicas moved from %d to %d: %s", has, n, why)}
	}
	switch {
	case z.Cluster.Hibernated:
		return to(0, "the shoot is hibernated")
	case !z.Cluster.Autoscaled():
		return to(levels[z.Name()],
			fmt.Sprintf("no pool leaves an autoscaler any room, so the pool has its minimum, %d", z.Pool.Minimum))
	case has == 0 && (md.Asleep || md.Worker == "" && allAsleep):
		return to(r.take(z.Pool.Name, z.Minimum()), "the shoot wakes up")
	case has < 0:
		return to(0, "less than 0 are not possible")
	case has > z.Pool.Maximum:
		return to(z.Pool.Maximum, "more than the pool's maximum")
	}
	return move{}
}
