package pools

import (
	"strings"

	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// MachineDeployment is a machine deployment as the API server has it.
type MachineDeployment struct {
	Name, UID, ResourceVersion string
	// Worker names the Worker that this controller made it for. It is empty if this controller did not
	// make it. Pool is its worker pool.
	Worker, Pool string
	Replicas     int32
	// Asleep: its replicas are 0 since the shoot was hibernated.
	Asleep, Deleting bool
	Object           map[string]any
}

// Read reads a machine deployment from its JSON object. A number that is none is 0,
// as it is for the machine-controller-manager.
func Read(object map[string]any) MachineDeployment {
	replicas, _ := nested(object, "spec", "replicas").(int64)
	return MachineDeployment{
		Name:            stringAt(object, "metadata", "name"),
		UID:             stringAt(object, "metadata", "uid"),
		ResourceVersion: stringAt(object, "metadata", "resourceVersion"),
		Worker:          stringAt(object, "metadata", "annotations", workerAnnotation),
		Pool:            stringAt(object, "metadata", "labels", mcm.PoolLabel),
		Replicas:        int32(replicas),
		Asleep:          stringAt(object, "metadata", "annotations", HibernatedAnnotation) != "",
		Deleting:        nested(object, "metadata", "deletionTimestamp") != nil,
		Object:          object,
	}
}

// isAnothers reports whether it is another Worker's.
func (md MachineDeployment) isAnothers(c Cluster) bool {
	return md.Worker != "" && md.Worker != c.Worker
}

// zone is the zone that its nodes are labelled with.
func (md MachineDeployment) zone() string {
	return stringAt(md.Object, "spec", "template", "spec", "nodeTemplate", "metadata", "labels", zoneLabel)
}

// class is the machine class that it names.
func (md MachineDeployment) class() string {
	return stringAt(md.Object, "spec", "template", "spec", "class", "name")
}

// MachineClass is a machine class that is there. Created is its creation time in
// RFC 3339, which sorts as text.
type MachineClass struct {
	Name, Created string
	Deleting      bool
}

// findClass is the machine class for a machine deployment, and whether it is there.
//
// Gardener names classes after their machine deployment and a hash of what a machine
// is made of, which only the cloud's extension can compute. So the newest class of
// such a name is taken, or one of the machine deployment's own name. If there is
// none, it is the one that the machine deployment named before, else one of its own
// name, for machine-controller-manager to wait for.
func findClass(deployment, before string, classes []MachineClass) (string, bool) {
	var best MachineClass
	kept := false
	for _, c := range classes {
		kept = kept || c.Name == before && !c.Deleting
		if c.Deleting || !isClassOf(c.Name, deployment) {
			continue
		}
		if c.Created > best.Created || c.Created == best.Created && c.Name > best.Name {
			best = c
		}
	}
	switch {
	case best.Name != "":
		return best.Name, true
	case before != "":
		return before, kept
	}
	return deployment, false
}

// isClassOf reports whether a class is a machine deployment's by its name: that name
// itself, or with a hash after it.
func isClassOf(class, deployment string) bool {
	rest, ok := strings.CutPrefix(class, deployment)
	if !ok || rest == "" {
		return ok
	}
	hash, ok := strings.CutPrefix(rest, "-")
	return ok && hash != "" && !strings.Contains(hash, "-")
}
