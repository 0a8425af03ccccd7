package kwok

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

const (
	// machinesConfigMap remembers the machines that have no node. Its name is fixed, so that the
	// permission to write can be limited to it.
	machinesConfigMap = "kwok-provider-machines"
	// rewrites bounds how often a change is retried because another came first. Each retry means
	// that another change succeeded, so this is how many groups can be changed at once.
	rewrites = 32
)

// machine is a machine without a node: one entry of the ConfigMap, under the
// machine's name.
type machine struct {
	Group   string    `json:"group"`
	Fault   fault     `json:"fault"`
	Created time.Time `json:"created"`
	// Zone is empty unless the group is over several.
	Zone string `json:"zone,omitempty"`
}

// roll is what the ConfigMap says. It is shared by the callers of one reading,
// and never changed.
type roll struct {
	object   *corev1.ConfigMap // nil if there is none
	machines map[string]machine
}

// of counts a group's machines.
func (r roll) of(group string) int {
	n := 0
	for _, m := range r.machines {
		if m.Group == group {
			n++
		}
	}
	return n
}

// machineStore reads and writes the ConfigMap of machines. The ConfigMap exists
// as long as there is such a machine.
type machineStore struct {
	client    kubernetes.Interface
	namespace string // empty: there are no such machines
}

func (s machineStore) String() string {
	return fmt.Sprintf("ConfigMap %s/%s", s.namespace, machinesConfigMap)
}

// read is a read of the storage itself (rule P2).
func (s machineStore) read(ctx context.Context) (roll, error) {
	if s.namespace == "" {
		return roll{}, nil
	}
	object, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, machinesConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return roll{}, nil
	}
	if err != nil {
		return roll{}, fmt.Errorf("read the machines without a node, %s: %w", s, err)
	}
	// As for nodes: an invalid answer must not read as "no machines".
	if object.Name != machinesConfigMap || object.ResourceVersion == "" {
		return roll{}, fmt.Errorf("read the machines without a node, %s: the answer is not that ConfigMap", s)
	}
	return s.parse(object)
}

func (s machineStore) parse(object *corev1.ConfigMap) (roll, error) {
	r := roll{object: object, machines: map[string]machine{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(object.Data)) {
		m, err := parseMachine(object.Data[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: data[%s]: %w; delete the entry if it was written by hand", s, name, err))
			continue
		}
		r.machines[name] = m
	}
	if len(errs) > 0 {
		return roll{}, errors.Join(errs...)
	}
	return r, nil
}

func parseMachine(text string) (machine, error) {
	var m machine
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		return machine{}, fmt.Errorf("not a machine: %w", err)
	}
	switch {
	case m.Group == "":
		return machine{}, errors.New("group: must name the machine's group")
	case !m.Fault.withoutNode():
		return machine{}, fmt.Errorf("fault: %q is neither %s nor %s", m.Fault, failsToStart, neverRegisters)
	case m.Created.IsZero():
		return machine{}, errors.New("created: must be when the machine was made")
	}
	return m, nil
}

// rewrite changes the ConfigMap from what was read of it. If another write came first, it is read
// and edited again; edit returns an error for what no longer fits. Nothing was written if the error
// is a conflict.
func (s machineStore) rewrite(ctx context.Context, from roll, edit func(roll) (map[string]machine, error)) error {
	for attempt := 1; ; attempt++ {
		machines, err := edit(from)
		if err != nil {
			return err
		}
		if err = s.write(ctx, from.object, machines); err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || attempt == rewrites {
			return fmt.Errorf("write the machines without a node, %s: %w", s, err)
		}
		again, readErr := s.read(ctx)
		if readErr != nil {
			return fmt.Errorf("write the machines without a node, %s: %w, and then: %v", s, err, readErr)
		}
		from = again
	}
}

// write replaces the ConfigMap's content, if it is still the one that was read.
func (s machineStore) write(ctx context.Context, old *corev1.ConfigMap, machines map[string]machine) error {
	client := s.client.CoreV1().ConfigMaps(s.namespace)
	if len(machines) == 0 {
		if old == nil {
			return nil
		}
		err := client.Delete(ctx, old.Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &old.UID, ResourceVersion: &old.ResourceVersion}})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	data := make(map[string]string, len(machines))
	for name, m := range machines {
		text, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("encode the machine %q: %w", name, err)
		}
		data[name] = string(text)
	}
	if old == nil {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name:      machinesConfigMap,
				Namespace: s.namespace,
				Labels:    map[string]string{"app.kubernetes.io/managed-by": "plimsoll"},
			},
			Data: data,
		}
		_, err := client.Create(ctx, object, metav1.CreateOptions{})
		return err
	}
	object := old.DeepCopy()
	object.Data, object.BinaryData = data, nil
	_, err := client.Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) { // the last machine of all others has gone meanwhile
		return apierrors.NewConflict(corev1.Resource("configmaps"), old.Name, err)
	}
	return err
}

// enrol adds n machines of a group. It refuses, as a conflict, if the group's
// machines are no longer those that were seen.
func (s machineStore) enrol(ctx context.Context, g group, seen census, n int) ([]string, error) {
	fresh := make(map[string]machine, n)
	m := machine{Group: g.name, Fault: g.fault, Created: time.Now().UTC().Truncate(time.Second)}
	for zones := g.nextZones(seen, n); len(fresh) < n; {
		if name := nodeName(g.name); !seen.knows(name) {
			m.Zone = zones[len(fresh)]
			fresh[name] = m
		}
	}
	expected := seen.roll.of(g.name)
	err := s.rewrite(ctx, seen.roll, func(now roll) (map[string]machine, error) {
		if have := now.of(g.name); have != expected {
			return nil, conflict(fmt.Errorf("the group %q has %d machines without a node, not %d", g.name, have, expected))
		}
		all := maps.Clone(fresh)
		for name, other := range now.machines {
			if _, taken := fresh[name]; taken {
				return nil, conflict(fmt.Errorf("the name %q has been taken meanwhile", name))
			}
			all[name] = other
		}
		return all, nil
	})
	return slices.Sorted(maps.Keys(fresh)), err
}

// strikeOff takes machines out. A machine that no longer exists, or another one of that name, is
// left alone.
func (s machineStore) strikeOff(ctx context.Context, from roll, doomed []member) error {
	return s.rewrite(ctx, from, func(now roll) (map[string]machine, error) {
		rest := maps.Clone(now.machines)
		for _, d := range doomed {
			if m, ok := rest[d.name]; ok && m.Group == d.group && m.Created.Equal(d.created) {
				delete(rest, d.name)
			}
		}
		return rest, nil
	})
}

func conflict(why error) error {
	return apierrors.NewConflict(corev1.Resource("configmaps"), machinesConfigMap, why)
}
