package testkit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// stages are those of a removal, in order.
var stages = []string{
	string(model.Tainting), string(model.Tainted), string(model.Cordoning), string(model.Evicting),
	string(model.Removing), string(model.Removed), string(model.RollingBack),
}

// drain reads a removal that is under way.
// move has a move under way. What comes is a list of group:count, and nodes are those of it that are ready; others
// are those that the group was asked for. Of those that go, gone have left. With pressed=5s its old spot nodes have not
// waited for them since then.
func (s *Scenario) move(a args) {
	m := model.Move{
		ID: "move/" + a.name, Reason: model.Reason(a.get("reason", string(model.CheaperElsewhere))), Goes: a.list("goes"),
		Gone: a.list("gone"), Began: s.ago(a, "age"), Patience: time.Hour, Stay: time.Hour,
	}
	m.Entered = m.Began
	if a.has("pressed") {
		m.DrainAt = s.ago(a, "pressed")
	}
	if err := m.Stage.UnmarshalText([]byte(a.get("stage", "buying"))); err != nil {
		panic(err)
	}
	nodes := a.list("nodes")
	for _, what := range a.list("comes") {
		group, count, _ := strings.Cut(what, ":")
		p := model.Purchase{Group: provider.GroupID(group), Ask: "asked/" + group}
		if _, err := fmt.Sscan(count, &p.Count); err != nil {
			panic(err)
		}
		p.Nodes, nodes = nodes[:min(len(nodes), p.Count)], nodes[min(len(nodes), p.Count):]
		m.Comes = append(m.Comes, p)
	}
	s.Memory.Moves = append(s.Memory.Moves, m)
}

func (s *Scenario) drain(a args) {
	n := s.known(a.name)
	d := model.Drain{
		Node: n.Name, Stage: model.Stage(a.oneOf("stage", string(model.Tainted), stages...)), Since: s.ago(a, "since"),
		Occupied: a.has("occupied"), Unready: a.has("unready"), Why: a.get("why", ""), Code: model.Reason(a.get("code", "")),
	}
	d.Began = d.Since
	if a.has("began") {
		d.Began = s.ago(a, "began")
	}
	if a.has("notbefore") {
		d.NotBefore = s.Now.Add(a.duration("notbefore"))
	}
	if a.has("moved") {
		d.Moved = s.ago(a, "moved")
	}
	d.Group, d.Instance = s.home(n.Name)
	d.Group = provider.GroupID(a.get("group", string(d.Group)))
	for _, pod := range a.list("known") {
		d.Pods = append(d.Pods, types.UID(serial(pod)))
	}
	if a.has("known") && len(d.Pods) == 0 {
		for _, p := range s.bound[n.Name] {
			d.Pods = append(d.Pods, p.UID)
		}
	}
	slices.Sort(d.Pods)
	d.Evictions = s.evictions(a)
	s.stands(n, func(st *model.NodeStanding) {
		st.Drain = &d
		if verb := a.get("call", ""); verb != "" {
			st.Busy = &model.Call{ID: "open/" + n.Name, Verb: model.Verb(verb), Group: d.Group, Node: n.Name,
				Instance: d.Instance, Deadline: s.Now.Add(time.Minute)}
		}
	})
	cordon := "no"
	if d.Occupied && slices.Contains([]model.Stage{model.Evicting, model.Removing, model.Removed}, d.Stage) {
		cordon = "yes"
	}
	// bare: nothing of it is written on the node.
	if far := a.oneOf("cordon", cordon, "yes", "no") == "yes"; !a.has("bare") {
		s.dress(n, d, far)
	}
}

// home is the group and the instance of a node, empty if it has none.
func (s *Scenario) home(node string) (provider.GroupID, provider.InstanceID) {
	for i := range s.Groups {
		for _, in := range s.Groups[i].Instances {
			if in.NodeName == node {
				return s.Groups[i].ID, in.ID
			}
		}
	}
	return "", ""
}

// dress gives a node what Plimsoll has written on it by a stage of its removal. A cordon of another client stays
// that client's.
func (s *Scenario) dress(n *corev1.Node, d model.Drain, cordon bool) {
	if d.Stage == model.Tainting {
		return
	}
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == model.TaintToBeDeleted })
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
		Key: model.TaintToBeDeleted, Value: strconv.FormatInt(d.Began.Unix(), 10), Effect: corev1.TaintEffectNoSchedule,
	})
	far := cmp.Or(n.Annotations[model.AnnotationRemoval], model.RemovalTainted)
	if cordon && !n.Spec.Unschedulable {
		n.Spec.Unschedulable, far = true, model.RemovalCordoned
	}
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, model.AnnotationRemoval, far)
}

// evictions reads pod:first[/last][:end] for each pod, sorted by pod.
func (s *Scenario) evictions(a args) []model.Eviction {
	otherwise := ""
	for _, end := range []string{"granted", "busy", "refused"} {
		if a.has(end) {
			otherwise = end
		}
	}
	var out []model.Eviction
	for _, text := range a.list("evicted") {
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 {
			panic(fmt.Errorf("evicted: %q is not like web-3:20s:granted", text))
		}
		namespace, pod, elsewhere := strings.Cut(parts[0], "/")
		if !elsewhere {
			namespace, pod = metav1.NamespaceDefault, parts[0]
		}
		app, _, _ := cutLast(pod)
		first, last, again := strings.Cut(parts[1], "/")
		if !again {
			last = first
		}
		e := model.Eviction{
			Pod: namespace + "/" + serial(pod), UID: types.UID(serial(pod)), Owner: owner(namespace, app),
			First: s.Now.Add(-must(time.ParseDuration(first))), Last: s.Now.Add(-must(time.ParseDuration(last))),
		}
		there := false
		for _, p := range slices.Concat(s.bound[a.name], s.unbound) {
			if p.UID == e.UID {
				e.Owner, there = p.Owner, true
			}
		}
		end := otherwise
		if len(parts) == 3 {
			end = parts[2]
		}
		switch end {
		case "granted":
			if e.Granted = true; !there {
				e.Gone = e.Last
			}
		case "busy":
			e.Busy = true
		case "refused":
			e.Why = "refused"
		case "":
		default:
			panic(fmt.Errorf("evicted: %q is none of granted, busy, refused", end))
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y model.Eviction) int { return cmp.Compare(x.Pod, y.Pod) })
	return out
}

// serial is the name of an app's pod by its number: web-3 is web-000003.
func serial(pod string) string {
	app, number, ok := cutLast(pod)
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		panic(fmt.Errorf("%q is not a pod: write web-3 for the third pod of web", pod))
	}
	return podName(app, n)
}

func cutLast(pod string) (app, number string, ok bool) {
	i := strings.LastIndexByte(pod, '-')
	if i < 0 {
		return pod, "", false
	}
	return pod[:i], pod[i+1:], true
}

// last is when something last happened, in a group.
type last struct {
	what  string
	at    time.Time
	group provider.GroupID
}

func (s *Scenario) last(a args) {
	if a.name == "interruption" {
		s.Memory.Interruptions = append(s.Memory.Interruptions, model.Interruption{Node: a.get("of", ""),
			At: s.ago(a, "age"), Group: provider.GroupID(a.get("group", ""))})
		return
	}
	if a.name == "eviction" {
		at := s.ago(a, "age")
		if s.Memory.Displaced == nil {
			s.Memory.Displaced = map[types.UID]model.Displaced{}
		}
		d := model.Displaced{First: at, Last: at}
		if d.Times = a.number("again", 0); d.Times > 0 {
			d.Again = at
		}
		s.Memory.Displaced[owner(metav1.NamespaceDefault, a.get("of", ""))] = d
		return
	}
	if !slices.Contains([]string{"growth", "demand", "removal", "failure"}, a.name) {
		panic(fmt.Errorf("%q is none of growth, demand, removal, failure", a.name))
	}
	s.lasts = append(s.lasts, last{a.name, s.ago(a, "age"), provider.GroupID(a.get("group", ""))})
}

// set puts it into a standing: the cluster's and its group's.
func (l last) set(s *model.Standing) {
	g := s.Groups[l.group]
	switch l.what {
	case "growth":
		s.LastGrowth, g.LastGrowth = l.at, l.at
	case "demand": // a growth for anything but a move
		s.LastGrowth, g.LastGrowth, s.LastDemand, g.LastDemand = l.at, l.at, l.at, l.at
	case "removal":
		s.LastRemoval, g.LastRemoval = l.at, l.at
	case "failure":
		s.LastFailure, g.LastFailure = l.at, l.at
		s.FailureWhy, g.FailureWhy = "a node that was rolled back", "a node that was rolled back"
	}
	s.Groups[l.group] = g
}
