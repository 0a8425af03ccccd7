package schedsim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestShapesAreAskedAboutOnceForAllThatAreAlike: classes that labels, taints and features of nodes cannot tell apart
// are one question, and those that differ in what these say are told apart.
func TestShapesAreAskedAboutOnceForAllThatAreAlike(t *testing.T) {
	no := false
	never := corev1.PreemptNever
	for what, c := range map[string]struct {
		change func(p *corev1.Pod)
		alike  bool
	}{
		"labels":   {func(p *corev1.Pod) { p.Labels["app"] = "other" }, true},
		"requests": {func(p *corev1.Pod) { *p = *testkit.Pod("default", "p", "2", "1Gi", p.Labels) }, true},
		"priority": {func(p *corev1.Pod) { p.Spec.PreemptionPolicy = &never }, true},
		"spread":   {func(p *corev1.Pod) { testkit.SpreadOver(p, corev1.LabelTopologyZone, 1, p.Labels) }, true},
		"repels":   {func(p *corev1.Pod) { testkit.Apart(p, corev1.LabelTopologyZone, p.Labels) }, true},
		"toleration": {func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
		}, false},
		"selector": {func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }, false},
		"affinity": {func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "disk", Operator: corev1.NodeSelectorOpExists}}}}}}}
		}, false},
		"users of the host's network": {func(p *corev1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = true, &no }, false},
		"options of a mount": {func(p *corev1.Pod) {
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", BindMountOptions: []string{"noexec"}}}
		}, false},
		"rules for restarts": {func(p *corev1.Pod) {
			p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{
				{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
		}, false},
	} {
		world := testkit.New()
		world.AddNode(testkit.Node("n", "4", "16Gi", nil), "")
		p := testkit.Pod("default", "p", "1", "1Gi", map[string]string{"app": "p"})
		world.Pending(p, 1)
		q := p.DeepCopy()
		c.change(q)
		world.Pending(q, 1)
		// Some pod reads the label, or else the classes are one.
		testkit.Apart(p, corev1.LabelTopologyZone, map[string]string{"app": "none"})
		world.Pending(p, 1)
		w := Load(nil, snapshot.New(nil, world.Observation(), model.Standing{}, testkit.Policy().Rules))
		if len(w.classes) != 3 {
			t.Fatalf("%s: %d classes, want 3", what, len(w.classes))
		}
		for i := range w.classes {
			w.staticVerdict(model.ClassID(i), w.nodes[0].shape)
		}
		if got := w.work.PreFilters == 1; got != c.alike {
			t.Errorf("%s: %d questions for three classes, want one: %v", what, w.work.PreFilters, c.alike)
		}
		w.Close()
	}
}
