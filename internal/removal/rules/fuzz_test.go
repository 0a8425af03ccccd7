package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
)

// world is a drawn cluster. Its pods are bound to one node, or wait.
type world struct {
	snap   *model.Snapshot
	policy model.Policy
	pods   []model.Pod
}

// drawn makes a world of choices: source gives a number below n.
type drawn struct{ source func(n int) int }

func (d drawn) yes() bool { return d.source(2) == 1 }

func (d drawn) among(some ...string) string { return some[d.source(len(some))] }

// usually gives the first of some more often than the others, so that pods get
// to the rules at the end of the list.
func (d drawn) usually(some ...string) string {
	return some[max(0, d.source(2*len(some))-len(some))]
}

func (d drawn) world() world {
	var w world
	w.policy.Rules.ExpendableBelow = int32(d.source(3)*10 - 10)
	w.policy.ScaleDown.Drain = model.DrainPolicy{
		SkipSystem: d.yes(), SkipLocal: d.yes(), SkipCustom: d.yes(),
		SystemTimeout: time.Duration(d.source(4)) * time.Minute, MinReplicas: d.source(4),
	}
	s := &model.Snapshot{Now: now.Add(time.Duration(d.source(4)) * 250 * time.Millisecond), Nodes: []*model.Node{{}},
		Pending: make([]model.Pending, 1)}
	for range 1 + d.source(4) {
		s.Contents.Specs = append(s.Contents.Specs, &model.Spec{
			Pod: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: d.among("web", "kube-system", "mail")},
				Spec:       corev1.PodSpec{Tolerations: d.tolerations()},
			},
			Priority: int32(d.source(5)*10 - 20),
		})
	}
	for range 1 + d.source(4) {
		set := map[string]string{}
		for _, key := range []string{"app", "tier"} {
			if v := d.among("", "a", "b", "c"); v != "" {
				set[key] = v
			}
		}
		s.Contents.Labels = append(s.Contents.Labels, &model.LabelSet{Labels: set})
	}
	for range d.source(6) {
		s.Contents.Facts = append(s.Contents.Facts, &model.Facts{
			Controller: d.usually("ReplicaSet", "", "Job", "StatefulSet", "ReplicationController", "CloneSet", "DaemonSet"),
			Group:      d.usually("apps", "", "batch", "extensions", "acme.org"),
			Safe:       model.SafeToEvict(max(0, d.source(7)-3)),
			Alone:      []time.Duration{0, 0, 0, model.Always, 100 * time.Second}[d.source(5)],
			Local:      d.usually("", "cache"),
		})
	}
	for i := range d.source(6) {
		s.Budgets = append(s.Budgets, d.budget(i))
	}
	for i := range 1 + d.source(8) {
		p := model.Pod{
			Name: fmt.Sprintf("p%d", i),
			Content: model.Content{
				Spec: model.SpecID(d.source(len(s.Contents.Specs))), Labels: model.LabelsID(d.source(len(s.Contents.Labels))),
			},
			Facts:   model.FactsID(d.source(max(1, len(s.Contents.Facts)))),
			Owner:   owner(d.source(4)),
			Created: now.Unix() - int64(d.source(200)),
		}
		for _, f := range []model.Flags{
			model.Mirror, model.Finished, model.FromDaemonSet, model.Terminating, model.Refused, model.Gated,
		} {
			if d.source(8) == 0 {
				p.Flags |= f
			}
		}
		if p.Flags&model.Terminating != 0 && d.source(8) > 0 {
			p.Ends = now.Unix() + int64(d.source(80)) - 60
		}
		w.pods = append(w.pods, p)
	}
	for i := range w.pods {
		if d.source(4) == 0 {
			s.Pending[0].Pods = append(s.Pending[0].Pods, &w.pods[i])
		} else {
			s.Nodes[0].Bound = append(s.Nodes[0].Bound, w.pods[i])
		}
	}
	w.snap = s
	return w
}

// tolerations are none, or one that lets the pod onto a node that goes, or one that does not.
func (d drawn) tolerations() []corev1.Toleration {
	if d.source(3) > 0 {
		return nil
	}
	return []corev1.Toleration{{
		Key: d.among("", model.TaintToBeDeleted, "dedicated"), Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffect(d.among("", "NoSchedule", "NoExecute")),
	}}
}

func (d drawn) budget(i int) model.Budget {
	selector := "-"
	if d.source(8) > 0 {
		var wants []string
		for _, key := range []string{"app", "tier"} {
			if d.yes() {
				wants = append(wants,
					fmt.Sprintf(d.among("%s=a", "%s in (a,b)", "%s!=a", "%s notin (b,c)", "%s", "!%s", "%s=b"), key))
			}
		}
		selector = strings.Join(wants, ",")
	}
	return budget(d.among("web", "kube-system", "mail"), fmt.Sprintf("b%d", i), selector, d.source(4)-1)
}

// The rules once more, as plainly as they can be said, with nothing remembered
// and nothing shared with the package.

func slowApply(
	s *model.Snapshot, policy model.Policy, p *model.Pod,
) (kind rules.Kind, reason model.Reason, until time.Time) {
	spec := s.Contents.Specs[p.Spec]
	var f model.Facts
	if len(s.Contents.Facts) > 0 {
		f = *s.Contents.Facts[p.Facts]
	}
	flags := policy.ScaleDown.Drain
	if p.Flags&model.Mirror != 0 {
		return rules.Stays, "", time.Time{}
	}
	if p.Flags&model.Finished != 0 {
		return rules.Stays, "", time.Time{}
	}
	if f.Alone == model.Always && p.Flags&model.Terminating == 0 {
		return rules.Blocks, model.NotSafeToEvict, time.Time{}
	}
	if end := time.Unix(p.Created, 0).Add(f.Alone); f.Alone != model.Always && end.After(s.Now) &&
		p.Flags&model.Terminating == 0 && f.Alone > 0 {
		return rules.Blocks, model.NotSafeToEvict, end
	}
	if p.Flags&model.FromDaemonSet != 0 {
		return rules.Stays, "", time.Time{}
	}
	if spec.Priority < policy.Rules.ExpendableBelow {
		return rules.Stays, "", time.Time{}
	}
	if p.Flags&model.Terminating != 0 {
		if p.Ends == 0 {
			return rules.Ends, "", time.Time{}
		}
		if s.Now.UnixNano() >= (p.Ends+30)*1e9 {
			return rules.Stays, "", time.Time{}
		}
		return rules.Ends, "", time.Unix(p.Ends+30, 0)
	}
	if flags.SkipCustom && flags.MinReplicas > 0 && f.Controller != "" && p.Owner != "" &&
		slowReplicas(s, p) < flags.MinReplicas {
		return rules.Blocks, model.MinReplicasReached, time.Time{}
	}
	if f.Safe == model.EvictYes {
		return rules.Moves, "", time.Time{}
	}
	if f.Safe == model.EvictOnCompletion {
		return rules.Blocks, model.BlockedByOnCompletionPod, time.Time{}
	}
	if f.Controller == "" {
		return rules.Blocks, model.NotReplicated, time.Time{}
	}
	if flags.SkipCustom {
		switch f.Controller + "/" + f.Group {
		case "ReplicationController/", "Job/batch", "ReplicaSet/apps", "ReplicaSet/extensions", "StatefulSet/apps":
		default:
			return rules.Blocks, model.NotReplicated, time.Time{}
		}
	}
	if spec.Pod.Namespace == "kube-system" && flags.SkipSystem && len(slowCovering(s, p)) == 0 {
		if old := time.Unix(p.Created, 0).Add(flags.SystemTimeout); s.Now.UnixNano() < old.UnixNano() {
			return rules.Blocks, model.UnmovableSystemPod, old
		}
	}
	if f.Safe == model.EvictNo {
		return rules.Blocks, model.NotSafeToEvict, time.Time{}
	}
	if flags.SkipLocal && f.Local != "" {
		return rules.Blocks, model.LocalStorageRequested, time.Time{}
	}
	removal := corev1.Taint{Key: model.TaintToBeDeleted, Value: "1", Effect: corev1.TaintEffectNoSchedule}
	for _, toleration := range spec.Pod.Spec.Tolerations {
		if toleration.ToleratesTaint(klog.Background(), &removal, false) {
			return rules.Blocks, model.ToleratesRemoval, time.Time{}
		}
	}
	return rules.Moves, "", time.Time{}
}

func slowCovering(s *model.Snapshot, p *model.Pod) (out []int) {
	for i, b := range s.Budgets {
		if b.Namespace != s.Contents.Specs[p.Spec].Pod.Namespace || b.Selector == nil {
			continue
		}
		if b.Selector.Matches(labels.Set(s.Contents.Labels[p.Labels].Labels)) {
			out = append(out, i)
		}
	}
	return out
}

func slowReplicas(s *model.Snapshot, p *model.Pod) (n int) {
	for _, node := range s.Nodes {
		for _, other := range node.Bound {
			if other.Owner == p.Owner && other.Flags&model.Finished == 0 && other.Flags&model.Terminating == 0 {
				n++
			}
		}
	}
	for _, pending := range s.Pending {
		for _, other := range pending.Pods {
			if other.Owner == p.Owner && other.Flags&model.Finished == 0 && other.Flags&model.Terminating == 0 {
				n++
			}
		}
	}
	return n
}

// slowTake reports whether the pod may move, and counts it if so.
func slowTake(s *model.Snapshot, p *model.Pod, left []int) bool {
	covering := slowCovering(s, p)
	if len(covering) > 1 {
		return false
	}
	if len(covering) == 1 {
		if left[covering[0]] <= 0 {
			return false
		}
		left[covering[0]]--
	}
	return true
}

// compare applies the rules to each pod of a world twice, by the package and plainly, and lets
// those that move take from the budgets. It tells which rules decided.
func compare(t *testing.T, w world) []string {
	t.Helper()
	c := rules.Of(w.snap, w.policy)
	left, slowLeft := c.Budgets(), make([]int, len(w.snap.Budgets))
	for i, b := range w.snap.Budgets {
		slowLeft[i] = max(0, b.Allowed)
	}
	var decided []string
	for round := range 2 { // the second time by what is remembered
		for i := range w.pods {
			p := &w.pods[i]
			a := c.Apply(rules.Ready, p)
			decided = append(decided, a.Kind.String()+" "+a.Rule)
			kind, reason, until := slowApply(w.snap, w.policy, p)
			if a.Kind != kind || a.Reason != reason || !a.Until.Equal(until) {
				t.Fatalf("round %d, %s: %v by %q, %s until %v\nplainly: %v, %s until %v\n%s",
					round, p.Name, a.Kind, a.Rule, a.Reason, a.Until, kind, reason, until, describe(w, p))
			}
			if named := strings.HasPrefix(
				a.Detail, w.snap.Contents.Specs[p.Spec].Pod.Namespace+"/"+p.Name+": ",
			); named != (kind == rules.Blocks) || named != (a.Fix != "") {
				t.Fatalf("%v with the detail %q and the fix %q", kind, a.Detail, a.Fix)
			}
			if got, want := c.Covering(p), slowCovering(w.snap, p); !slices.Equal(got, want) {
				t.Fatalf("%s is covered by %v, plainly by %v\n%s", p.Name, got, want, describe(w, p))
			}
			if p.Owner != "" && c.Replicas(p.Owner) != slowReplicas(w.snap, p) {
				t.Fatalf("%s: %d replicas, plainly %d", p.Owner, c.Replicas(p.Owner), slowReplicas(w.snap, p))
			}
			if kind != rules.Moves {
				continue
			}
			v, may := c.Take(p, left), slowTake(w.snap, p, slowLeft)
			if (v == nil) != may || !slices.Equal(left, slowLeft) {
				t.Fatalf("%s: %+v and %v left, plainly %v and %v left\n%s", p.Name, v, left, may, slowLeft, describe(w, p))
			}
			if v != nil {
				decided = append(decided, string(v.Reason))
			}
		}
	}
	return decided
}

func describe(w world, p *model.Pod) string {
	var f model.Facts
	if len(w.snap.Contents.Facts) > 0 {
		f = *w.snap.Contents.Facts[p.Facts]
	}
	return fmt.Sprintf(
		"pod %+v\nof %s, priority %d, labels %v, facts %+v\nunder %+v, expendable below %d, at %v, budgets %+v", *p,
		w.snap.Contents.Specs[p.Spec].Pod.Namespace, w.snap.Contents.Specs[p.Spec].Priority,
		w.snap.Contents.Labels[p.Labels].Labels, f,
		w.policy.ScaleDown.Drain, w.policy.Rules.ExpendableBelow, w.snap.Now, w.snap.Budgets,
	)
}

// worldOf draws from bytes; when they are used up, every choice is the first.
func worldOf(data []byte) world {
	return drawn{source: func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b) % n
	}}.world()
}

// seeds is enough to meet every rule.
func seeds() [][]byte {
	out := [][]byte{{}, []byte("pods of many kinds, and budgets for some of them")}
	state := uint64(1)
	for range 600 {
		b := make([]byte, 240)
		for i := range b {
			state = state*6364136223846793005 + 1442695040888963407
			b[i] = byte(state >> 56)
		}
		out = append(out, b)
	}
	return out
}

// FuzzJudge holds the rules and the counting of budgets against a plain and slow
// statement of them.
func FuzzJudge(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, worldOf(data)) })
}

// TestSeedsMeetEveryRule: the comparison would be worth little if the drawn pods
// were all alike.
func TestSeedsMeetEveryRule(t *testing.T) {
	met := map[string]int{}
	for _, s := range seeds() {
		for _, d := range compare(t, worldOf(s)) {
			met[d]++
		}
	}
	kinds := []string{"Stays Terminating", "Ends Terminating", "Moves SafeToEvict", "Moves ", string(model.NotEnoughPdb)}
	for _, want := range kinds {
		if met[want] < 10 {
			t.Errorf("%q was met %d times", want, met[want])
		}
	}
	for _, rule := range rules.Documented {
		n := 0
		for d, times := range met {
			if strings.HasSuffix(d, " "+rule) {
				n += times
			}
		}
		if n < 10 {
			t.Errorf("the rule %s decided %d times: let drawn.world make pods that it is about, and slowApply say it", rule, n)
		}
	}
	t.Log(met)
}
