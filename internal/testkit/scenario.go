package testkit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Scenario is a cluster read from text, one thing per line:
//
//	group general min=0 max=10 cpu=8 memory=32Gi zone=a taint=dedicated=x:NoSchedule pool=p price=0.4
//	pool p max=5
//	node n1 group=general                 a ready node of the group
//	node n2 group=general notready age=1m one that has just registered
//	node n3 group=general cpu=3 adds=k=v:NoSchedule notready=5m   and how it differs
//	node own cpu=4 memory=16Gi            one that no group has
//	pods web count=30 cpu=1 memory=1Gi    pods that the scheduler has refused
//	pods old count=3 cpu=1 node=n1        pods that run on n1
//	instance i1 group=general age=20m     one without a node; failed=NoCapacity
//	asked general count=2 age=16m         a growth in flight, without instances
//	arrived n1 ready=10s for=web          a node that was bought for these pods
//	braked general for=web node=n1 reason=TemplateMismatch age=5m   a growth that did not help
//	daemonset agent cpu=200m memory=100Mi
//
// Pods may also say: spread=zone[:skew], apart=host, together=zone (each about
// pods of the app named by with=, else their own), select=key:value,
// affinity=key:value|value, tolerate=key, priority=n, port=n, labels=key:value,
// namespace=name, scheduler=name, unseen (no scheduler has looked at them),
// claim (they want a dynamic resource). zone and host are short for their
// labels. Every pod has the label app with its name.
type Scenario struct {
	*Cluster
	Policy model.Policy
	// Standing overrides what the ledger makes of the rest; Memory is what it
	// begins with.
	Standing model.Standing
	Memory   model.Memory
	arrived  []arrival
	braked   []brake
}

// arrival is a node that came for the pods of an app.
type arrival struct {
	model.Arrival
	app string
}

// brake is a group that is held for the pods of an app.
type brake struct {
	model.Brake
	app string
}

// Snapshot is the moment as the ledger and the snapshot make it of what is
// there.
func (s *Scenario) Snapshot(p model.Policy) *model.Snapshot {
	seen := s.Observation()
	m := s.Memory
	plain := model.NewSnapshot(nil, seen, model.Standing{}, p.Rules)
	// An app's class is told by the names of its pods: its labels may be no part
	// of the class.
	class := func(app string) string {
		for _, q := range plain.Pending {
			if strings.HasPrefix(q.Pods[0].Name, app+"-") {
				return plain.Classes[q.Class].Digest()
			}
		}
		return ""
	}
	for _, a := range s.arrived {
		a.For = []string{class(a.app)}
		m.Arrivals = append(m.Arrivals, a.Arrival)
	}
	for _, k := range s.braked {
		k.Class = class(k.app)
		for i := range plain.Groups {
			if plain.Groups[i].ID == k.Group {
				k.Template = plain.Contents.Shapes[plain.Groups[i].Shape].Digest()
			}
		}
		m.Brakes = append(m.Brakes, k.Brake)
	}
	standing := ledger.Restore(p.Rules, m).Fold(seen, nil).Standing()
	for id, g := range s.Standing.Groups {
		was := standing.Groups[id]
		was.Expected = g.Expected
		standing.Groups[id] = was
	}
	for name, n := range s.Standing.Nodes {
		standing.Nodes[name] = n
	}
	return model.NewSnapshot(nil, seen, standing, p.Rules)
}

// NewScenario is an empty cluster under the default policy.
func NewScenario() *Scenario {
	return &Scenario{Cluster: New(), Policy: Policy(), Standing: model.Standing{
		Groups: map[provider.GroupID]model.GroupStanding{}, Nodes: map[string]model.NodeStanding{},
	}}
}

// Add reads lines; an error names the line.
func (s *Scenario) Add(text string) error {
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := s.line(words); err != nil {
			return fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	return nil
}

// args are a line's key=value words; a word without a value is "".
type args struct {
	name string
	m    map[string]string
	used map[string]bool
}

func (a args) get(key, otherwise string) string {
	a.used[key] = true
	if v, ok := a.m[key]; ok {
		return v
	}
	return otherwise
}

func (a args) has(key string) bool {
	a.used[key] = true
	_, ok := a.m[key]
	return ok
}

func (a args) number(key string, otherwise int) int {
	n, err := strconv.Atoi(a.get(key, strconv.Itoa(otherwise)))
	if err != nil {
		panic(fmt.Errorf("%s: %w", key, err))
	}
	return n
}

func (a args) duration(key string) time.Duration {
	d, err := time.ParseDuration(a.get(key, "0s"))
	if err != nil {
		panic(fmt.Errorf("%s: %w", key, err))
	}
	return d
}

// pair splits "key:value".
func pair(s string) (string, string) {
	k, v, _ := strings.Cut(s, ":")
	return long(k), v
}

func long(key string) string {
	switch key {
	case "zone":
		return corev1.LabelTopologyZone
	case "host":
		return corev1.LabelHostname
	}
	return key
}

func (s *Scenario) line(words []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	if len(words) < 2 {
		return fmt.Errorf("a kind and a name are wanted")
	}
	a := args{name: words[1], m: map[string]string{}, used: map[string]bool{}}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		a.m[k] = v
	}
	switch words[0] {
	case "group":
		s.group(a)
	case "pool":
		s.Pools = append(s.Pools, provider.Pool{ID: provider.PoolID(a.name), Min: a.number("min", 0), Max: a.number("max", 0)})
	case "node":
		s.node(a)
	case "pods":
		s.pods(a)
	case "instance":
		s.instance(a)
	case "asked":
		at := s.Now.Add(-a.duration("age"))
		s.find(a.name).Target += a.number("count", 1)
		s.Memory.Asks = append(s.Memory.Asks, model.Ask{ID: "asked/" + a.name, Group: provider.GroupID(a.name), At: at, Units: make([]model.Unit, a.number("count", 1))})
	case "arrived":
		s.arrived = append(s.arrived, arrival{model.Arrival{Node: a.name, Group: provider.GroupID(a.get("group", "")), Ready: s.Now.Add(-a.duration("ready"))}, a.get("for", "")})
	case "braked":
		s.braked = append(s.braked, brake{model.Brake{Group: provider.GroupID(a.name), Node: a.get("node", ""),
			Reason: model.Reason(a.get("reason", string(model.TemplateMismatch))), Since: s.Now.Add(-a.duration("age"))}, a.get("for", "")})
	case "daemonset":
		s.DaemonSet(a.name, s.pod(a))
	case "expected":
		id := provider.GroupID(a.name)
		s.Standing.Groups[id] = model.GroupStanding{Expected: a.number("target", 0)}
	default:
		return fmt.Errorf("%q is none of group, pool, node, pods, instance, asked, arrived, braked, daemonset, expected", words[0])
	}
	for k := range a.m {
		if !a.used[k] {
			return fmt.Errorf("%s does not take %q", words[0], k)
		}
	}
	return nil
}

func (s *Scenario) shape(name string, a args) *corev1.Node {
	labels := map[string]string{}
	if z := a.get("zone", ""); z != "" {
		labels[corev1.LabelTopologyZone] = z
	}
	if l := a.get("labels", ""); l != "" {
		for _, kv := range strings.Split(l, ",") {
			k, v := pair(kv)
			labels[k] = v
		}
	}
	var taints []corev1.Taint
	if t := a.get("taint", ""); t != "" {
		taints = append(taints, taint(t))
	}
	n := Node(name, a.get("cpu", "8"), a.get("memory", "32Gi"), labels, taints...)
	n.Status.Capacity[corev1.ResourcePods] = resource.MustParse(a.get("pods", "110"))
	if g := a.get("gpu", ""); g != "" {
		n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse(g)
	}
	return n
}

// taint reads key=value:effect.
func taint(s string) corev1.Taint {
	kv, effect, _ := strings.Cut(s, ":")
	k, v, _ := strings.Cut(kv, "=")
	return corev1.Taint{Key: k, Value: v, Effect: corev1.TaintEffect(effect)}
}

func (s *Scenario) group(a args) {
	g := s.Group(a.name, a.number("min", 0), a.number("max", 10), s.shape("", a))
	g.Pool = provider.PoolID(a.get("pool", ""))
	g.Target = a.number("target", 0)
	if p := a.get("price", ""); p != "" {
		v, err := strconv.ParseFloat(p, 64)
		if err != nil {
			panic(err)
		}
		g.PricePerHour = &v
	}
	if o := a.get("own", ""); o != "" {
		g.OwnLabels = []string{o}
	}
	if a.has("held") {
		g.Holds = []provider.Hold{{Op: provider.OpGrow, Reason: "Rollout", Message: a.get("held", "")}}
	}
	if a.has("unreadable") {
		g.Err = &provider.Error{Op: provider.OpInventory, Group: g.ID, Kind: provider.Unavailable}
	}
}

func (s *Scenario) find(id string) *provider.Group {
	for i := range s.Groups {
		if string(s.Groups[i].ID) == id {
			return &s.Groups[i]
		}
	}
	panic(fmt.Errorf("there is no group %q yet", id))
}

func (s *Scenario) instance(a args) {
	g := s.find(a.get("group", ""))
	in := provider.Instance{ID: provider.InstanceID(a.name), NodeName: a.name, ProviderID: "test:" + a.name, State: provider.Creating, Created: s.Now.Add(-a.duration("age"))}
	if kind := a.get("failed", ""); kind != "" {
		in.Err = &provider.Error{Op: provider.OpGrow, Group: g.ID, Kind: provider.Kind(kind)}
	}
	in.Hold = a.get("held", "")
	g.Instances = append(g.Instances, in)
	g.Target++
}

func (s *Scenario) node(a args) {
	group := a.get("group", "")
	var n *corev1.Node
	if group == "" {
		n = s.shape(a.name, a)
	} else {
		for i := range s.Groups {
			if string(s.Groups[i].ID) == group {
				n = s.Groups[i].Template.Node.DeepCopy()
			}
		}
		if n == nil {
			panic(fmt.Errorf("there is no group %q yet", group))
		}
		n.Name, n.Labels[corev1.LabelHostname] = a.name, a.name
		if cpu := a.get("cpu", ""); cpu != "" {
			n.Status.Capacity[corev1.ResourceCPU] = resource.MustParse(cpu)
			n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if t := a.get("adds", ""); t != "" {
			n.Spec.Taints = append(n.Spec.Taints, taint(t))
		}
	}
	n.CreationTimestamp = metav1.NewTime(s.Now.Add(-time.Hour))
	if a.has("age") {
		n.CreationTimestamp = metav1.NewTime(s.Now.Add(-a.duration("age")))
	}
	if a.has("notready") {
		n.Status.Conditions[0].Status = corev1.ConditionFalse
		n.Status.Conditions[0].LastTransitionTime = n.CreationTimestamp
		if a.get("notready", "") != "" {
			n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(s.Now.Add(-a.duration("notready")))
		}
	}
	n.Spec.Unschedulable = a.has("cordoned")
	if k := a.get("annotation", ""); k != "" {
		key, v := pair(k)
		n.Annotations = map[string]string{key: v}
	}
	if a.has("deleting") {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule})
	}
	if a.has("tainted") {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule})
		s.Standing.Nodes[a.name] = model.NodeStanding{Drain: &model.Drain{
			Node: a.name, Group: provider.GroupID(a.get("ours", group)), Stage: model.Tainted, Since: s.Now.Add(-a.duration("tainted")),
		}}
	}
	if a.has("removed") {
		s.Standing.Nodes[a.name] = model.NodeStanding{Drain: &model.Drain{Node: a.name, Stage: model.Removed, Since: s.Now}}
	}
	if a.has("removing") {
		s.Standing.Nodes[a.name] = model.NodeStanding{Drain: &model.Drain{
			Node: a.name, Group: provider.GroupID(group), Instance: provider.InstanceID(a.name), Stage: model.Removing, Since: s.Now,
		}}
	}
	if a.has("unneeded") {
		s.Standing.Nodes[a.name] = model.NodeStanding{UnneededSince: s.Now.Add(-a.duration("unneeded"))}
	}
	s.AddNode(n, group)
	if a.has("removing") {
		instances := s.find(group).Instances
		instances[len(instances)-1].State = provider.Deleting
	}
}

func (s *Scenario) pods(a args) {
	p := s.pod(a)
	node, count := a.get("node", ""), a.number("count", 1)
	switch {
	case node != "":
		var flags model.Flags
		if a.has("daemon") {
			flags = model.FromDaemonSet
		}
		s.BoundAs(p, count, node, flags, "")
	case a.has("unseen"):
		s.Unseen(p, count)
	default:
		s.Pending(p, count)
	}
}

func (s *Scenario) pod(a args) *corev1.Pod {
	labels := map[string]string{"app": a.name}
	if l := a.get("labels", ""); l != "" {
		k, v := pair(l)
		labels[k] = v
	}
	p := Pod(a.get("namespace", "default"), a.name, a.get("cpu", ""), a.get("memory", ""), labels)
	about := map[string]string{"app": a.get("with", a.name)}
	if v := a.get("spread", ""); v != "" {
		key, skew := pair(v)
		n := 1
		if skew != "" {
			n = must(strconv.Atoi(skew))
		}
		SpreadOver(p, key, int32(n), about)
	}
	if v := a.get("apart", ""); v != "" {
		Apart(p, long(v), about)
	}
	if v := a.get("together", ""); v != "" {
		Together(p, long(v), about)
	}
	if v := a.get("select", ""); v != "" {
		k, value := pair(v)
		p.Spec.NodeSelector = map[string]string{k: value}
	}
	if v := a.get("affinity", ""); v != "" {
		k, values := pair(v)
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: k, Operator: corev1.NodeSelectorOpIn, Values: strings.Split(values, "|"),
			}}}},
		}}}
	}
	if v := a.get("tolerate", ""); v != "" {
		p.Spec.Tolerations = []corev1.Toleration{{Key: v, Operator: corev1.TolerationOpExists}}
	}
	if v := a.get("gpu", ""); v != "" {
		p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse(v)
	}
	if a.has("priority") {
		n := int32(a.number("priority", 0))
		p.Spec.Priority = &n
	}
	if a.has("port") {
		n := int32(a.number("port", 0))
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: n, ContainerPort: n, Protocol: corev1.ProtocolTCP}}
	}
	if a.has("claim") {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device"}}
	}
	p.Spec.SchedulerName = a.get("scheduler", corev1.DefaultSchedulerName)
	return p
}

func must(n int, err error) int {
	if err != nil {
		panic(err)
	}
	return n
}
