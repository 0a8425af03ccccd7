package gardener

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// standing is how a group's machines stand to its target.
type standing struct {
	// live are those that are not on their way out.
	live []*v1alpha1.Machine
	// leaving says of each machine whether it is on its way out.
	leaving map[string]bool
	// marked are live ones that are named to go, and may stay all the same: the
	// target has not been lowered for them, and their mark alone does not end them.
	marked []*v1alpha1.Machine
	// waiting are those on their way out that are so only since the target was
	// lowered for them: raised again, they would stay.
	waiting []string
	// rolling names a MachineSet of an older revision that has machines, empty if
	// there is none.
	rolling string
}

// standingOf sorts machines into those that are on their way out and those that are
// not. On its way out is what is being deleted; what has failed and is not kept for
// a person to look at, since its MachineSet replaces it at once; what is named without a
// time, or with one that is not after the last change, since that ends it whatever the
// replicas are; and what is marked otherwise, if the target was lowered for it.
func standingOf(
	d *v1alpha1.MachineDeployment, machines []*v1alpha1.Machine, sets []*v1alpha1.MachineSet, marks []mark,
	how marker, now time.Time,
) standing {
	s := standing{leaving: map[string]bool{}, rolling: rollingOut(sets)}
	last := lastChange(d)
	if d.Annotations[v1alpha1.LastReplicaChangeAnnotation] == "" {
		last = now // machine-controller-manager writes that before it reads the names
	}
	named := map[string]mark{}
	for _, m := range slices.Backward(marks) {
		named[m.machine] = m
	}
	for _, m := range machines {
		mark, isNamed := named[m.Name]
		dated := how == timestamped && isDated(m, mark, isNamed, last)
		if ending(m, now) || dated {
			s.leaving[m.Name] = true
			continue
		}
		s.live = append(s.live, m)
		if isNamed || prioritised(m) {
			s.marked = append(s.marked, m)
		}
	}
	// Of the machines that are there, the marked ones go first.
	if s.rolling == "" && len(s.marked) > 0 && len(s.live)-int(d.Spec.Replicas) >= len(s.marked) {
		for _, m := range s.marked {
			s.leaving[m.Name] = true
			s.waiting = append(s.waiting, m.Name)
		}
		s.live = slices.DeleteFunc(s.live, func(m *v1alpha1.Machine) bool { return s.leaving[m.Name] })
		s.marked = nil
	}
	return s
}

// isDated reports whether a time ends the machine, be it on the machine, which keeps it
// whatever it is named with later, or in the annotation. A bare name gets the time of the
// last change.
func isDated(m *v1alpha1.Machine, named mark, isNamed bool, last time.Time) bool {
	switch {
	case m.Annotations[v1alpha1.MarkedForDeletionAnnotation] != "":
		return (isNamed || priorityOf(m) == priorityDelete) && doomed(markedAt(m), last)
	case !isNamed:
		return false
	}
	return named.text == named.machine || doomed(named.at, last)
}

// doomed reports whether a mark of a time ends its machine.
func doomed(at, last time.Time) bool { return !at.IsZero() && !at.After(last) }

func markedAt(m *v1alpha1.Machine) time.Time {
	at, err := time.Parse(time.RFC3339, m.Annotations[v1alpha1.MarkedForDeletionAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// ending reports whether a machine is going by what it says of itself.
func ending(m *v1alpha1.Machine, now time.Time) bool {
	phase := m.Status.CurrentStatus.Phase
	return m.DeletionTimestamp != nil || phase == v1alpha1.MachineTerminating ||
		phase == v1alpha1.MachineFailed && preserved(m, now) == ""
}

// preserved says why a machine is kept for a person to look at, empty if it is not.
// One that has failed and is only about to be kept counts as kept.
func preserved(m *v1alpha1.Machine, now time.Time) string {
	status := m.Status.CurrentStatus
	if until := status.PreserveExpiryTime; until != nil {
		if until.After(now) {
			return fmt.Sprintf("it is preserved until %s", until.UTC().Format(time.RFC3339))
		}
		return ""
	}
	switch value := m.Annotations[v1alpha1.PreserveAnnotation]; {
	case value == "now", status.Phase == v1alpha1.MachineFailed &&
		slices.Contains([]string{"when-failed", "auto-preserved"}, value):
		return fmt.Sprintf("it is to be preserved (%s=%s)", v1alpha1.PreserveAnnotation, value)
	}
	return ""
}

// keep says why a machine must not be removed now, empty if it may.
func keep(m *v1alpha1.Machine, strange error, now time.Time) string {
	switch {
	case strange != nil:
		return fmt.Sprintf("the Machine cannot be read: %v", strange)
	case m.Status.CurrentStatus.Phase == v1alpha1.MachineInPlaceUpdating:
		return "it is being updated in place"
	}
	return preserved(m, now)
}

// instanceOf is a machine as an instance. Its zone is that of the class.
func instanceOf(m *v1alpha1.Machine, s standing, strange error, now time.Time) provider.Instance {
	out := provider.Instance{
		ID: provider.InstanceID(m.Name), ProviderID: strings.TrimSpace(m.Spec.ProviderID),
		NodeName: m.Labels[v1alpha1.NodeLabel],
		Created:  m.CreationTimestamp.Time, State: provider.Running,
	}
	switch {
	case s.leaving[m.Name]:
		out.State = provider.Deleting
		return out
	case creating(m) && strange == nil:
		out.State = provider.Creating
		if out.Err = failureOf(m); out.Err != nil {
			out.Retry = retryOf(out.Err)
		}
	}
	out.Hold = keep(m, strange, now)
	return out
}

// creating reports whether a machine has not been there as a node yet.
func creating(m *v1alpha1.Machine) bool {
	switch m.Status.CurrentStatus.Phase {
	case "", v1alpha1.MachinePending, v1alpha1.MachineCrashLoopBackOff:
		return true
	}
	return false
}

// hasJoined reports whether machine-controller-manager knows of a node of the machine. Of
// one in the phase Unknown it knew, and may have lost it: that is for the caller to see.
func hasJoined(m *v1alpha1.Machine) bool {
	switch m.Status.CurrentStatus.Phase {
	case v1alpha1.MachineRunning, v1alpha1.MachineInPlaceUpdating, v1alpha1.MachineInPlaceUpdateSuccessful,
		v1alpha1.MachineInPlaceUpdateFailed:
		return true
	}
	return creating(m) && len(m.Status.Conditions) > 0 // which are copied from its node
}

// instancesOf are a group's instances, sorted.
func instancesOf(machines []*v1alpha1.Machine, s standing, zone string, c census, now time.Time) []provider.Instance {
	var out []provider.Instance
	for _, m := range machines {
		in := instanceOf(m, s, c.strange[v1alpha1.KindMachine+"/"+m.Name], now)
		in.Zone = zone
		out = append(out, in)
	}
	slices.SortFunc(out, func(a, b provider.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// unambiguous takes away provider ids and names of nodes that several instances
// claim, so that no node is taken for the wrong one. An instance that is not being
// deleted has the better claim: the cloud may give an address away again before the
// old Machine is gone. It returns the values that no Machine gets.
func unambiguous(groups []provider.Group) []string {
	claims := map[string][]*provider.Instance{}
	for i := range groups {
		for j := range groups[i].Instances {
			in := &groups[i].Instances[j]
			if in.ProviderID != "" {
				claims["provider id "+in.ProviderID] = append(claims["provider id "+in.ProviderID], in)
			}
			if in.NodeName != "" {
				claims["node "+in.NodeName] = append(claims["node "+in.NodeName], in)
			}
		}
	}
	var twice []string
	for what, claim := range claims {
		if len(claim) < 2 {
			continue
		}
		living := slices.DeleteFunc(slices.Clone(claim), func(in *provider.Instance) bool {
			return in.State == provider.Deleting
		})
		var who []string
		for _, in := range claim {
			who = append(who, string(in.ID))
			if len(living) == 1 && in == living[0] {
				continue
			}
			if strings.HasPrefix(what, "node ") {
				in.NodeName = ""
			} else {
				in.ProviderID = ""
			}
		}
		if len(living) != 1 {
			slices.Sort(who)
			twice = append(twice, fmt.Sprintf("%s: %s", what, strings.Join(who, ", ")))
		}
	}
	slices.Sort(twice)
	return twice
}
