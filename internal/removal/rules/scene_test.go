package rules_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// scene is one pod and what the rules read around it. The plain one moves.
type scene struct {
	policy    model.Policy
	namespace string
	priority  int32
	labels    map[string]string
	facts     model.Facts
	noFacts   bool // the snapshot has no table of them
	pod       model.Pod
	// others are more pods of the same controller, by their flags; waiting those
	// of them that have no node.
	others, waiting []model.Flags
	budgets         []model.Budget
	tolerations     []corev1.Toleration
}

func plain() *scene {
	s := &scene{
		namespace: "web", labels: map[string]string{"app": "shop"},
		facts: model.Facts{Controller: "ReplicaSet", Group: "apps"},
		pod:   model.Pod{Name: "shop-1", UID: "pod", Owner: "rs", Created: now.Add(-time.Minute).Unix()},
	}
	s.policy.Rules.ExpendableBelow = -10
	s.policy.ScaleDown.Drain = model.DrainPolicy{
		SkipSystem: true, SystemTimeout: time.Hour, SkipLocal: true, SkipCustom: true,
	}
	return s
}

func (s *scene) snapshot() *model.Snapshot {
	snap := &model.Snapshot{
		Now: now,
		Contents: model.Contents{
			Specs: []*model.Spec{{Pod: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace}, Spec: corev1.PodSpec{Tolerations: s.tolerations},
			}, Priority: s.priority}},
			Labels: []*model.LabelSet{{Labels: s.labels}},
			Facts:  []*model.Facts{&s.facts},
		},
		Budgets: s.budgets,
		Nodes:   []*model.Node{{Name: "n1", Bound: []model.Pod{s.pod}}, {Name: "n2"}},
	}
	if s.noFacts {
		snap.Contents.Facts = nil
	}
	sibling := func(f model.Flags) model.Pod { return model.Pod{Name: "other", Owner: s.pod.Owner, Flags: f} }
	for _, f := range s.others {
		snap.Nodes[1].Bound = append(snap.Nodes[1].Bound, sibling(f))
	}
	var pending model.Pending
	for _, f := range s.waiting {
		p := sibling(f)
		pending.Pods = append(pending.Pods, &p)
	}
	snap.Pending = []model.Pending{pending}
	return snap
}

func (s *scene) cluster() *rules.Cluster { return rules.Of(s.snapshot(), s.policy) }

func (s *scene) answer() rules.Answer { return s.cluster().Apply(rules.Ready, &s.pod) }

// budget covers pods by a label selector in its text form; "" is the empty one,
// which covers all, and "-" stands for none.
func budget(namespace, name, selector string, allowed int) model.Budget {
	b := model.Budget{Namespace: namespace, Name: name, Allowed: allowed, Detail: "2 of 3 healthy, 2 wanted"}
	if selector != "-" {
		var err error
		if b.Selector, err = labels.Parse(selector); err != nil {
			panic(err)
		}
	}
	return b
}

func owner(i int) types.UID { return []types.UID{"", "a", "b", "c"}[i%4] }
