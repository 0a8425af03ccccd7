package migrate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// located is a piece of a command line, and the field that it is written in.
type located struct{ text, field string }

// flag is one flag of a command line.
type flag struct {
	name  string // as Plimsoll spells it
	value string
	bare  bool // it has no value
	field string
	// resolved is the value with its variables filled in, if that can be.
	resolved string
}

func (f flag) String() string {
	if f.bare {
		return "--" + f.name
	}
	return "--" + f.name + "=" + f.value
}

// shown is the flag for a person who may not see secrets.
func (f flag) shown() string {
	if !f.bare && confidential(f.name, f.value) {
		return "--" + f.name
	}
	return f.String()
}

// dropped is a flag that is not carried over.
type dropped struct {
	flag
	why string
}

// commandLine is the Cluster Autoscaler's, as far as it matters here.
type commandLine struct {
	kept    []flag
	dropped []dropped
	// unchecked are flags whose values are only known in the cluster.
	unchecked []flag
	// defaults are those of the flags whose default is another one there.
	defaults map[string]string
	flags    *config.Flags
	config   config.Config
	provider wiring.Entry
	// management is the kubeconfig of Cluster API's management cluster; authoritative: without one that cluster is the
	// pod's own.
	management    string
	authoritative bool
}

// unknown is why a flag of neither is dropped.
const unknown = "neither the Cluster Autoscaler nor Plimsoll has such a flag; a build of its own may"

// unread are flags that hold here and that the Cluster Autoscaler parses and does not read: without them the two do
// the same.
var unread = map[string]string{
	"leader-elect-resource-namespace": "the Cluster Autoscaler does not read it, and has its lease in --namespace; " +
		"Plimsoll's must be there too, so that only one of them acts",
}

// reference is a variable in an argument, as the kubelet resolves it.
var reference = regexp.MustCompile(`\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)`)

// read makes a command line of its pieces. env are the variables whose values are known. All that is wrong is in the
// error, each by its field.
func read(pieces []located, env map[string]string, providers []wiring.Entry) (commandLine, error) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	bound := config.Bind(set, providers)
	// What Plimsoll refuses is dropped with its reason, as what it ignores is.
	if err := set.Set("ignore-unsupported-flags", "true"); err != nil {
		return commandLine{}, err
	}
	flags, err := split(pieces, set)
	if err != nil {
		return commandLine{}, err
	}
	line := commandLine{defaults: map[string]string{}, flags: bound}
	for _, name := range config.ChangedDefaults() {
		line.defaults[name] = set.Lookup(name).DefValue
	}
	var errs []error
	var known []flag
	for _, f := range flags {
		if set.Lookup(f.name) == nil {
			line.dropped = append(line.dropped, dropped{f, unknown})
			continue
		}
		if why, ok := unread[f.name]; ok {
			line.dropped = append(line.dropped, dropped{f, why})
			continue
		}
		if confidential(f.name, f.value) {
			errs = append(errs, fmt.Errorf("%s: --%s has a secret written out, which is not repeated here: give the container "+
				"a variable that comes from a Secret, and write --%[2]s=$(NAME)", f.field, f.name))
			continue
		}
		resolved, open := resolve(f.value, env)
		if f.resolved = resolved; open {
			f.resolved = f.value
			line.unchecked = append(line.unchecked, f)
		} else if err := set.Parse([]string{flag{name: f.name, value: resolved, bare: f.bare}.String()}); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.field, config.ValueMeant(err)))
		}
		known = append(known, f)
	}
	if len(errs) > 0 {
		return commandLine{}, errors.Join(errs...)
	}
	c, warnings, err := bound.Config()
	if err != nil {
		return commandLine{}, atFields(err, known)
	}
	line.config = c
	line.provider, _ = bound.Provider(c)
	if f := set.Lookup("cloud-config"); f != nil { // if Cluster API is among the providers
		line.management = f.Value.String()
		line.authoritative = set.Lookup("clusterapi-cloud-config-authoritative").Value.String() == "true"
	}
	none := map[string]string{}
	for _, w := range warnings {
		if name, why, ok := config.NoEffect(w); ok {
			none[name] = why
		}
	}
	for _, f := range known {
		if why, ok := none[f.name]; ok {
			line.dropped = append(line.dropped, dropped{f, why})
			continue
		}
		line.kept = append(line.kept, f)
	}
	return line, nil
}

// split finds the flags in pieces: --name=value, --name, --name value in two, and -v4, which has no sign between the
// two.
func split(pieces []located, set *pflag.FlagSet) ([]flag, error) {
	var out []flag
	var errs []error
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		name, value, has := strings.Cut(strings.TrimLeft(p.text, "-"), "=")
		if !strings.HasPrefix(p.text, "-") || name == "" {
			errs = append(errs, fmt.Errorf("%s: %q is no flag; the Cluster Autoscaler takes nothing else", p.field, p.text))
			continue
		}
		f := flag{name: string(set.GetNormalizeFunc()(set, name)), value: value, bare: !has, field: p.field}
		known := set.Lookup(f.name)
		if short := shorthand(set, p.text); known == nil && short != nil {
			known, has = short, true
			f.name, f.value, f.bare = short.Name, p.text[2:], false
		}
		next := i+1 < len(pieces) && !strings.HasPrefix(pieces[i+1].text, "-")
		switch {
		case has:
		case known != nil && known.NoOptDefVal != "": // a switch
		case next:
			i++
			f.value, f.bare = pieces[i].text, false
		case known != nil:
			errs = append(errs, fmt.Errorf("%s: --%s has no value", p.field, f.name))
			continue
		}
		out = append(out, f)
	}
	return out, errors.Join(errs...)
}

// shorthand is the flag whose one letter begins a piece with one dash.
func shorthand(set *pflag.FlagSet, text string) *pflag.Flag {
	if len(text) < 3 || text[0] != '-' || text[1] == '-' {
		return nil
	}
	return set.ShorthandLookup(text[1:2])
}

// resolve puts variables' values into a flag's. It is open if one is not known here.
func resolve(text string, env map[string]string) (resolved string, open bool) {
	resolved = reference.ReplaceAllStringFunc(text, func(ref string) string {
		value, ok := env[reference.FindStringSubmatch(ref)[1]]
		open = open || !ok
		return value
	})
	return resolved, open
}

// atFields says of each error about a flag where the flag is written.
func atFields(err error, flags []flag) error {
	all := parts(err)
	for i, err := range all {
		for _, f := range flags {
			if text := err.Error(); strings.HasPrefix(text, "--"+f.name+":") ||
				strings.HasPrefix(text, fmt.Sprintf("--%s=%q:", f.name, f.resolved)) {
				all[i] = fmt.Errorf("%s: %w", f.field, err)
			}
		}
	}
	return errors.Join(all...)
}

// decisive reports whether other nodes are bought or removed without it.
func (d dropped) decisive() bool {
	value := d.resolved
	if d.bare {
		value = "true"
	}
	return config.Decisive(d.name, value)
}

// lost are the flags whose loss changes which nodes are bought or removed: Plimsoll refuses them, so that no user
// learns of it from the nodes.
func (l commandLine) lost() []string {
	var out []string
	for _, d := range l.dropped {
		if d.decisive() {
			out = append(out, fmt.Sprintf("%s: %s", d.shown(), d.why))
		}
	}
	return out
}

// expanders says what is not as it was with these expanders.
func expanders(value string) string {
	names := strings.Split(value, ",")
	var out []string
	if slices.Contains(names, "priority") {
		out = append(out, "priority reads the ConfigMap cluster-autoscaler-priority-expander")
	}
	if slices.Contains(names, "price") {
		out = append(out, "price needs prices, of the provider or in --price-file")
	}
	if names[len(names)-1] != "random" {
		out = append(out, "ties that are left go to the first group by name, no longer to a random one")
	}
	return strings.Join(out, "; ")
}

// notes explain a command line: what was dropped, what means something else here, and what is not given and has
// another default.
func (l commandLine) notes() []string {
	var out []string
	for _, d := range l.dropped {
		if d.decisive() {
			continue // it is among what is lost
		}
		out = append(out, fmt.Sprintf("%s is dropped: %s", d.shown(), d.why))
	}
	given := map[string]int{}
	for _, f := range l.kept {
		given[f.name]++
		d := l.flags.DifferenceOf(f.name)
		// Of several ways to find groups, aws meant something else.
		several := f.name == "node-group-auto-discovery" && given[f.name] == 2
		if d.Note != "" && (several || !d.Minor && given[f.name] == 1) {
			note := d.Note
			if f.name == "expander" && !reference.MatchString(f.resolved) {
				note = expanders(f.resolved)
			}
			if note != "" {
				out = append(out, fmt.Sprintf("--%s stays; %s", f.name, note))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.defaults)) {
		if d := l.flags.DifferenceOf(name); given[name] == 0 {
			out = append(out, fmt.Sprintf("--%s is not given: its default is %s, was %s; %s",
				name, l.defaults[name], d.There, d.Note))
		}
	}
	if l.config.Cloud.Provider == "aws" {
		out = append(out, "a group over several zones is used for pods that want one zone, too; for those, as with EBS "+
			"volumes, prefer one group a zone ("+docs+"aws.md#groups-over-several-zones)")
	}
	for _, f := range l.unchecked {
		out = append(out, fmt.Sprintf("%s is not checked: what it stands for is only known in the cluster", f.shown()))
	}
	return out
}
