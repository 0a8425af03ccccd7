package story

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/eks"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// The EKS story's node group: more labels than its Auto Scaling group can have tags. As many of
// them as there is room for are in tags.
const (
	eksGroup     = "workers"
	eksLabels    = 60
	eksTags      = eks.MostTags - 5 // five are EKS's own
	eksMax       = 10
	eksBoot      = 5 * time.Second
	eksReplicas  = 9 // of one core, three to an m5.xlarge: what EKS keeps of 4 cores makes it three
	eksNodes     = 3
	eksGrowLimit = 4 * time.Minute
	eksGoneLimit = 4 * time.Minute

	labelTag = "k8s.io/cluster-autoscaler/node-template/label/"
)

// eksLabel is the key of the nth label, from 1.
func eksLabel(n int) string { return fmt.Sprintf("example.com/label-%02d", n) }

func eksCluster() eks.Cluster {
	labels, tags := map[string]string{}, map[string]string{}
	for n := range eksLabels {
		labels[eksLabel(n+1)] = "on"
	}
	for n := range eksTags {
		tags[labelTag+eksLabel(n+1)] = "on"
	}
	return eks.Cluster{
		BootDelay: metav1.Duration{Duration: eksBoot},
		Nodegroups: []eks.Nodegroup{{
			Name: eksGroup, InstanceTypes: []string{"m5.xlarge"}, Max: eksMax, Labels: labels, ASGTags: tags,
		}},
	}
}

func eksWorkload() stage.Workload {
	return stage.Workload{
		Name: "web", Replicas: eksReplicas, CPU: "1", Memory: "1Gi", Selector: map[string]string{eksLabel(eksLabels): "on"},
	}
}

// eksResult is what the EKS story counted.
type eksResult struct {
	Sources map[string]string // of each of the labels, as `plimsoll groups` tells it
	Carried int               // of the labels, those that every node carried
	End     stage.Tally
	Calls   map[string]int // requests to AWS
	AllRun  time.Duration  // from the Deployment until every pod ran
	AllGone time.Duration  // from the scale command until AWS had no instance more
}

// eksStory is the EKS story.
func eksStory(s *scene) *act {
	var r eksResult
	var aws awstest.Remote
	w, groups, last := eksWorkload(), []stage.Group{{Name: eksGroup, Max: eksMax}}, eksLabel(eksLabels)
	gone := none([]stage.Workload{w})
	return &act{
		say: fmt.Sprintf(`A simulated AWS has an EKS managed node group of %d labels, and no node. The tags of
its Auto Scaling group, of which AWS takes %d at most, tell of %d of them. Plimsoll
starts. To be quick it waits seconds where it would wait minutes: %q`, eksLabels, eks.MostTags, eksTags, growthFlags()),
		open: func(ctx context.Context) error {
			where, remote, err := world.AWS(s.Cluster, eksCluster())
			if err != nil {
				return err
			}
			aws = remote
			if err := s.AutoscaleIn(ctx, s.plimsoll, where, growthFlags()...); err != nil {
				return err
			}
			// What Plimsoll knows of a node that there is not.
			if r.Sources, err = sourcesOf(ctx, s, where.Cloud); err != nil {
				return err
			}
			s.screen.Say("\nWhere it has the node group's labels from, by `plimsoll groups --cloud-provider=aws -o yaml`:\n\n" +
				sourcesTable(r.Sources))
			if len(r.Sources) != eksLabels {
				return fmt.Errorf("the template has %d of the node group's %d labels", len(r.Sources), eksLabels)
			}
			return nil
		},
		columns: groupsOf(groups),
		steps: []step{{
			say:   fmt.Sprintf("\nA Deployment arrives whose %d pods select %s.", eksReplicas, last),
			title: "a node group grows from zero", limit: eksGrowLimit, workloads: []stage.Workload{w},
			begin: s.create(w),
			what:  fmt.Sprintf("all %d pods run on %d nodes", eksReplicas, eksNodes),
			done:  func(t stage.Tally) bool { return allRun(w)(t) && t.Groups[eksGroup].All == eksNodes },
			after: func(ctx context.Context, took time.Duration) (err error) {
				r.AllRun = took
				if r.Carried, err = carried(ctx, s); err != nil {
					return err
				}
				s.screen.Say(fmt.Sprintf("\nEvery pod runs after %.1f s, and every node carries all %d labels. Now the Deployment "+
					"shrinks to nothing.", took.Seconds(), r.Carried))
				return nil
			},
		}, {
			title: "and goes back to zero", limit: eksGoneLimit, workloads: gone,
			begin: s.scaleAll(gone),
			what:  "every node goes",
			done:  func(t stage.Tally) bool { return allRun(gone...)(t) && t.Groups[eksGroup].All == 0 },
			after: func(ctx context.Context, took time.Duration) (err error) {
				r.AllGone, r.End = took, s.Watch.Tally()
				if err := atZero(ctx, aws); err != nil {
					return err
				}
				if n := r.End.Groups[eksGroup].Ever; n != eksNodes {
					return fmt.Errorf("%d nodes were bought for %d pods, want %d", n, eksReplicas, eksNodes)
				}
				r.Calls, err = aws.Calls(ctx)
				return err
			},
		}},
		result: func() string { return r.String() },
	}
}

// sourcesOf asks Plimsoll's own command where it has the labels from.
func sourcesOf(ctx context.Context, s *scene, cloud autoscaler.Cloud) (map[string]string, error) {
	command := exec.CommandContext(ctx, s.plimsoll,
		slices.Concat([]string{"groups", "-o", "yaml", "--kubeconfig=" + s.Cluster.PlimsollKubeconfig()}, cloud.Flags)...)
	command.Env = append(os.Environ(), cloud.Env...)
	var trouble strings.Builder
	command.Stderr = &trouble
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("ask plimsoll for its groups: %w: %s", err, strings.TrimSpace(trouble.String()))
	}
	return readSources(text)
}

// readSources picks the labels of the story out of what `plimsoll groups -o yaml`
// says.
func readSources(text []byte) (map[string]string, error) {
	var inventory provider.Inventory
	if err := yaml.Unmarshal(text, &inventory); err != nil {
		return nil, fmt.Errorf("read what plimsoll says of its groups: %w", err)
	}
	sources := map[string]string{}
	for _, g := range inventory.Groups {
		if g.Template == nil {
			return nil, fmt.Errorf("plimsoll knows no template of %s: %w", g.ID, g.TemplateErr)
		}
		for n := range eksLabels {
			if source := g.Template.Sources["label/"+eksLabel(n+1)]; source != "" {
				sources[eksLabel(n+1)] = source
			}
		}
	}
	return sources, nil
}

// sourcesTable tells how many labels have each source, and which.
func sourcesTable(sources map[string]string) string {
	by := map[string][]string{}
	for _, label := range slices.Sorted(maps.Keys(sources)) {
		by[sources[label]] = append(by[sources[label]], label)
	}
	rows := [][]string{{"source", "labels", "first", "last"}}
	for _, source := range slices.Sorted(maps.Keys(by)) {
		labels := by[source]
		rows = append(rows, []string{source, fmt.Sprint(len(labels)), labels[0], labels[len(labels)-1]})
	}
	return table(rows)
}

// carried counts the labels that every node of the group carries.
func carried(ctx context.Context, s *scene) (int, error) {
	list, err := s.Client.CoreV1().Nodes().
		List(ctx, metav1.ListOptions{LabelSelector: eks.NodegroupLabel + "=" + eksGroup})
	if err != nil {
		return 0, fmt.Errorf("look at the labels of the nodes: %w", err)
	}
	n := 0
	for i := range eksLabels {
		lacks := func(node corev1.Node) bool { return node.Labels[eksLabel(i+1)] != "on" }
		if len(list.Items) > 0 && !slices.ContainsFunc(list.Items, lacks) {
			n++
		}
	}
	if n != eksLabels {
		return n, fmt.Errorf("the %d nodes carry %d of the node group's %d labels", len(list.Items), n, eksLabels)
	}
	return n, nil
}

// atZero wants AWS to have nothing left of the group. A node goes when its instance
// is gone, so there is nothing to wait for.
func atZero(ctx context.Context, aws awstest.Remote) error {
	groups, err := aws.Groups(ctx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.Desired != 0 || g.Launching != 0 || len(g.Instances) != 0 {
			return fmt.Errorf("no node is left, but of %s AWS has %d instances, desired %d", g.Name, len(g.Instances), g.Desired)
		}
	}
	return nil
}

// String is the summary.
func (r eksResult) String() string {
	end := r.End.Groups[eksGroup]
	rows := [][]string{
		{"node group", "at start", "bought", "peak", "left"},
		{eksGroup, "0", fmt.Sprint(end.Ever), fmt.Sprint(end.Peak), fmt.Sprint(end.All)},
	}
	text := table(rows) + "\n\n"
	rows = [][]string{{"asked of AWS", "times"}}
	for _, action := range slices.Sorted(maps.Keys(r.Calls)) {
		rows = append(rows, []string{action, fmt.Sprint(r.Calls[action])})
	}
	return text + table(rows) + fmt.Sprintf("\n\n  all pods run: %.1f s after they were asked for, %.0f s of them a "+
		"machine's boot\n  all nodes gone: %.1f s after the Deployment shrank",
		r.AllRun.Seconds(), eksBoot.Seconds(), r.AllGone.Seconds())
}
