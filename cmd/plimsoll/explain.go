package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Say why a pod waits, why a node stays or how a group stands, and what would change it; changes nothing",
		Example: `  plimsoll explain pod shop/api-7d9f-x2k4p -f cluster.yaml
  plimsoll explain node ip-10-0-4-91 --cloud-provider=aws --nodes=0:10:workers
  plimsoll explain group general -f cluster.yaml -o json`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		explainSubject("pod NAMESPACE/NAME", "Say why a pod has no node and what would give it one, or what would move it",
			`  plimsoll explain pod shop/api-7d9f-x2k4p -f cluster.yaml
  plimsoll explain pod api-7d9f-x2k4p -n shop --cloud-provider=aws --nodes=0:10:workers
  plimsoll explain pod shop/api-7d9f-x2k4p -f cluster.yaml --set group=general,max=20 -o json`,
			asked("pod", explain.PodOf, cli.Pod)),
		explainSubject("node NAME", "Say what keeps a node, or how far its removal is",
			`  plimsoll explain node ip-10-0-4-91 -f cluster.yaml
  plimsoll explain node ip-10-0-4-91 --cloud-provider=aws --nodes=0:10:workers
  plimsoll explain node ip-10-0-4-91 -f cluster.yaml --skip-nodes-with-system-pods=false -o json`,
			asked("node", explain.NodeOf, cli.Node)),
		explainSubject("group NAME", "Say how a node group stands: limits, scale-ups, holds, answers to pods, template",
			`  plimsoll explain group general -f cluster.yaml
  plimsoll explain group general --cloud-provider=aws --nodes=0:10:general
  plimsoll explain group general -f cluster.yaml -o json`,
			asked("group", explain.GroupOf, cli.Group)),
		explainPlanCommand(),
	)
	return cmd
}

// subject is a kind of thing that can be explained.
type subject struct {
	kind string
	// say explains one from a cycle, and show prints what the leader says of one.
	say  func(w io.Writer, c model.Cycle, p model.Policy, name string, format cli.Format) error
	show func(w io.Writer, answer json.RawMessage, format cli.Format) error
}

// asked makes a subject of what explains and what prints.
func asked[T any](
	kind string, of func(model.Cycle, model.Policy, string) (T, error), show func(io.Writer, T, cli.Format) error,
) subject {
	return subject{kind,
		func(w io.Writer, c model.Cycle, p model.Policy, name string, format cli.Format) error {
			answer, err := of(c, p, name)
			if err != nil {
				return err
			}
			return show(w, answer, format)
		},
		func(w io.Writer, text json.RawMessage, format cli.Format) error {
			var answer T
			if err := json.Unmarshal(text, &answer); err != nil {
				return fmt.Errorf("read the leader's answer: %w", err)
			}
			return show(w, answer, format)
		}}
}

func explainSubject(use, short, example string, of subject) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Example: example}
	own := []string{"output"}
	var namespace string
	if of.kind == "pod" {
		cmd.Flags().StringVarP(&namespace, "pod-namespace", "n", "", "namespace of a pod whose name is given without")
		own = append(own, "pod-namespace")
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return misusef("give one name: plimsoll explain %s", use)
		}
		_, err := of.named(args[0], namespace)
		return err
	}
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "text, wide, json or yaml")
	var leader toLeader
	leader.bindPage(cmd.Flags())
	q := bindQuestion(cmd, append(own, pageFlags...)...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := of.named(args[0], namespace)
		if err != nil {
			return err
		}
		text, err := q.askLeader(cmd, leader, of.kind, name)
		if err != nil {
			return err
		}
		if text != nil {
			return of.show(cmd.OutOrStdout(), text, format)
		}
		c, s, err := q.gather(cmd)
		if c == nil || err != nil {
			return err
		}
		cycle, err := decided(c, s)
		if err != nil {
			return err
		}
		since := newFixes(c.Pending, nil, nil) // since when answers are the same, the status has
		if err := of.say(cmd.OutOrStdout(), since.told(cycle), s.config.Policy, name, format); err != nil {
			return err
		}
		if cycle.Snapshot.InventoryErr == "" {
			return nil
		}
		return withoutGroups("explain "+of.kind+" "+name, c)
	}
	return cmd
}

// kinds are what kubectl calls what is explained: it names things as kind/NAME.
var kinds = map[string][]string{
	"pod": {"pod", "pods", "po"}, "node": {"node", "nodes", "no"}, "group": {"group", "groups"},
}

// named is the whole name of what is asked about: of a pod NAMESPACE/NAME, with the namespace of -n where it has none.
func (of subject) named(name, namespace string) (string, error) {
	before, after, typed := strings.Cut(name, "/")
	typed = typed && after != "" && slices.Contains(kinds[of.kind], before)
	if of.kind != "pod" {
		if typed {
			return after, nil
		}
		return name, nil
	}
	// pod/NAME alone is of the namespace pod.
	if typed && (strings.Contains(after, "/") || namespace != "" && namespace != before) {
		name = after
	}
	in, short, whole := strings.Cut(name, "/")
	switch {
	case !whole && namespace != "":
		in, short = namespace, name
	case !whole:
		return "", misusef("explain pod %s: name it NAMESPACE/NAME, or add -n NAMESPACE", name)
	case namespace != "" && namespace != in:
		return "", misusef("explain pod %s -n %s: two namespaces are named; leave out -n", name, namespace)
	}
	if in == "" || short == "" || strings.Contains(short, "/") {
		return "", misusef("explain pod %s: name it NAMESPACE/NAME, or NAME -n NAMESPACE", name)
	}
	return in + "/" + short, nil
}

// askLeader asks the leader, which knows since when, and why nodes were bought. There is no answer where the
// question is about files, or about a cluster that is otherwise than the leader's, or where the leader cannot be
// asked. It says on standard error which it is. A leader that is named has to answer.
func (q *question) askLeader(cmd *cobra.Command, leader toLeader, kind, name string) (json.RawMessage, error) {
	told, url := cmd.ErrOrStderr(), leader.url
	switch {
	case len(q.from.files) > 0 && url != "":
		return nil, misusef("--url and --filename (-f): give one of them")
	case len(q.from.files) > 0 || q.flags.HelpAll():
		return nil, nil
	case q.suppose.any() || len(q.flags.Deciding(false)) > 0:
		if url != "" {
			return nil, misusef("--url: the leader does not answer what if; leave out --url, or the flags that decide")
		}
		cli.Tell(told, "note", "the leader is not asked, but the cluster read: flags say what it should decide by")
		return nil, nil
	}
	c, _, err := q.flags.Config()
	if err != nil {
		return nil, wrongConfig(err)
	}
	leader.config = c
	var text json.RawMessage
	page, err := leader.reach(cmd.Context())
	if err == nil {
		defer page.end()
		parts := strings.Split(name, "/")
		for i := range parts {
			parts[i] = neturl.PathEscape(parts[i])
		}
		err = page.fetch(cmd.Context(), "/api/v1/explain/"+kind+"/"+strings.Join(parts, "/"), &text)
	}
	said, ok := errors.AsType[leaderRefusal](err)
	switch {
	case err == nil:
		if err := isAnswer(text, kind); err != nil {
			return nil, fmt.Errorf("ask the leader at %s: %w", page.base, err)
		}
		cli.Tell(told, "note", "this is the leader's answer")
		return text, nil
	case url != "" || errors.Is(err, errNoAnswer) || ok && said.status == http.StatusNotFound:
		return nil, err
	case unconnected(err): // and the cluster would be read of the same API server
		return nil, err
	}
	cli.Tell(told, "note", "the leader cannot be asked, and the cluster is read: "+err.Error())
	return nil, nil
}

// isAnswer is an error for what does not explain such a thing.
func isAnswer(text json.RawMessage, kind string) error {
	var head struct{ APIVersion, Kind string }
	if json.Unmarshal(text, &head) != nil || head.APIVersion != explain.APIVersion || !strings.EqualFold(head.Kind, kind) {
		return fmt.Errorf("it answers with no explanation of a %s (apiVersion %q, kind %q): is that the address of an "+
			"autoscaler's page, of a version that suits this one?", kind, head.APIVersion, head.Kind)
	}
	return nil
}
