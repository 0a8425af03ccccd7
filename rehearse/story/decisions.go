package story

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
)

const (
	readEvery = 200 * time.Millisecond

	// eventSource is the component that Plimsoll's events name.
	eventSource = "cluster-autoscaler"
)

// logLine is what a story reads of a line of Plimsoll's log.
type logLine struct {
	Level, Msg                   string
	Grow, Taint, Remove, Untaint string
	Evict, Move                  string
	RemoveInstances              string `json:"remove_instances"`
	Nodes                        int
	LowerBound                   int           `json:"lower_bound"`
	ForPods                      int           `json:"for_pods"`
	DecidedIn                    time.Duration `json:"decided_in"`
	Class                        string
	Pods, Of                     int
	Why, Err, Hint               string
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// decision tells a line of Plimsoll's log to the viewer; empty: not worth it.
func decision(line []byte) (string, error) {
	var l logLine
	if err := json.Unmarshal(line, &l); err != nil {
		return "", fmt.Errorf("read a line of Plimsoll's log: %w", err)
	}
	switch {
	case l.Msg == "acting":
		var parts []string
		if l.Grow != "" {
			what := fmt.Sprintf("buys %s for %s (lower bound %d): ", count(l.Nodes, "node"), count(l.ForPods, "pod"),
				l.LowerBound)
			switch {
			case l.Nodes == 0: // the plan counts those that pods or a minimum need
				what = "buys for a move: "
			case l.ForPods == 0:
				what = fmt.Sprintf("buys %s that a minimum lacks: ", count(l.Nodes, "node"))
			}
			parts = append(parts, what+l.Grow)
		}
		if l.Evict != "" {
			parts = append(parts, "evicts "+count(1+strings.Count(l.Evict, ", "), "pod"))
		}
		for _, part := range []struct{ verb, nodes string }{
			{"taints", l.Taint}, {"removes", l.Remove},
			{"gives up", l.RemoveInstances}, {"keeps after all", l.Untaint},
		} {
			if part.nodes != "" {
				parts = append(parts, part.verb+" "+part.nodes)
			}
		}
		if len(parts) == 0 {
			return "", nil // steps of removals, which events tell
		}
		return fmt.Sprintf("plimsoll %s; decided in %.1f ms",
			strings.Join(parts, "; "), float64(l.DecidedIn)/float64(time.Millisecond)), nil
	case l.Msg == "a move begins":
		return "plimsoll begins a move: " + l.Move, nil
	case l.Msg == "pods stay pending":
		return fmt.Sprintf("plimsoll leaves %d of %d pods of %s pending: %s", l.Pods, l.Of, l.Class, l.Why), nil
	case l.Level == "WARN" || l.Level == "ERROR":
		text := "plimsoll warns: " + l.Msg
		for _, more := range []string{l.Err, l.Hint} {
			if more != "" {
				text += ": " + more
			}
		}
		return text, nil
	}
	return "", nil
}

// tellDecisions tells what Plimsoll's log says from now on, until ctx ends.
func (s *scene) tellDecisions(ctx context.Context) error {
	file, err := os.Open(s.Cluster.LogFile(autoscaler.Name))
	if err != nil {
		return fmt.Errorf("read Plimsoll's log: %w", err)
	}
	defer file.Close()
	reader, line := bufio.NewReader(file), []byte(nil)
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		part, err := reader.ReadBytes('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			text, errLine := decision(line)
			if errLine != nil {
				// A line that is no JSON is a crash's: show it as it is.
				text = strings.TrimRight(string(line), "\n")
			}
			if text != "" {
				s.screen.Tell("   ▸ " + text)
			}
			line = line[:0]
			continue
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("read Plimsoll's log: %w", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// reason tells an event of Plimsoll's on a pod or a node; empty: not for the
// viewer. What it says of groups, its log says already.
func reason(event *corev1.Event) string {
	if event.Source.Component != eventSource || event.InvolvedObject.Kind != "Pod" && event.InvolvedObject.Kind != "Node" {
		return ""
	}
	return event.Reason + ": " + event.Message
}

// tellReasons tells each different reason in Plimsoll's events once, with the
// first object that it is about, until ctx ends.
func (s *scene) tellReasons(ctx context.Context) error {
	return s.tellEvents(ctx, reason, func(event *corev1.Event) string {
		return "event on " + strings.ToLower(event.InvolvedObject.Kind) + " " + event.InvolvedObject.Name + ": "
	})
}

// tellController tells each different event of the controller of EKS Anywhere's
// worker groups once, until ctx ends. They are all about the Cluster.
func (s *scene) tellController(ctx context.Context) error {
	return s.tellEvents(ctx, controllerEvent, func(*corev1.Event) string { return "controller: " })
}

// controllerEvent tells an event of that controller; empty: another's.
func controllerEvent(event *corev1.Event) string {
	if event.ReportingController != eksanywhere.Name {
		return ""
	}
	return event.Message
}

// tellEvents tells each different text of events once, after a prefix, until ctx
// ends.
func (s *scene) tellEvents(ctx context.Context, textOf, prefix func(*corev1.Event) string) error {
	told := map[string]bool{}
	return s.hearEvents(ctx, func(event *corev1.Event) {
		if text := textOf(event); text != "" && !told[text] {
			told[text] = true
			s.screen.Tell("   ▸ " + prefix(event) + text)
		}
	})
}

// hearEvents hears each event of all namespaces, until ctx ends.
func (s *scene) hearEvents(ctx context.Context, hear func(*corev1.Event)) error {
	events, err := s.Client.CoreV1().Events(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch the events: %w", err)
	}
	defer events.Stop()
	for {
		select {
		case change, open := <-events.ResultChan():
			if !open {
				return nil
			}
			if event, ok := change.Object.(*corev1.Event); ok && change.Type != watch.Deleted {
				hear(event)
			}
		case <-ctx.Done():
			return nil
		}
	}
}
