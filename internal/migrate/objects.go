package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// objects are manifests with an autoscaler's Deployment among them. All else in them stays as it is.
type objects struct {
	installation
	all []map[string]any
	// deployment is the autoscaler's as it was read, and tree the same as it is in the file.
	deployment *appsv1.Deployment
	tree       map[string]any
	// field and container are of the autoscaler's container.
	field     string
	container map[string]any
	// env are the entries of the variables, in their order.
	env []map[string]any
}

// readObjects finds the autoscaler's Deployment among objects, and reads it.
func readObjects(all []map[string]any) (*objects, error) {
	o := &objects{all: all}
	found := 0
	var already []error
	for _, tree := range o.all {
		d, err := deploymentOf(tree)
		if err != nil {
			return nil, err
		}
		switch {
		case d == nil:
		case autoscaler(d) >= 0:
			found++
			o.deployment, o.tree = d, tree
		case slices.ContainsFunc(d.Spec.Template.Spec.Containers, runsPlimsoll):
			already = append(already, fmt.Errorf("%s is Plimsoll's already: give the Cluster Autoscaler's", named(tree)))
		}
	}
	switch {
	case len(o.all) == 0:
		return nil, errors.New("its List has no items: want a Deployment (apps/v1) that runs cluster-autoscaler among them")
	case found == 0 && len(already) > 0:
		return nil, errors.Join(already...)
	case found == 0:
		return nil, fmt.Errorf("none of its objects is a Deployment (apps/v1) that runs cluster-autoscaler: it has %s",
			kinds(o.all))
	case found > 1:
		return nil, fmt.Errorf("%d Deployments in it run a Cluster Autoscaler: give one at a time", found)
	}
	o.object = named(o.tree)
	if err := o.read(); err != nil {
		return nil, within(o.object, err)
	}
	return o, nil
}

// read fills the installation.
func (o *objects) read() (err error) {
	d, at := o.deployment, autoscaler(o.deployment)
	c := d.Spec.Template.Spec.Containers[at]
	o.field = fmt.Sprintf("spec.template.spec.containers[%d]", at)
	o.container = mapsIn(o.pod()["containers"])[at]
	o.namespace, o.secret = d.Namespace, d.Name+"-env"
	o.replicas, o.replicasField = d.Spec.Replicas, "spec.replicas"
	o.limits, o.limitsField = c.Resources.Limits, o.field+".resources.limits"
	o.readEnv("initContainers", d.Spec.Template.Spec.InitContainers, -1)
	o.readEnv("containers", d.Spec.Template.Spec.Containers, at)
	o.args, err = command(c, o.field)
	return err
}

// readEnv reads the variables of some containers, of which one may be the autoscaler's.
func (o *objects) readEnv(list string, containers []corev1.Container, at int) {
	for i, c := range containers {
		entries := mapsIn(mapsIn(o.pod()[list])[i]["env"])
		for j, e := range c.Env {
			v := variable{EnvVar: e, container: c.Name, other: i != at,
				field: fmt.Sprintf("spec.template.spec.%s[%d].env[%d] (%s)", list, i, j, e.Name)}
			if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.namespace" {
				v.namespace = o.namespace
			}
			o.installation.env = append(o.installation.env, v)
			o.env = append(o.env, entries[j])
		}
	}
}

// pod is spec.template.spec of the tree, which deploymentOf has read.
func (o *objects) pod() map[string]any {
	pod, _, _ := unstructured.NestedFieldNoCopy(o.tree, "spec", "template", "spec")
	return pod.(map[string]any)
}

// mapsIn are the maps in a list.
func mapsIn(list any) []map[string]any {
	all, _ := list.([]any)
	out := make([]map[string]any, len(all))
	for i := range all {
		out[i], _ = all[i].(map[string]any)
	}
	return out
}

// print changes what is the autoscaler's: the image, the command, the flags, variables that hold secrets, how pods
// follow each other; and adds the rights that the roles beside it lack.
func (o *objects) print(s Settings) ([]any, error) {
	c := o.deployment.Spec.Template.Spec.Containers[autoscaler(o.deployment)]
	image := cmp.Or(s.Image, s.DefaultImage)
	args := []any{"run"}
	for _, f := range o.line.kept {
		args = append(args, f.String())
	}
	o.container["image"], o.container["args"] = image, args
	delete(o.container, "command")
	o.note("%s.image is %s, was %s", o.field, image, c.Image)
	o.note("%s.command is the image's own, and args begin with run", o.field)
	for i, v := range o.installation.env {
		if had, _ := o.env[i]["value"].(string); had != v.Value {
			ref := v.ValueFrom.SecretKeyRef
			delete(o.env[i], "value")
			o.env[i]["valueFrom"] = map[string]any{"secretKeyRef": map[string]any{"name": ref.Name, "key": ref.Key}}
		}
	}
	o.follow()
	if o.deployment.Labels["app.kubernetes.io/managed-by"] == "Helm" {
		o.note("Helm manages this Deployment, and would take the changes back: better translate the release's values " +
			"(helm get values -o yaml)")
	}
	if len(c.EnvFrom) > 0 {
		o.note("%s.envFrom stays; flags that refer to its variables are not checked", o.field)
	}
	if c.LivenessProbe == nil {
		o.note("%s.livenessProbe is not there; /livez and /readyz are served at --address, beside /health-check", o.field)
	}
	asApplied(o.tree)
	if err := o.err(); err != nil {
		return nil, err
	}
	if err := o.place(); err != nil {
		return nil, err
	}
	out := make([]any, len(o.all))
	for i, tree := range o.all {
		out[i] = tree
	}
	return out, nil
}

// follow makes pods follow each other as Plimsoll needs it. Two that elect no leader must not act at once: in this
// update, which follows the Cluster Autoscaler's pod, and in every later one.
func (o *objects) follow() {
	spec := &o.deployment.Spec
	if !o.line.config.Leader.Enabled && spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		strategy := map[string]any{"type": string(appsv1.RecreateDeploymentStrategyType)}
		o.tree["spec"].(map[string]any)["strategy"] = strategy
		o.note("spec.strategy is Recreate: without leader election (--leader-elect is false), a new pod that starts before " +
			"the old one has ended would act beside it")
	}
	// 30 is the server's default.
	if seconds := spec.Template.Spec.TerminationGracePeriodSeconds; seconds == nil || *seconds == 30 {
		o.pod()["terminationGracePeriodSeconds"] = int64(180)
		o.note("spec.template.spec.terminationGracePeriodSeconds is 180, was 30: Plimsoll ends a write under way before it " +
			"releases the lease")
	}
}

// place says where the lease is, how to apply the objects there, and adds the rights that are missing there.
func (o *objects) place() error {
	c := o.line.config
	o.leaseIn = c.Cluster.Namespace
	in, known := c.Cluster.Namespace, c.Cluster.Namespace
	for _, f := range o.line.unchecked {
		if f.name == "namespace" {
			in, known = f.value, ""
		}
	}
	o.apply = []string{"then apply this: the Deployment keeps its name, so that Plimsoll's pods take the place of the " +
		"Cluster Autoscaler's, and wait for the lease until it ends"}
	if !c.Leader.Enabled {
		o.apply = []string{"then scale the Deployment to 0, wait until its pod is gone, and apply this: the Deployment " +
			"keeps its name, and no lease keeps the two from acting at once"}
	}
	if c.Cluster.Kubeconfig != "" {
		o.handingOver = o.handover("namespace " + in + " of the cluster that --kubeconfig leads to")
		o.note("in the cluster that --kubeconfig leads to, rights are those of the kubeconfig's user, and roles of the " +
			"file stay as they are: what Plimsoll needs there is in " + docs + "migrate.md#rights")
		return nil
	}
	o.handingOver = o.handover("namespace " + in)
	return o.grant(known)
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

// flatten opens Lists.
func flatten(documents []map[string]any) ([]map[string]any, error) {
	var out []map[string]any
	for _, d := range documents {
		if kind, _ := d["kind"].(string); !strings.HasSuffix(kind, "List") {
			out = append(out, d)
			continue
		}
		if _, list := d["items"].([]any); !list && d["items"] != nil {
			var items struct {
				Items []any `json:"items"`
			}
			return nil, fmt.Errorf("%s: %w", d["kind"], readInto(d, &items))
		}
		for i, object := range mapsIn(d["items"]) {
			if !isObject(object) {
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
	name := strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
	return strings.TrimSpace(fmt.Sprintf("%v %s", o["kind"], name))
}

// deploymentOf reads an object if it is a Deployment; a field that a Deployment does not have is an error.
func deploymentOf(o map[string]any) (*appsv1.Deployment, error) {
	if o["kind"] != "Deployment" {
		return nil, nil
	}
	if o["apiVersion"] != "apps/v1" {
		return nil, fmt.Errorf("%s: apiVersion: %v is not served any more, apps/v1 is", named(o), o["apiVersion"])
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o, &d, true); err != nil {
		// The converter's own words for a value of the wrong type name no field.
		return nil, fmt.Errorf("%s: %w", named(o), cmp.Or(readExactly(o, &appsv1.Deployment{}), err))
	}
	return &d, nil
}

// runsPlimsoll reports whether a container runs Plimsoll, under whatever name its image was pushed.
func runsPlimsoll(c corev1.Container) bool {
	if len(c.Command) > 0 || len(c.Args) == 0 || c.Args[0] != "run" {
		return false
	}
	return strings.Contains(imageName(c.Image), "plimsoll") ||
		slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--cloud-provider=") })
}

const program = "cluster-autoscaler"

// autoscaler is which container runs it; -1: none. What a container starts says it, else its image. Only then what is
// among its words counts: an argument may well be the autoscaler's name for a program that looks after it.
func autoscaler(d *appsv1.Deployment) int {
	words := func(c corev1.Container) []string { return slices.Concat(c.Command, c.Args) }
	for _, runs := range []func(corev1.Container) bool{
		func(c corev1.Container) bool { return len(words(c)) > 0 && path.Base(words(c)[0]) == program },
		func(c corev1.Container) bool { return imageName(c.Image) == program },
		func(c corev1.Container) bool { return starts(words(c)) },
		func(c corev1.Container) bool {
			return len(c.Command) == 0 && strings.Contains(imageName(c.Image), program)
		},
	} {
		if i := slices.IndexFunc(d.Spec.Template.Spec.Containers, runs); i >= 0 {
			return i
		}
	}
	return -1
}

// imageName is the last part of an image's repository.
func imageName(image string) string {
	repository, _, _ := splitImage(image)
	return path.Base(repository)
}

// splitImage takes an image's name apart.
func splitImage(image string) (repository, tag, digest string) {
	repository, digest, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository, tag = repository[:colon], repository[colon+1:]
	}
	return repository, tag, digest
}

// starts reports whether the autoscaler is among the words as a program, as behind a shell or a wrapper: by its name
// or its path, and not as the value of a flag.
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

// command is a container's command line without the program.
func command(c corev1.Container, field string) ([]located, error) {
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
		return nil, fmt.Errorf("%s: %q is not the autoscaler: what it starts cannot be known from here",
			first.field, first.text)
	}
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
