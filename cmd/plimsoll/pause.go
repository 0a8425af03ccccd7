package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

const pauseName = "pause"

func pauseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   pauseName + " GROUP|--all",
		Short: "Buy, remove and repair nothing in a group until it is resumed, or a time is over",
		Long: `Buy, remove and repair nothing in a group until it is resumed, or a time is over. GROUP may be a pattern: * stands
for any letters, ? for one. A second pause of the same group takes the place of the first. Pauses are kept in the
ConfigMap ` + observe.PauseConfigMap + `, and outlive restarts.`,
		Example: `  plimsoll pause web --for=2h --reason="kernel update"
  plimsoll pause 'batch-*' --namespace=autoscaling
  plimsoll pause --all --until=2026-12-27T08:00:00Z`,
	}
	var p policy.GroupPause
	var until string
	var lasts time.Duration
	cmd.Flags().StringVar(&until, "until", "",
		"when the pause ends, such as 2026-12-24T18:00:00Z; without it, plimsoll resume ends it")
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long the pause lasts, such as 2h")
	cmd.Flags().StringVar(&p.Reason, "reason", "", "why, for everybody who asks what holds the group")
	check := func() error {
		p.Since = time.Now().UTC().Truncate(time.Second)
		given := cmd.Flags().Changed("for")
		switch {
		case until != "" && given:
			return misusef("--until and --for: give one of them")
		case given && lasts <= 0:
			return misusef("--for=%s: want a time above 0, such as 2h", lasts)
		case given:
			p.Until = p.Since.Add(lasts)
		case cmd.Flags().Changed("until"):
			var err error
			if p.Until, err = time.Parse(time.RFC3339, until); err != nil {
				return misusef("--until: %q is no time such as 2026-12-24T18:00:00Z", until)
			}
			if !p.Stands(time.Now()) {
				return misusef("--until=%s: that is not ahead", until)
			}
		}
		return nil
	}
	pausing(cmd, check, func(pauses []policy.GroupPause, group string, w io.Writer) ([]policy.GroupPause, error) {
		p.Group = group
		others := slices.DeleteFunc(pauses, func(o policy.GroupPause) bool { return o.Group == group })
		fmt.Fprintf(w, "%s paused, until %s\n", named(group), ends(p))
		return append(others, p), nil
	})
	return cmd
}

func resumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume GROUP|--all",
		Short: "End what plimsoll pause has paused",
		Long: `End what plimsoll pause has paused. GROUP is as it was given there; --all ends every pause. Those in the
configuration file stay.`,
		Example: `  plimsoll resume web
  plimsoll resume 'batch-*' --namespace=autoscaling
  plimsoll resume --all`,
	}
	fine := func() error { return nil }
	pausing(cmd, fine, func(pauses []policy.GroupPause, group string, w io.Writer) ([]policy.GroupPause, error) {
		var left []policy.GroupPause
		var names, quoted []string
		for _, p := range pauses {
			names, quoted = append(names, p.Group), append(quoted, fmt.Sprintf("%q", p.Group))
			if group != policy.All && p.Group != group {
				left = append(left, p)
			}
		}
		switch {
		case len(pauses) == 0:
			return nil, fmt.Errorf("resume %s: nothing is paused by plimsoll pause", named(group))
		case len(left) == len(pauses):
			return nil, fmt.Errorf("resume %s: it is not paused by that name%s; paused are %s", named(group),
				didYouMean(group, names), strings.Join(quoted, ", "))
		}
		fmt.Fprintf(w, "%s resumed\n", named(group))
		return left, nil
	})
	return cmd
}

func named(group string) string {
	if group == policy.All {
		return "all groups"
	}
	return fmt.Sprintf("group %q", group)
}

func ends(p policy.GroupPause) string {
	if p.Until.IsZero() {
		return "it is resumed"
	}
	return p.Until.Format(time.RFC3339)
}

// didYouMean names what is spelled nearly like a name that does not exist.
func didYouMean(name string, known []string) string {
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// unknownGroup is a warning if no group has the name, as far as the leader's status lists them.
func unknownGroup(ctx context.Context, client kubernetes.Interface, c config.Config, name string) string {
	m, err := report.StatusMap(ctx, client, c.Cluster.Namespace, c.Report.StatusConfigMap)
	if err != nil {
		return "it is not known whether there is such a group: " + err.Error()
	}
	d, _, err := status.DocumentIn(m)
	if err != nil {
		return "it is not known whether there is such a group: " + err.Error()
	}
	if len(d.NodeGroups) == 0 {
		return "it is not known whether there is such a group: the status lists none"
	}
	var names []string
	for i := range d.NodeGroups {
		if names = append(names, d.NodeGroups[i].Name); policy.Pattern(name).MatchString(d.NodeGroups[i].Name) {
			return ""
		}
	}
	return fmt.Sprintf("no group is called %q%s; the pause holds once there is one", name, didYouMean(name, names))
}

// pausing completes a command that changes the pauses. check looks at its flags, before anything is asked. change
// gets the pauses that stand and the group, and says what it did.
func pausing(
	cmd *cobra.Command, check func() error,
	change func(pauses []policy.GroupPause, group string, w io.Writer) ([]policy.GroupPause, error),
) {
	c, all := config.Defaults(), false
	set := cmd.Flags()
	set.BoolVar(&all, "all", false, "all groups")
	bindCluster(set, &c.Cluster)
	set.StringVar(&c.Report.StatusConfigMap, "status-config-map-name", c.Report.StatusConfigMap,
		"the ConfigMap with the status, which lists the groups")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) == 1) || len(args) > 1 || len(args) == 1 && args[0] == "" {
			return misusef("%s: name one group, or give --all", cmd.Name())
		}
		if cmd.Name() == pauseName && !all {
			if err := policy.CheckPattern(args[0]); err != nil {
				return misuse{err}
			}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := check(); err != nil {
			return err
		}
		client, _, err := clientFor(c)
		if err != nil {
			return err
		}
		ctx, end := patient(cmd.Context(), c.Cluster)
		defer end()
		group := policy.All
		if !all {
			group = args[0]
		}
		var done bytes.Buffer // it is told once it has been written
		does := func(pauses []policy.GroupPause) ([]policy.GroupPause, error) {
			done.Reset()
			return change(pauses, group, &done)
		}
		if err := changePauses(ctx, client, c.Cluster.Namespace, does); err != nil {
			return err
		}
		if _, err := done.WriteTo(cmd.OutOrStdout()); err != nil {
			return err
		}
		if cmd.Name() == pauseName && !all {
			if warning := unknownGroup(ctx, client, c, group); warning != "" {
				cli.Tell(cmd.ErrOrStderr(), "warning", warning)
			}
		}
		return nil
	}
}

// changePauses changes the pauses in the ConfigMap, and drops those that have ended. A concurrent change by another
// writer is kept: the change is made again on top of it.
func changePauses(
	ctx context.Context, client kubernetes.Interface, namespace string,
	change func([]policy.GroupPause) ([]policy.GroupPause, error),
) error {
	maps := client.CoreV1().ConfigMaps(namespace)
	again := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err := retry.OnError(retry.DefaultRetry, again, func() error {
		m, err := maps.Get(ctx, observe.PauseConfigMap, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if missing {
			m, err = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: observe.PauseConfigMap}}, nil
		}
		if err != nil {
			return err
		}
		pauses, err := policy.ParsePauses(m.Data[observe.PauseKey])
		if err != nil {
			return fmt.Errorf("%w; mend it, or delete the ConfigMap, which ends every pause in it", err)
		}
		now := time.Now()
		pauses = slices.DeleteFunc(pauses, func(p policy.GroupPause) bool { return !p.Stands(now) })
		if pauses, err = change(pauses); err != nil {
			return err
		}
		text, err := policy.PausesText(pauses)
		if err != nil {
			return err
		}
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		m.Data[observe.PauseKey] = text
		if missing {
			_, err = maps.Create(ctx, m, metav1.CreateOptions{})
		} else {
			_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
		}
		return err
	})
	if err != nil {
		return refused("change the pauses in the ConfigMap "+namespace+"/"+observe.PauseConfigMap, err)
	}
	return nil
}
