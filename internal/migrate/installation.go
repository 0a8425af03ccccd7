package migrate

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// installation is what runs an autoscaler, whatever it is written in. A reader fills it with what the Cluster
// Autoscaler's has, translate makes Plimsoll's of it, and a printer writes that down.
type installation struct {
	// object is what the fields are of, for errors; empty: the file.
	object string
	// args are the flags.
	args []located
	// env are the variables of all containers, secret is the Secret for those that hold one, and known are others that
	// a flag may refer to.
	env    []variable
	secret string
	known  map[string]string
	// namespace is that of the pod; empty: not known.
	namespace string
	replicas  *int32
	limits    corev1.ResourceList
	// Where these two are written.
	replicasField, limitsField string

	// line is what translate makes of args.
	line commandLine
	// What a printer adds: what must be known to hand over, the namespace of the lease for a trial (empty: not known),
	// and how to apply what is printed.
	handingOver []string
	leaseIn     string
	apply       []string

	findings
}

// findings are what is said of an installation while it is translated.
type findings struct {
	changed []string
	// told are the values that have a note.
	told map[string]bool
	errs []error
}

func (f *findings) wrong(field, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
}

func (f *findings) note(format string, args ...any) {
	f.changed = append(f.changed, fmt.Sprintf(format, args...))
}

// tell says of a value that it is not carried over, once.
func (f *findings) tell(path, instead string) {
	if !f.told[path] {
		f.note("%s is dropped: %s", path, instead)
	}
	f.silence(path)
}

// silence keeps a value that is carried over elsewhere from being told.
func (f *findings) silence(path string) {
	if f.told == nil {
		f.told = map[string]bool{}
	}
	f.told[path] = true
}

// source is an installation, in the form in which it was read.
type source interface {
	// translate makes Plimsoll's of what was read.
	translate(Settings) error
	// print writes Plimsoll's in the same form.
	print(Settings) ([]any, error)
	notes(Settings) Notes
}

// translate makes Plimsoll's installation of the Cluster Autoscaler's.
func (in *installation) translate(s Settings) error {
	var err error
	if in.line, err = read(in.args, in.literals(), s.Providers); err != nil {
		in.errs = append(in.errs, err)
		return in.err()
	}
	in.changed = append(in.changed, in.line.notes()...)
	in.hideSecrets()
	in.tellLimits()
	if n := in.replicas; n != nil && *n > 1 && !in.line.config.Leader.Enabled {
		in.wrong(in.replicasField,
			"%d replicas without leader election (--leader-elect is false): all of them would act; set it to 1", *n)
	}
	return nil
}

// err is all that is wrong.
func (in *installation) err() error {
	err := errors.Join(in.errs...)
	if err != nil && in.object != "" {
		return within(in.object, err)
	}
	return err
}

// roomy is the memory that Plimsoll's chart allows it.
var roomy = resource.MustParse("2Gi")

// tellLimits tells of limits that are below those of Plimsoll's chart, and that stay.
func (in *installation) tellLimits() {
	if cpu, ok := in.limits[corev1.ResourceCPU]; ok {
		in.note("%s.cpu is %s and stays: deciding waits when it is used up; Plimsoll's chart has none: better take it away",
			in.limitsField, cpu.String())
	}
	if memory, ok := in.limits[corev1.ResourceMemory]; ok && memory.Cmp(roomy) < 0 {
		in.note("%s.memory is %s and stays: Plimsoll's chart has %s; for a large cluster raise it", in.limitsField,
			memory.String(), roomy.String())
	}
}

// variable is one of a container.
type variable struct {
	corev1.EnvVar
	// field is where it is written.
	field string
	// container is the one that has it, and other says that this is not the autoscaler's.
	container string
	other     bool
	// namespace is the pod's, which the variable stands for; empty: it does not.
	namespace string
}

// text is the variable's value, as far as it is known here.
func (v variable) text() (value string, known bool) {
	return v.Value + v.namespace, v.ValueFrom == nil || v.namespace != ""
}

// from says where a variable's value comes from that is not known here.
func (v variable) from() string {
	switch from := v.ValueFrom; {
	case from.SecretKeyRef != nil:
		return fmt.Sprintf("the key %s of the Secret %s", from.SecretKeyRef.Key, from.SecretKeyRef.Name)
	case from.ConfigMapKeyRef != nil:
		return fmt.Sprintf("the key %s of the ConfigMap %s", from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Name)
	case from.FieldRef != nil:
		return "its field " + from.FieldRef.FieldPath
	}
	return "its own object"
}

// fromSecret is a variable that is read from a Secret.
func fromSecret(name, secret, key string) corev1.EnvVar {
	ref := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: ref}}
}

// literals are the autoscaler's variables whose values are known. Secrets are not among them, since what is made of
// them is shown.
func (in *installation) literals() map[string]string {
	out := map[string]string{}
	maps.Copy(out, in.known)
	for _, v := range in.env {
		if value, known := v.text(); known && !v.other && !confidential(v.Name, value) {
			out[v.Name] = value
		}
	}
	return out
}

// hideSecrets makes references of all secrets that are written out in variables, and says so.
func (in *installation) hideSecrets() {
	taken := map[string]string{}
	for i, v := range in.env {
		if !confidential(v.Name, v.Value) {
			continue
		}
		key := v.Name
		if before, ok := taken[key]; ok && before != v.Value {
			key = v.container + "." + v.Name
		}
		taken[key] = v.Value
		in.env[i].EnvVar = fromSecret(v.Name, in.secret, key)
		note := fmt.Sprintf("%s has a secret written out, which is not repeated here: it is read from the key %s of the "+
			"Secret %s now; make that before", v.field, key, in.secret)
		if reference.MatchString(v.Value) {
			note += ", with what each $(NAME) stands for written out: in what comes from a Secret, the kubelet fills in nothing"
		}
		if in.line.config.Cloud.Provider == "aws" {
			note += ", or take the variable out and give the service account a role (IRSA)"
		}
		in.note("%s", note)
	}
}

// notes explain a translation.
func (in *installation) notes(s Settings) Notes {
	var next []string
	if s.Image == "" {
		next = append(next, "no image of Plimsoll is published yet: make one (make image; "+docs+"release.md), push it to "+
			"your registry, and run this again with --image=registry.example.com/plimsoll:v1")
	}
	back := "to go back, apply the old one again"
	if !in.line.config.Leader.Enabled {
		back = "to go back, scale Plimsoll's Deployment to 0, wait until its pod is gone, and apply the old one again"
	}
	next = append(append(next, in.trial()...), in.apply...)
	return Notes{Lost: in.line.lost(), Changed: in.changed, Handover: in.handingOver, Next: append(next,
		"see what it does: plimsoll status; see why a pod waits: kubectl describe pod",
		back+": taints, annotations, lease and ConfigMap are the same")}
}

// handover says how Plimsoll follows the Cluster Autoscaler, whose lease is in a place. The first line is of the
// lease, the second of the ConfigMap if one is written.
func (in *installation) handover(place string) []string {
	c := in.line.config
	out := []string{"leader election is off: stop the Cluster Autoscaler before Plimsoll starts, or both act"}
	if c.Leader.Enabled {
		out[0] = fmt.Sprintf("both have the lease %s in %s: only one of the two acts, and the other waits until it ends",
			c.Leader.Name, place)
	}
	if c.Report.WriteStatus {
		out = append(out, fmt.Sprintf("both write the ConfigMap %s in %s, and the Cluster Autoscaler deletes it when it "+
			"ends; Plimsoll makes it again, and keeps its memory there", c.Report.StatusConfigMap, place))
	}
	return append(out, "nodes with the taint ToBeDeletedByClusterAutoscaler are taken over: a removal that was begun "+
		"goes on or is rolled back", "backoffs and timers of the Cluster Autoscaler were in its memory: they start over")
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"'$&|;<>()*?[]{}~#!`\\") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
