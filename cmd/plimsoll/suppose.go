package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// mostAdded is how many pods may be added at once: more than the largest cluster that Kubernetes supports has.
const mostAdded = 200_000

// supposition is how the cluster is supposed to be otherwise than it is.
type supposition struct {
	groups, pods, without []string
}

func (s *supposition) bind(set *pflag.FlagSet) {
	set.StringArrayVar(&s.groups, "set", nil,
		"what if a group were otherwise: group=NAME, then min=N, max=N, target=N or price=N, separated by commas (repeat)")
	set.StringArrayVar(&s.pods, "add-pods", nil,
		"what if more pods came: N=FILE, N pods like the Pod in the file, or like the pods of the Deployment, StatefulSet "+
			"or Job (repeat)")
	set.StringArrayVar(&s.without, "remove-node", nil,
		"what if the node were gone, with its machine; its pods wait for another (repeat)")
}

// any reports whether something is supposed.
func (s *supposition) any() bool { return len(s.groups)+len(s.pods)+len(s.without) > 0 }

// misused is an error in what is supposed that can be seen before a cluster is read. read: standard input has it.
func (s *supposition) misused(read bool) error {
	for i, name := range s.without {
		if slices.Contains(s.without[:i], name) {
			return misusef("--remove-node=%s is given twice", name)
		}
		if strings.Contains(name, ",") {
			return misusef("--remove-node=%s: give the flag once for each node, as --remove-node=%s", name,
				strings.ReplaceAll(name, ",", " --remove-node="))
		}
	}
	for _, text := range s.pods {
		n, file, err := toAdd(text)
		switch {
		case err != nil:
			return misusef("--add-pods=%s: %w", text, err)
		case n > mostAdded:
			return misusef("--add-pods=%s: at most %d pods can be added", text, mostAdded)
		case file == "-" && read:
			return misusef("--add-pods=%s: standard input is given twice, and can be read once", text)
		}
		read = read || file == "-"
	}
	return nil
}

// toAdd reads the value of --add-pods.
func toAdd(text string) (n int, file string, err error) {
	count, file, ok := strings.Cut(text, "=")
	n, err = strconv.Atoi(count)
	if !ok || err != nil || n < 1 || file == "" {
		return 0, "", errors.New("want N=FILE, such as 100=pod.yaml")
	}
	return n, file, nil
}

// apply changes the cluster, and the prices by which is decided.
func (s *supposition) apply(c *clusterfile.Cluster, p **model.Prices, stdin io.Reader, told io.Writer) error {
	for _, name := range s.without {
		lost, err := c.RemoveNode(name)
		if err != nil {
			return misusef("--remove-node=%s: %w", name, err)
		}
		if len(lost) > 0 {
			cli.Tell(told, "note", fmt.Sprintf("--remove-node=%s: no controller makes these pods again: %s", name,
				strings.Join(lost, ", ")))
		}
	}
	var notes []string
	for _, text := range s.groups {
		note, err := setGroup(c, p, text)
		if err != nil {
			return misusef("--set=%s: %w", text, err)
		}
		if note != "" {
			notes = append(notes, fmt.Sprintf("--set=%s: %s", text, note))
		}
	}
	for _, text := range s.groups {
		if err := checkSet(c, text); err != nil {
			return misusef("--set=%s: %w", text, err)
		}
	}
	for _, note := range notes {
		cli.Tell(told, "note", note)
	}
	for _, text := range s.pods {
		n, file, _ := toAdd(text) // misused has told
		added, err := c.AddPods(n, file, stdin)
		if err != nil {
			return fmt.Errorf("--add-pods=%s: %w", text, err)
		}
		fmt.Fprintf(told, "note: --add-pods=%s: the added pods are %s\n", text, strings.Join(added, ", "))
	}
	return nil
}

// settable is what can be supposed of a group.
var settable = []string{"min", "max", "target", "price"}

// setGroup does what a --set says. The note says what that means, where it may be taken for something else.
func setGroup(c *clusterfile.Cluster, p **model.Prices, text string) (note string, err error) {
	first, rest, _ := strings.Cut(text, ",")
	key, name, _ := strings.Cut(first, "=")
	if key != "group" || rest == "" {
		err := errors.New("want group=NAME, then what is to change, such as group=web,max=20")
		if key != "group" {
			err = fmt.Errorf("it begins with %q: %w", key, err)
		}
		return "", err
	}
	g, err := c.Group(provider.GroupID(name))
	if err != nil {
		return "", err
	}
	set := map[string]bool{}
	for part := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(part, "=")
		if set[key] {
			return "", fmt.Errorf("%s is given twice", key)
		}
		set[key] = true
		if key == "price" {
			price, err := strconv.ParseFloat(value, 64)
			if err != nil || !model.IsPrice(price) {
				return "", fmt.Errorf("price: want a price per hour, not %q", value)
			}
			*p = (*p).WithGroup(provider.GroupID(name), price)
			continue
		}
		field := map[string]*int{"min": &g.Min, "max": &g.Max, "target": &g.Target}[key]
		if field == nil {
			return "", fmt.Errorf("there is no %q%s", key,
				spelling.Meant(key, settable, "of a group "+spelling.All(settable)+" can be set"))
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > clusterfile.MostNodes {
			return "", fmt.Errorf("%s: want a number of nodes, at most %d, not %q", key, clusterfile.MostNodes, value)
		}
		*field = n
	}
	if set["target"] && g.Target < len(g.Instances) {
		return "", fmt.Errorf("the group has %s already; --remove-node supposes one gone",
			spelling.Count(len(g.Instances), "machine"))
	}
	return whatItMeans(g, set["max"], set["target"]), nil
}

// whatItMeans says of a group's maximum or target that was set what may be taken for something else.
func whatItMeans(g *provider.Group, maximum, target bool) string {
	var notes []string
	if coming := g.Target - len(g.Instances); target && coming > 0 {
		notes = append(notes, fmt.Sprintf("%s on the way, not there yet", spelling.Count(coming, "node")))
	}
	switch {
	case g.Max >= g.Target:
	case target:
		notes = append(notes, fmt.Sprintf("that is above its maximum, %d: it does not grow", g.Max))
	case maximum:
		notes = append(notes, fmt.Sprintf("the group is asked for %s already: it does not grow, and nothing is removed for "+
			"a maximum", spelling.Count(g.Target, "node")))
	}
	return strings.Join(notes, "; ")
}

// checkSet looks at the group of a --set, when all of them are done.
func checkSet(c *clusterfile.Cluster, text string) error {
	first, _, _ := strings.Cut(text, ",")
	_, name, _ := strings.Cut(first, "=")
	g, err := c.Group(provider.GroupID(name))
	if err == nil && g.Min > g.Max {
		err = fmt.Errorf("its minimum %d is above its maximum %d", g.Min, g.Max)
	}
	return err
}
