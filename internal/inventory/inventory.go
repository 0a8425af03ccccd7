// Package inventory is the trusted picture of the cloud: a provider's newest answer, without the
// parts that must not be believed (rule P7).
//
// What flows in: a provider's answers, one after the other, and which instances
// have a node that is Ready. What flows out: the picture to decide on. An answer
// without groups, a group missing from an answer, and an instance that is not
// listed while its node is Ready are contradictions, not facts.
//
// Pure: no clock, no I/O. Who may import it: observers (observe, sim).
package inventory

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Rule P7 in numbers: after how many complete answers without it a group counts as gone, and for
// how long a Ready node counts more than a cloud that does not list its instance, or its group. The
// second must be longer than any cloud's listing lags, and must end: a machine that a person took
// out of its group stays Ready, and no longer belongs to the group.
const (
	forgetGroupAfter    = 3
	believeNodeAgainst  = 10 * time.Minute
	reasonMissing       = "MissingFromAnswer"
	reasonEmptyInstead  = "EmptyAnswer"
	reasonTwiceInAnswer = "GroupTwiceInAnswer"
)

// Known is what is known of the cloud: the last good answer, and what only older ones had.
type Known struct {
	inventory provider.Inventory
	missing   map[provider.GroupID]lack
	absent    []absence
}

// lack is how many complete answers in a row lacked a group, and the AsOf of the first of them.
type lack struct {
	answers int
	since   time.Time
}

// absence is an instance that the newest answer lacks.
type absence struct {
	group    provider.GroupID
	instance provider.Instance
	since    time.Time // AsOf of the first answer without it
}

// Latest is the newest picture, without the instances that it lacks.
func (k Known) Latest() provider.Inventory { return k.inventory }

// Contradicted reports whether instances are missing that Believed may bring back.
func (k Known) Contradicted() bool { return len(k.absent) > 0 }

// Differs reports whether the next picture differs from this one in more than its
// age.
func (k Known) Differs(next Known) bool {
	a, b := k.inventory, next.inventory
	a.AsOf, b.AsOf = time.Time{}, time.Time{}
	if !slices.EqualFunc(a.Groups, b.Groups, sameGroup) {
		return true
	}
	a.Groups, b.Groups = nil, nil
	return !reflect.DeepEqual(a, b)
}

// sameGroup reports whether two pictures of a group are equal. A cloud has many instances, of which nearly all
// are equal to the bit.
func sameGroup(a, b provider.Group) bool {
	if !slices.EqualFunc(a.Instances, b.Instances, func(x, y provider.Instance) bool {
		return x == y || reflect.DeepEqual(x, y)
	}) {
		return false
	}
	a.Instances, b.Instances = nil, nil
	return reflect.DeepEqual(a, b)
}

// Fold adds a complete answer to what is known. An answer that cannot be true is an error, and
// changes nothing. ready reports whether an instance has a node that is Ready now; it is called
// only where an answer is in doubt.
func (k Known) Fold(answer provider.Inventory, ready func(*provider.Instance) bool) (Known, error) {
	if len(answer.Groups) == 0 && answer.Others == 0 && len(k.inventory.Groups) > 0 {
		return k, &provider.Error{Op: provider.OpInventory, Kind: provider.Transient, Code: reasonEmptyInstead,
			Message: fmt.Sprintf("the answer has no node group at all where there were %d; it is not believed",
				len(k.inventory.Groups))}
	}
	if answer.AsOf.IsZero() {
		return k, &provider.Error{
			Op: provider.OpInventory, Kind: provider.Transient, Message: "the answer does not say when it was read (AsOf)",
		}
	}
	next := Known{inventory: answer, missing: map[provider.GroupID]lack{}}
	next.inventory.Groups = make([]provider.Group, 0, len(answer.Groups))
	before := map[provider.GroupID]*provider.Group{}
	for i := range k.inventory.Groups {
		before[k.inventory.Groups[i].ID] = &k.inventory.Groups[i]
	}
	// 1. Groups of the answer; one that could not be read stays as it was.
	answered := map[provider.GroupID]bool{}
	for _, g := range answer.Groups {
		if answered[g.ID] {
			return k, &provider.Error{Op: provider.OpInventory, Group: g.ID, Kind: provider.Transient, Code: reasonTwiceInAnswer,
				Message: "the answer has this group twice"}
		}
		answered[g.ID] = true
		if old := before[g.ID]; g.Err != nil && old != nil {
			kept := *old
			kept.Err = g.Err
			g = kept
		}
		next.inventory.Groups = append(next.inventory.Groups, g)
	}
	// 2. Groups that it lacks are held for a while, longer if a node of theirs is Ready:
	// a pool whose zone is forgotten with nodes in it would grow above its maximum.
	var present map[string]bool // what the answer lists, made when first needed
	for id, old := range before {
		if answered[id] {
			continue
		}
		if present == nil {
			present = namesIn(answer)
		}
		n := lack{k.missing[id].answers + 1, k.missing[id].since}
		if n.answers == 1 {
			n.since = answer.AsOf
		}
		// An instance that another group lists now belongs to that group, whatever its nodes.
		held := *old
		held.Instances = slices.DeleteFunc(slices.Clone(old.Instances), func(in provider.Instance) bool {
			return listed(&in, present)
		})
		why := fmt.Sprintf("the group is missing from %d of the newest answers; after %d it is forgotten",
			n.answers, forgetGroupAfter)
		if n.answers >= forgetGroupAfter {
			if answer.AsOf.Sub(n.since) >= believeNodeAgainst || !anyOf(&held, ready) {
				continue
			}
			why = fmt.Sprintf("the group is missing from all answers since %s, and a node of it is Ready; it is forgotten when "+
				"none is, or %s after that", n.since.UTC().Format(time.TimeOnly), believeNodeAgainst)
		}
		next.missing[id] = n
		held.Err = &provider.Error{
			Op: provider.OpInventory, Group: id, Kind: provider.NotFound, Code: reasonMissing, Message: why,
		}
		next.inventory.Groups = append(next.inventory.Groups, held)
	}
	slices.SortFunc(next.inventory.Groups, func(a, b provider.Group) int { return cmp.Compare(a.ID, b.ID) })
	// 3. Instances that it lacks; whether their nodes are Ready is asked later.
	if len(k.absent) > 0 || k.Differs(next) {
		next.absent = k.absences(next.inventory)
		return next, nil
	}
	// Of an answer that says the same only the age is taken in: a caller that
	// caches by the lists of a picture finds the same lists.
	next.inventory, next.inventory.AsOf = k.inventory, answer.AsOf
	return next, nil
}

func anyOf(g *provider.Group, ready func(*provider.Instance) bool) bool {
	return slices.ContainsFunc(g.Instances, func(in provider.Instance) bool { return ready(&in) })
}

// absences are the instances that were known a while ago and that the next
// picture lacks.
func (k Known) absences(next provider.Inventory) []absence {
	groups := map[provider.GroupID]bool{}
	for i := range next.Groups {
		groups[next.Groups[i].ID] = true
	}
	present := namesIn(next)
	var out []absence
	add := func(a absence) {
		if !listed(&a.instance, present) && groups[a.group] && next.AsOf.Sub(a.since) < believeNodeAgainst {
			out = append(out, a)
		}
	}
	for i := range k.inventory.Groups {
		g := &k.inventory.Groups[i]
		for _, in := range g.Instances {
			add(absence{g.ID, in, next.AsOf})
		}
	}
	for _, a := range k.absent {
		add(a)
	}
	return out
}

// namesIn are all names under which instances are listed in an answer.
func namesIn(answer provider.Inventory) map[string]bool {
	present := map[string]bool{}
	for i := range answer.Groups {
		for j := range answer.Groups[i].Instances {
			for _, name := range namesOf(&answer.Groups[i].Instances[j]) {
				present[name] = true
			}
		}
	}
	return present
}

func listed(in *provider.Instance, present map[string]bool) bool {
	return slices.ContainsFunc(namesOf(in), func(name string) bool { return present[name] })
}

// namesOf are the names under which an instance may come back.
func namesOf(in *provider.Instance) []string {
	names := []string{"id/" + string(in.ID)}
	if in.ProviderID != "" {
		names = append(names, "provider/"+in.ProviderID)
	}
	if in.NodeName != "" {
		names = append(names, "node/"+in.NodeName)
	}
	return names
}

// Believed is the picture to decide on: the inventory, and the absent instances whose nodes are
// Ready now. It does not change Known.
func (k Known) Believed(ready func(*provider.Instance) bool) provider.Inventory {
	back := map[provider.GroupID][]provider.Instance{}
	for _, a := range k.absent {
		if ready(&a.instance) {
			a.instance.Unlisted = true
			back[a.group] = append(back[a.group], a.instance)
		}
	}
	if len(back) == 0 {
		return k.inventory
	}
	out := k.inventory
	out.Groups = slices.Clone(out.Groups)
	for i := range out.Groups {
		if more := back[out.Groups[i].ID]; len(more) > 0 {
			out.Groups[i].Instances = slices.Concat(out.Groups[i].Instances, more)
		}
	}
	return out
}
