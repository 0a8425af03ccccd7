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

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
)

func pauseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause GROUP|--all",
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
	pausing(cmd, func(pauses []policy.GroupPause, group string, w io.Writer) ([]policy.GroupPause, error) {
		p.Group, p.Since = group, time.Now().UTC().Truncate(time.Second)
		if until != "" && lasts != 0 {
			return nil, misusef("--until and --for: give one of them")
		}
		if lasts != 0 {
			p.Until = p.Since.Add(lasts)
		}
		if until != "" {
			var err error
			if p.Until, err = time.Parse(time.RFC3339, until); err != nil {
				return nil, misusef("--until: %q is no time such as 2026-12-24T18:00:00Z", until)
			}
		}
		if !p.Stands(p.Since) {
			return nil, misusef("the pause would be over at %s, which is not ahead", p.Until.Format(time.RFC3339))
		}
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
	pausing(cmd, func(pauses []policy.GroupPause, group string, w io.Writer) ([]policy.GroupPause, error) {
		var left []policy.GroupPause
		var names []string
		for _, p := range pauses {
			names = append(names, fmt.Sprintf("%q", p.Group))
			if group != policy.All && p.Group != group {
				left = append(left, p)
			}
		}
		switch {
		case len(pauses) == 0:
			return nil, fmt.Errorf("resume %s: nothing is paused by plimsoll pause", named(group))
		case len(left) == len(pauses):
			return nil, fmt.Errorf("resume %s: it is not paused by that name; paused are %s", named(group),
				strings.Join(names, ", "))
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

// pausing completes a command that changes the pauses. change gets those that stand and the group, and says what it
// did.
func pausing(
	cmd *cobra.Command, change func(pauses []policy.GroupPause, group string, w io.Writer) ([]policy.GroupPause, error),
) {
	c, all := config.Defaults(), false
	set := cmd.Flags()
	set.BoolVar(&all, "all", false, "all groups")
	bindCluster(set, &c.Cluster)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) == 1) || len(args) > 1 || len(args) == 1 && args[0] == "" {
			return misusef("%s: name one group, or give --all", cmd.Name())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		_, err = done.WriteTo(cmd.OutOrStdout())
		return err
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
		return fmt.Errorf("change the pauses in the ConfigMap %s/%s: %w", namespace, observe.PauseConfigMap, err)
	}
	return nil
}
