package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// cmdGroup declares a node group in the file that Plimsoll is started with, or
// declares it again. What is not said: 8 cores, 32Gi, 110 pods, at most 1000 nodes.
//
//	min= max= desired=    counts
//	cpu= memory= pods=    allocatable, as any other resource's name
//	zone=                 the zone label
//	label=KEY=VALUE       a label
//	taint=KEY=VALUE:EFFECT
//	fault=                what goes wrong with its machines, see docs/kwok.md
func (w *world) cmdGroup(c *call) error {
	if len(c.args) == 0 {
		return fmt.Errorf("a group wants a name")
	}
	name := c.args[0]
	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{"group": name},
			Annotations: map[string]string{groupAnnotation: name, countAnnotation("max"): "1000"},
		},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("8"),
			corev1.ResourceMemory: resource.MustParse("32Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}},
	}
	for _, arg := range c.args[1:] {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("want KEY=VALUE, not %q", arg)
		}
		switch key {
		case "min", "max", "desired":
			node.Annotations[countAnnotation(key)] = value
		case "fault":
			node.Annotations[faultAnnotation] = value
		case "zone":
			node.Labels[corev1.LabelTopologyZone] = value
		case "label":
			key, value, _ := strings.Cut(value, "=")
			node.Labels[key] = value
		case "taint":
			pair, effect, _ := strings.Cut(value, ":")
			key, value, _ := strings.Cut(pair, "=")
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		default:
			quantity, err := resource.ParseQuantity(value)
			if err != nil {
				return fmt.Errorf("%s: %w", arg, err)
			}
			node.Status.Allocatable[corev1.ResourceName(key)] = quantity
		}
	}
	w.groups = slices.DeleteFunc(w.groups, func(n *corev1.Node) bool { return n.Name == name })
	w.groups = append(w.groups, node)
	return w.writeTemplates()
}

func (w *world) writeTemplates() error {
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": w.groups}
	data, err := yaml.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the node templates: %w", err)
	}
	return os.WriteFile(filepath.Join(w.dir, templatesFile), data, 0o600)
}

func countAnnotation(count string) string {
	return "cluster-autoscaler.kwok.nodegroup/" + count + "-count"
}

// cmdMistake runs both commands that read templates, and wants both to refuse the
// file in the same words.
func (w *world) cmdMistake(c *call) error {
	pattern, err := regexp.Compile(c.args[1])
	if err != nil {
		return err
	}
	file := filepath.Join(w.dir, c.args[0])
	for _, command := range [][]string{{"groups"}, {"run", "--address=127.0.0.1:0"}} {
		args := append(command, "--cloud-provider=kwok", "--kubeconfig="+w.plane.PlimsollKubeconfig())
		process := exec.CommandContext(c.ctx, binary, args...)
		process.Env = append(os.Environ(), "KWOK_TEMPLATES_PATH="+file)
		out, err := process.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
			return fmt.Errorf("plimsoll %s ended with %v, want exit code 1; it said:\n%s", command[0], err, out)
		}
		if !strings.Contains(string(out), file) || !pattern.Match(out) {
			return fmt.Errorf("plimsoll %s does not name %s with %s; it said:\n%s", command[0], file, pattern, out)
		}
	}
	return nil
}
