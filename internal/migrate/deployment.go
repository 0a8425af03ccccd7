package migrate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// translateObjects translates the autoscaler's Deployment among objects, and adds
// the rights that the roles beside it lack. All else stays as it is.
func translateObjects(documents []map[string]any, s Settings) (Result, error) {
	objects, err := flatten(documents)
	if err != nil {
		return Result{}, err
	}
	var found []int
	for i, o := range objects {
		d, err := deploymentOf(o)
		if err != nil {
			return Result{}, err
		}
		if d != nil && autoscaler(d) >= 0 {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		return Result{}, fmt.Errorf("none of its objects is a Deployment (apps/v1) that runs cluster-autoscaler: it has %s",
			kinds(objects))
	case 1:
	default:
		return Result{}, fmt.Errorf("%d Deployments in it run a Cluster Autoscaler: give one at a time", len(found))
	}
	i := found[0]
	changed, line, env, err := translateDeployment(objects[i], s)
	if err != nil {
		return Result{}, within(named(objects[i]), err)
	}
	at := placeOf(line)
	in := "namespace " + at.namespace
	needed := at
	for _, f := range line.unchecked {
		if f.name == "namespace" {
			in = "namespace " + f.value
			needed.namespace = ""
		}
	}
	var added []string
	if line.config.Cluster.Kubeconfig != "" {
		in += " of the cluster that --kubeconfig leads to"
		added = []string{"in the cluster that --kubeconfig leads to, rights are those of the kubeconfig's user, and roles " +
			"of the file stay as they are: what Plimsoll needs there is in " + docs + "migrate.md#rights"}
	} else if objects, added, err = grant(objects, accountOf(objects[i]), needed); err != nil {
		return Result{}, err
	}
	changed = append(changed, added...)
	out := make([]any, len(objects))
	for i, o := range objects {
		out[i] = o
	}
	apply := "then apply this: the Deployment keeps its name, so that Plimsoll's pods take the place of the Cluster " +
		"Autoscaler's, and wait for the lease until it ends"
	if !at.elects {
		apply = "then scale the Deployment to 0, wait until its pod is gone, and apply this: the Deployment keeps " +
			"its name, and no lease keeps the two from acting at once"
	}
	return written(Notes{
		Lost:     line.lost(),
		Changed:  changed,
		Handover: at.handover(in),
		Next:     at.next(append(s.imageFirst(), trial(line, env, at.namespace)...), apply),
	}, out...)
}

// kinds are the kinds of objects, each once.
func kinds(objects []map[string]any) string {
	var out []string
	for _, o := range objects {
		if kind := fmt.Sprint(o["kind"]); !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return strings.Join(out, ", ")
}

// account is the service account of a Deployment's pods; its namespace is empty where
// the file does not say it.
type account struct{ namespace, name string }

func accountOf(o map[string]any) account {
	pod := func(field string) string {
		name, _, _ := unstructured.NestedString(o, "spec", "template", "spec", field)
		return name
	}
	// The second is the field's older name, which the server still takes.
	return account{(&unstructured.Unstructured{Object: o}).GetNamespace(),
		cmp.Or(pod("serviceAccountName"), pod("serviceAccount"), "default")}
}

// flatten opens Lists.
func flatten(documents []map[string]any) ([]map[string]any, error) {
	var out []map[string]any
	for _, d := range documents {
		if kind, _ := d["kind"].(string); !strings.HasSuffix(kind, "List") {
			out = append(out, d)
			continue
		}
		items, _ := d["items"].([]any)
		for i, item := range items {
			object, ok := item.(map[string]any)
			if !ok || !isObject(object) {
				return nil, fmt.Errorf("%s: items[%d]: apiVersion or kind is missing", d["kind"], i)
			}
			out = append(out, object)
		}
	}
	return out, nil
}

// named is an object for a person.
func named(o map[string]any) string {
	u := unstructured.Unstructured{Object: o}
	if u.GetNamespace() != "" {
		return fmt.Sprintf("%v %s/%s", o["kind"], u.GetNamespace(), u.GetName())
	}
	return fmt.Sprintf("%v %s", o["kind"], u.GetName())
}

// deploymentOf reads an object if it is a Deployment; a field that a Deployment
// does not have is an error.
func deploymentOf(o map[string]any) (*appsv1.Deployment, error) {
	if o["kind"] != "Deployment" {
		return nil, nil
	}
	if o["apiVersion"] != "apps/v1" {
		return nil, fmt.Errorf("%s: apiVersion: %v is not served any more, apps/v1 is", named(o), o["apiVersion"])
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o, &d, true); err != nil {
		return nil, fmt.Errorf("%s: %w", named(o), err)
	}
	return &d, nil
}

const program = "cluster-autoscaler"

// autoscaler is which container runs it; -1: none. What a container starts says it,
// else its image. Only then counts what is among its words: an argument may well be
// the autoscaler's name for somebody who looks after it.
func autoscaler(d *appsv1.Deployment) int {
	containers := d.Spec.Template.Spec.Containers
	for _, runs := range []func(corev1.Container) bool{
		func(c corev1.Container) bool {
			words := append(slices.Clone(c.Command), c.Args...)
			return len(words) > 0 && path.Base(words[0]) == program
		},
		func(c corev1.Container) bool { return path.Base(imageOf(c.Image).Repository) == program },
		func(c corev1.Container) bool { return starts(append(slices.Clone(c.Command), c.Args...)) },
		func(c corev1.Container) bool {
			return len(c.Command) == 0 && strings.Contains(path.Base(imageOf(c.Image).Repository), program)
		},
	} {
		if i := slices.IndexFunc(containers, runs); i >= 0 {
			return i
		}
	}
	return -1
}

// starts tells whether the autoscaler is among the words as a program, as behind a
// shell or a wrapper: by its name or its path, and not as the value of a flag.
func starts(words []string) bool {
	for i, word := range words {
		first, _, _ := strings.Cut(word, " ")
		called := first == program ||
			path.Base(first) == program && (strings.HasPrefix(first, "/") || strings.HasPrefix(first, "./"))
		value := i > 0 && strings.HasPrefix(words[i-1], "--") && !strings.Contains(words[i-1], "=")
		if called && !value {
			return true
		}
	}
	return false
}

// translateDeployment changes the container of an autoscaler's Deployment: the
// image, the command, the flags, and variables that hold secrets. It gives what has
// changed, the command line, and the variables as they are then.
func translateDeployment(o map[string]any, s Settings) ([]string, commandLine, []variable, error) {
	d, err := deploymentOf(o)
	if err != nil {
		return nil, commandLine{}, nil, err
	}
	at := autoscaler(d)
	c := &d.Spec.Template.Spec.Containers[at]
	field := fmt.Sprintf("spec.template.spec.containers[%d]", at)
	pieces, err := command(c, field)
	if err != nil {
		return nil, commandLine{}, nil, err
	}
	line, err := read(pieces, literals(c.Env, o), s.Providers)
	if err != nil {
		return nil, commandLine{}, nil, err
	}
	args := []any{"run"}
	for _, f := range line.kept {
		args = append(args, f.String())
	}
	containers, _, err := unstructured.NestedSlice(o, "spec", "template", "spec", "containers")
	if err != nil {
		return nil, commandLine{}, nil, fmt.Errorf("spec.template.spec.containers: %w", err)
	}
	container := containers[at].(map[string]any) // deploymentOf has read it
	image := cmp.Or(s.Image, s.DefaultImage)
	container["image"] = image
	container["args"] = args
	delete(container, "command")
	if err := unstructured.SetNestedSlice(o, containers, "spec", "template", "spec", "containers"); err != nil {
		return nil, commandLine{}, nil, fmt.Errorf("spec.template.spec.containers: %w", err)
	}
	asApplied(o)
	changed := []string{
		fmt.Sprintf("%s.image is %s, was %s", field, image, c.Image),
		field + ".command is the image's own, and args begin with run",
	}
	if !line.config.Leader.Enabled {
		told, err := oneAtATime(o, d)
		if err != nil {
			return nil, commandLine{}, nil, err
		}
		changed = append(changed, told...)
	}
	if d.Labels["app.kubernetes.io/managed-by"] == "Helm" {
		changed = append(changed, "Helm manages this Deployment, and would take the changes back: better translate the "+
			"release's values (helm get values -o yaml)")
	}
	if len(c.EnvFrom) > 0 {
		changed = append(changed, field+".envFrom stays; flags that refer to its variables are not checked")
	}
	if c.LivenessProbe == nil {
		changed = append(changed,
			field+".livenessProbe is not there; /livez and /readyz are served at --address, beside /health-check")
	}
	// 30 is the server's default.
	if seconds := d.Spec.Template.Spec.TerminationGracePeriodSeconds; seconds == nil || *seconds == 30 {
		if err := unstructured.SetNestedField(
			o, int64(180), "spec", "template", "spec", "terminationGracePeriodSeconds",
		); err != nil {
			return nil, commandLine{}, nil, fmt.Errorf("spec.template.spec.terminationGracePeriodSeconds: %w", err)
		}
		changed = append(changed, "spec.template.spec.terminationGracePeriodSeconds is 180, was 30: Plimsoll ends a write "+
			"under way before it releases the lease")
	}
	changed = append(changed,
		narrow(field+".resources.limits", c.Resources.Limits, ", and set GOMEMLIMIT to seven eighths of it")...)
	hidden, err := withoutSecrets(o, line.config.Cloud.Provider)
	if err != nil {
		return nil, commandLine{}, nil, err
	}
	if d, err = deploymentOf(o); err != nil {
		return nil, commandLine{}, nil, err
	}
	changed = append(append(changed, hidden...), line.notes()...)
	return changed, line, variables(d.Spec.Template.Spec.Containers[at].Env, o), nil
}

// roomy is the memory that Plimsoll's chart allows it.
var roomy = resource.MustParse("2Gi")

// narrow tells of limits that are below those of Plimsoll's chart, and that stay.
func narrow(field string, limits corev1.ResourceList, further string) []string {
	var out []string
	if cpu, ok := limits[corev1.ResourceCPU]; ok {
		out = append(out, fmt.Sprintf("%s.cpu is %s and stays: deciding waits when it is used up; Plimsoll's chart has "+
			"none: better take it away", field, cpu.String()))
	}
	if memory, ok := limits[corev1.ResourceMemory]; ok && memory.Cmp(roomy) < 0 {
		out = append(out, fmt.Sprintf("%s.memory is %s and stays: Plimsoll's chart has %s; for a large cluster raise it%s",
			field, memory.String(), roomy.String(), further))
	}
	return out
}

// oneAtATime keeps two pods that elect no leader from acting at once: in this update,
// which follows the Cluster Autoscaler's pod, and in every later one.
func oneAtATime(o map[string]any, d *appsv1.Deployment) ([]string, error) {
	if n := d.Spec.Replicas; n != nil && *n > 1 {
		return nil, fmt.Errorf("spec.replicas: %d replicas without leader election (--leader-elect is false): all of them "+
			"would act; set it to 1", *n)
	}
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil, nil
	}
	if err := unstructured.SetNestedMap(
		o, map[string]any{"type": string(appsv1.RecreateDeploymentStrategyType)}, "spec", "strategy",
	); err != nil {
		return nil, fmt.Errorf("spec.strategy: %w", err)
	}
	return []string{
		"spec.strategy is Recreate: without leader election (--leader-elect is false), a new pod that starts " +
			"before the old one has ended would act beside it",
	}, nil
}

// asApplied takes away what only the server writes.
func asApplied(o map[string]any) {
	unstructured.RemoveNestedField(o, "status")
	for _, field := range []string{
		"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid",
	} {
		unstructured.RemoveNestedField(o, "metadata", field)
	}
	for _, annotation := range []string{
		"deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration",
	} {
		unstructured.RemoveNestedField(o, "metadata", "annotations", annotation)
	}
}

// literals are the variables whose values are written out, or are the object's own
// namespace; secrets are not among them, since what is made of them is shown.
func literals(env []corev1.EnvVar, o map[string]any) map[string]string {
	out := map[string]string{}
	for _, v := range variables(env, o) {
		if v.from == "" && !confidential(v.name, v.value) {
			out[v.name] = v.value
		}
	}
	return out
}

// variables are those of a container, and where they come from.
func variables(env []corev1.EnvVar, o map[string]any) []variable {
	namespace := (&unstructured.Unstructured{Object: o}).GetNamespace()
	var out []variable
	for _, e := range env {
		v := variable{name: e.Name, value: e.Value}
		switch from := e.ValueFrom; {
		case from == nil:
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace" && namespace != "":
			v.value = namespace
		case from.SecretKeyRef != nil:
			v.from = fmt.Sprintf("the key %s of the Secret %s", from.SecretKeyRef.Key, from.SecretKeyRef.Name)
		case from.ConfigMapKeyRef != nil:
			v.from = fmt.Sprintf("the key %s of the ConfigMap %s", from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Name)
		case from.FieldRef != nil:
			v.from = "its field " + from.FieldRef.FieldPath
		default:
			v.from = "its own object"
		}
		out = append(out, v)
	}
	return out
}

// command is the container's command line without the program.
func command(c *corev1.Container, field string) ([]located, error) {
	var out []located
	for i, word := range c.Command {
		out = append(out, located{word, fmt.Sprintf("%s.command[%d]", field, i)})
	}
	for i, word := range c.Args {
		out = append(out, located{word, fmt.Sprintf("%s.args[%d]", field, i)})
	}
	if len(out) == 0 {
		return nil, nil
	}
	switch first := out[0]; path.Base(first.text) {
	case program:
		return out[1:], nil
	case "sh", "bash", "ash":
		return nil, fmt.Errorf("%s: a shell starts the autoscaler, and only a shell can read its flags: write program and "+
			"flags as a list", first.field)
	default:
		if strings.HasPrefix(first.text, "-") {
			return out, nil
		}
		return nil, fmt.Errorf("%s: %q is not the autoscaler: what it starts cannot be told from here",
			first.field, first.text)
	}
}
