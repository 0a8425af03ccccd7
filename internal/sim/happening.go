package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is the part of the script's language that says what people do.

// happening reads what people do, and returns it as an action for its time.
func happening(w *world, words []string) (func() error, error) {
	what, name, rest := words[0], "", words[1:]
	if !slices.Contains([]string{"crash", "pause", "flags"}, what) {
		name, rest = words[1], words[2:]
	}
	id := provider.GroupID(name)
	switch what {
	case "workload":
		return workloadLine(w, name, rest)
	case "refuse", "allow":
		return func() error { return w.Refuse(name, words[0] == "refuse") }, nil
	case "budget":
		return budgetLine(w, name, rest)
	case "drop-budget":
		namespace := corev1.NamespaceDefault
		err := eachWord(rest, map[string]func(string) error{"namespace": word(&namespace)})
		return func() error { return w.DropBudget(namespace, name) }, err
	case "target":
		n, err := strconv.Atoi(strings.Join(rest, " "))
		return func() error { return w.SetTarget(id, n) }, err
	case "limits":
		least, most := 0, 0
		err := eachWord(rest, map[string]func(string) error{"min": number(&least), "max": number(&most)})
		return func() error { return w.SetLimits(id, least, most) }, err
	case "zones":
		if len(rest) != 1 {
			return nil, fmt.Errorf("the zones that the cloud has machines in are wanted, like a|b")
		}
		return func() error { return w.SetZones(id, strings.Split(rest[0], "|")) }, nil
	case "template":
		return templateLine(w, name, rest)
	case "interrupt":
		return interruptLine(w, name, rest)
	case "unsound":
		return func() error { return w.Unsound(name) }, nil
	case "delete-node":
		return func() error { return w.DeleteNode(w.anyNode(name)) }, nil
	case "cordon", "uncordon":
		return func() error { return w.Cordon(w.anyNode(name), what == "cordon") }, nil
	case "taint", "untaint":
		key, effect, _ := strings.Cut(strings.Join(rest, " "), ":")
		key, value, _ := strings.Cut(key, "=")
		if key == "" || effect == "" {
			return nil, fmt.Errorf("a taint is wanted, like: taint any team=other:NoSchedule")
		}
		taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		return func() error { return w.Taint(w.anyNode(name), taint, what == "taint") }, nil
	case "memory":
		text, known := overwritten[name]
		if !known {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(sortedKeys(overwritten), ", "))
		}
		return func() error { w.Overwrite(text); return nil }, nil
	case "flags":
		words := slices.Concat(w.settings.Flags, rest)
		c, err := parseFlags(words)
		return func() error { w.Reflag(words, c); return nil }, err
	case "annotate":
		return annotateLine(w, name, rest)
	case "kill":
		return func() error { return w.Kill(w.anyInstance(name)) }, nil
	case "drop-group":
		return func() error { return w.DropGroup(id) }, nil
	case "crash":
		return crashLine(w, rest)
	case "pause":
		var lasts time.Duration
		err := eachWord(rest, map[string]func(string) error{"for": duration(&lasts)})
		return func() error { w.Pause(lasts); return nil }, err
	}
	return nil, fmt.Errorf("%q is none of workload, budget, drop-budget, target, limits, template, "+
		"delete-node, cordon, uncordon, taint, untaint, annotate, kill, interrupt, unsound, drop-group, memory, crash, "+
		"pause, flags", what)
}

// overwritten is what the memory can be overwritten with.
var overwritten = map[string]string{"garbage": "<html>502 Bad Gateway</html>", "empty": "{}", "cut": `{"Asks":[{"Group":"g`}

// crashLine ends the leader: now, or after some further calls.
func crashLine(w *world, words []string) (func() error, error) {
	var wait time.Duration
	var verb model.Verb
	calls, writes := 0, 0
	err := eachWord(words, map[string]func(string) error{"for": duration(&wait),
		"calls": number(&calls), "writes": number(&writes), "of": word(&verb)})
	if err == nil && verb != "" && verbWord[verb] == "" {
		err = fmt.Errorf("of=%s: there is no such call", verb)
	}
	if d := (doom{after: calls + writes, of: verb, effect: writes > 0}); d.after > 0 {
		return func() error { w.doom = d; return nil }, err
	}
	return func() error { w.Crash(wait); return nil }, err
}

// workloadLine scales a workload; what its pods are is said the first time.
func workloadLine(w *world, name string, words []string) (func() error, error) {
	count := 0
	words, err := take(words, map[string]func(string) error{"count": number(&count)})
	if err != nil {
		return nil, err
	}
	if _, known := w.workloads[name]; !known || len(words) > 0 {
		var p pace
		pods, err := take(words, map[string]func(string) error{"stop": span(&p.Stop), "start": span(&p.Start)})
		if err != nil {
			return nil, err
		}
		scratch, err := scratchpad(w, append([]string{"pods", name, "count=1", "unseen"}, pods...))
		if err != nil {
			return nil, err
		}
		seen := scratch.Observation()
		like := seen.Unbound[0]
		if err := w.AddWorkload(name, seen.Contents.Specs[like.Spec].Pod.Namespace, like, p); err != nil {
			return nil, err
		}
	}
	return func() error { return w.Scale(name, count) }, nil
}

// budgetLine sets a budget; it is about the pods of the app of its own name,
// unless it says otherwise.
func budgetLine(w *world, name string, words []string) (func() error, error) {
	b := Budget{Namespace: corev1.NamespaceDefault, Name: name, Select: map[string]string{"app": name}}
	pods := func(to **int) func(string) error {
		return func(text string) error { *to = new(int); return number(*to)(text) }
	}
	err := eachWord(words, map[string]func(string) error{
		"min": pods(&b.MinAvailable), "max": pods(&b.MaxUnavailable), "namespace": word(&b.Namespace),
		"app": func(app string) error { b.Select = map[string]string{"app": app}; return nil },
		"select": func(text string) error {
			key, value, _ := strings.Cut(text, ":")
			b.Select = map[string]string{key: value}
			return nil
		},
	})
	if err == nil {
		err = b.check()
	}
	return func() error { return w.SetBudget(b) }, err
}

// annotateLine writes key=value on a node. Keys of autoscalers are written without their prefix.
func annotateLine(w *world, name string, words []string) (func() error, error) {
	key, value, _ := strings.Cut(strings.Join(words, " "), "=")
	if key == "" {
		return nil, fmt.Errorf("an annotation is wanted, like: annotate general-00001 scale-down-disabled=true")
	}
	if key == "scale-down-disabled" {
		key = model.AnnotationScaleDownDisabled
	} else if rest, ok := strings.CutPrefix(key, "delay-deletion/"); ok {
		key = model.PrefixDelayDeletion + rest
	}
	return func() error { return w.Annotate(w.anyNode(name), key, value) }, nil
}
