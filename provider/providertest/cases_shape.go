package providertest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// What every inventory and every template is like, whatever the rules.
var shapeCases = []scene{
	{"Shape/InventorySurvivesJSON", func(s *stage) {
		s.standing(s.Group, 3)
		inv := s.inventory()
		body, err := json.Marshal(inv)
		if err != nil {
			s.Fatalf("marshal: %v", err)
		}
		var again provider.Inventory
		if err := json.Unmarshal(body, &again); err != nil {
			s.Fatalf("unmarshal: %v", err)
		}
		second, err := json.Marshal(again)
		if err != nil {
			s.Fatalf("marshal again: %v", err)
		}
		if diff := cmp.Diff(string(body), string(second)); diff != "" {
			s.Errorf("an inventory that went through JSON is another one:\n%s", diff)
		}
	}},
	{"Shape/AsOfIsWhenTheReadBegan", func(s *stage) {
		now := s.Now
		if now == nil {
			now = time.Now
		}
		before := now()
		inv := s.inventory()
		after := now()
		if inv.AsOf.Before(before.Add(-time.Millisecond)) || inv.AsOf.After(after) {
			s.Errorf("AsOf is %v, for an Inventory called between %v and %v", inv.AsOf, before, after)
		}
	}},
	{"Shape/GroupsAreWellFormed", func(s *stage) {
		s.standing(s.Group, 3)
		seen := map[provider.GroupID]bool{}
		for _, g := range s.inventory().Groups {
			if g.ID == "" || seen[g.ID] {
				s.Errorf("group id %q is empty or doubled", g.ID)
			}
			seen[g.ID] = true
			if g.Err != nil {
				continue
			}
			if g.Min < 0 || g.Min > g.Max {
				s.Errorf("group %q: min %d, max %d", g.ID, g.Min, g.Max)
			}
			if g.Target < len(Live(g)) {
				s.Errorf("group %q: %d anonymous requests, from target %d and %d instances",
					g.ID, g.Target-len(Live(g)), g.Target, len(Live(g)))
			}
			if (g.Template == nil) == (g.TemplateErr == nil) {
				s.Errorf("group %q: exactly one of Template and TemplateErr must be set", g.ID)
			}
		}
	}},
	{"Shape/OrderIsStable", func(s *stage) {
		s.standing(s.Group, 5)
		order := func() []string {
			var names []string
			for _, g := range s.inventory().Groups {
				names = append(names, string(g.ID))
				for _, i := range g.Instances {
					names = append(names, string(i.ID))
				}
			}
			return names
		}
		first := order()
		for range 5 {
			if diff := cmp.Diff(first, order()); diff != "" {
				s.Fatalf("the same cloud in another order:\n%s", diff)
			}
		}
	}},
	{"Shape/TemplatesDescribeAFreshNode", func(s *stage) {
		first, again := s.inventory(), s.inventory()
		for i, g := range first.Groups {
			if g.Template == nil {
				continue
			}
			s.checkTemplate(g)
			if v := again.Groups[i].Template.Version; v != g.Template.Version || v == "" {
				s.Errorf("group %q: template version %q, then %q, and nothing had changed", g.ID, g.Template.Version, v)
			}
		}
	}},
	{"Shape/NotifierTells", func(s *stage) {
		n, ok := s.Provider.(provider.Notifier)
		if !ok {
			s.Log("the provider has not this power")
			return
		}
		s.checkNotifier(n)
	}},
}

func (s *stage) checkTemplate(g provider.Group) {
	s.Helper()
	node := g.Template.Node
	if node == nil {
		s.Fatalf("group %q: a template without a node", g.ID)
	}
	if node.Name != "" || node.UID != "" || node.Labels[corev1.LabelHostname] != "" {
		s.Errorf("group %q: the template is a particular node: name %q, uid %q, hostname label %q",
			g.ID, node.Name, node.UID, node.Labels[corev1.LabelHostname])
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			s.Errorf("group %q: the template has a Ready condition", g.ID)
		}
	}
	for _, taint := range node.Spec.Taints {
		if strings.HasPrefix(taint.Key, "node.kubernetes.io/") || strings.Contains(taint.Key, "ClusterAutoscaler") {
			s.Errorf("group %q: the template has the taint %s, which passes", g.ID, taint.Key)
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if q := node.Status.Allocatable[name]; q.Sign() <= 0 {
			s.Errorf("group %q: the template has %s allocatable %s", g.ID, q.String(), name)
		}
	}
	for label, values := range g.Template.Varies {
		if len(values) == 0 || !slices.Contains(values, node.Labels[label]) && node.Labels[label] != "" {
			s.Errorf("group %q: label %s varies over %v, and the template has %q", g.ID, label, values, node.Labels[label])
		}
	}
	s.checkPlaces(g)
}

// checkPlaces looks at a group over several zones: each place says all that a node
// there has besides the template's labels, and where the cloud balances, the zone of
// each instance is known.
func (s *stage) checkPlaces(g provider.Group) {
	s.Helper()
	t := g.Template
	if len(t.Places) == 1 || t.Balanced && len(t.Places) == 0 {
		s.Errorf("group %q: %d places, balanced %t: places are several or none", g.ID, len(t.Places), t.Balanced)
	}
	for i, p := range t.Places {
		if p.Zone == "" || i > 0 && t.Places[i-1].Zone >= p.Zone {
			s.Errorf("group %q: the zones of its places are not sorted, or one is empty: %v", g.ID, t.Places)
		}
		if len(p.Labels) != len(t.Places[0].Labels) || p.Labels[corev1.LabelTopologyZone] == "" {
			s.Errorf("group %q: place %q has the labels %v: each place wants the same keys, %s among them",
				g.ID, p.Zone, p.Labels, corev1.LabelTopologyZone)
		}
		for key, value := range p.Labels {
			_, same := t.Places[0].Labels[key]
			_, fixed := t.Node.Labels[key]
			if !same || fixed || len(t.Varies[key]) > 0 && !slices.Contains(t.Varies[key], value) {
				s.Errorf("group %q: place %q says %s=%s, the template has %q, and Varies %v",
					g.ID, p.Zone, key, value, t.Node.Labels[key], t.Varies[key])
			}
		}
	}
	for _, in := range g.Instances {
		if t.Balanced && in.State != provider.Deleting && !slices.ContainsFunc(t.Places, func(p provider.Place) bool {
			return p.Zone == in.Zone
		}) {
			s.Errorf("group %q: the cloud balances zones, and instance %q is in %q, none of them", g.ID, in.ID, in.Zone)
		}
	}
}
