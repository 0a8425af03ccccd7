// Package status is the status ConfigMap as a value: the document that people
// and exporters read, and the memory that survives a restart beside it.
//
// What flows in: a cycle, and the document before it, for the times since when
// things stand as they do. What flows out: the document, as text, and back;
// the memory, as the text of an annotation, and back. Nothing here reads a
// clock, a cluster or a file.
//
// Who may import it: report, which writes the ConfigMap, and cli, which shows
// it to a person. It imports model and provider.
package status

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Where things are in the ConfigMap.
const (
	// Key is the document's, in the ConfigMap's data.
	Key = "status"
	// LastUpdated is the annotation that says when the document was made.
	LastUpdated = "cluster-autoscaler.kubernetes.io/last-updated"
	// MemoryAnnotation holds the memory.
	MemoryAnnotation = "plimsoll.dev/memory"
	// MemoryWritten is the annotation with the memory's time. It differs from the document's:
	// documents are written without a memory, too.
	MemoryWritten = "plimsoll.dev/memory-written"
)

// timeLayout is how the document and its annotation write the time; existing
// exporters parse it.
const timeLayout = "2006-01-02 15:04:05.999999999 -0700 MST"

// State is the word for the state of one thing.
type State string

// The states, as existing exporters know them.
const (
	Initializing State = "Initializing"
	Running      State = "Running"

	Healthy   State = "Healthy"
	Unhealthy State = "Unhealthy"

	InProgress State = "InProgress"
	NoActivity State = "NoActivity"
	Backoff    State = "Backoff"

	CandidatesPresent State = "CandidatesPresent"
	NoCandidates      State = "NoCandidates"
)

// Document is the status of the autoscaler, the cluster and each node group. Its names are the
// Cluster Autoscaler's and must stay: others parse them. Plimsoll's own fields are at the end.
type Document struct {
	Time             string      `json:"time,omitempty"`
	AutoscalerStatus State       `json:"autoscalerStatus,omitempty"`
	Message          string      `json:"message,omitempty"`
	ClusterWide      ClusterWide `json:"clusterWide"`
	NodeGroups       []NodeGroup `json:"nodeGroups,omitempty"`

	// Mode is ModeObserve where nothing is written, else empty.
	Mode string `json:"mode,omitempty"`
	// Pending are the pods that get no room.
	Pending Pending `json:"pending,omitzero"`
	Drains  Drains  `json:"drains,omitzero"`
	Stays   Stays   `json:"stays,omitzero"`
	// Disagreements are the first of the pods that fit ready nodes and that the
	// scheduler refuses.
	Disagreements []Disagreement `json:"disagreements,omitempty"`
	Notices       Notices        `json:"notices,omitzero"`
	// Moves are the first of the moves under way, of those that would be worth it, and of those that are over.
	Moves []model.MoveState `json:"moves,omitempty"`
	// Budgets is what each budget leaves.
	Budgets []budget.State `json:"budgets,omitempty"`
}

// Notices are what a person should know of the provider's and the operator's
// configuration: how many there are, and the first of them.
type Notices struct {
	Total int               `json:"total"`
	List  []provider.Notice `json:"list,omitempty"`
}

// ModeObserve is the mode of a process that carries out none of its plans.
const ModeObserve = "observe"

// observed begins the message of such a process: its document looks like that of one that acts.
const observed = "observe mode: nothing is bought, removed or written to any node or pod"

// Observed is the document of a process that only observes. The message says so, for readers that
// do not know the mode.
func (d Document) Observed() Document {
	d.Mode = ModeObserve
	if d.Message == "" {
		d.Message = observed
	} else {
		d.Message = observed + "; " + d.Message
	}
	return d
}

// ClusterWide is the whole cluster's, nodes of no group included.
type ClusterWide struct {
	Health    ClusterHealth  `json:"health"`
	ScaleUp   ClusterScaleUp `json:"scaleUp"`
	ScaleDown ScaleDown      `json:"scaleDown"`
}

// Times are when a thing was last probed, and since when its state holds.
type Times struct {
	LastProbeTime      metav1.Time `json:"lastProbeTime"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// ClusterHealth says whether the cluster is healthy enough to be acted on (S1).
type ClusterHealth struct {
	Status     State      `json:"status,omitempty"`
	NodeCounts NodeCounts `json:"nodeCounts"`
	Times      `json:",inline"`
}

// ClusterScaleUp is whether any group grows.
type ClusterScaleUp struct {
	Status State `json:"status,omitempty"`
	Times  `json:",inline"`
}

// ScaleDown counts the nodes that nothing needs.
type ScaleDown struct {
	Status     State `json:"status,omitempty"`
	Candidates int   `json:"candidates,omitempty"`
	Times      `json:",inline"`
}

// NodeGroup is one group's.
type NodeGroup struct {
	Name      string       `json:"name,omitempty"`
	Health    GroupHealth  `json:"health"`
	ScaleUp   GroupScaleUp `json:"scaleUp"`
	ScaleDown ScaleDown    `json:"scaleDown"`
	// Holds are why the provider has some operations on the group not started now: a rollout, a
	// pause. The Cluster Autoscaler has no such field.
	Holds []string `json:"holds,omitempty"`
	// The Cluster Autoscaler has none of these. Unhealthy says why Health is Unhealthy. Missing
	// counts nodes that the target has and the cluster has not. NotRemoved are machines that are
	// given up and stay for now.
	Unhealthy  string       `json:"unhealthy,omitempty"`
	Missing    Missing      `json:"missing,omitzero"`
	NotRemoved []NotRemoved `json:"notRemoved,omitempty"`
}

// Missing is how many nodes a group misses, and since when it has missed any.
type Missing struct {
	Nodes int         `json:"nodes"`
	Since metav1.Time `json:"since"`
}

// NotRemoved is a machine that was given up, or several that have no instance yet, and what keeps
// Plimsoll from giving it back to the cloud.
type NotRemoved struct {
	Instance string       `json:"instance,omitempty"`
	Count    int          `json:"count,omitempty"`
	Reason   string       `json:"reason"`
	Detail   string       `json:"detail,omitempty"`
	Since    *metav1.Time `json:"since,omitempty"`
	Fix      string       `json:"fix,omitempty"`
}

// GroupHealth says whether the group is healthy enough to grow (S2), and its size.
type GroupHealth struct {
	Status              State      `json:"status,omitempty"`
	NodeCounts          NodeCounts `json:"nodeCounts"`
	CloudProviderTarget int        `json:"cloudProviderTarget"`
	MinSize             int        `json:"minSize"`
	MaxSize             int        `json:"maxSize"`
	Times               `json:",inline"`
}

// GroupScaleUp is whether the group grows, or why it does not.
type GroupScaleUp struct {
	Status      State       `json:"status,omitempty"`
	BackoffInfo BackoffInfo `json:"backoffInfo"`
	Times       `json:",inline"`
}

// BackoffInfo is the failure that the group rests after; empty if it does not.
type BackoffInfo struct {
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// NodeCounts counts nodes, and instances that have none.
type NodeCounts struct {
	Registered Registered `json:"registered"`
	// LongUnregistered have had their time to register; Unregistered have not.
	LongUnregistered int `json:"longUnregistered"`
	Unregistered     int `json:"unregistered"`
}

// Registered counts nodes; each but Total counts in one field only.
type Registered struct {
	Total        int     `json:"total"`
	Ready        int     `json:"ready"`
	NotStarted   int     `json:"notStarted"`
	Suspended    int     `json:"suspended"`
	BeingDeleted int     `json:"beingDeleted,omitempty"`
	Unready      Unready `json:"unready"`
}

// Unready counts nodes that are not ready and should be. ResourceUnready are
// those of Total that lack a resource only.
type Unready struct {
	Total           int `json:"total"`
	ResourceUnready int `json:"resourceUnready"`
}

// Stamp writes a time as the document does.
func Stamp(at time.Time) string { return at.UTC().Format(timeLayout) }

// Made is when the document was made; zero if it does not say.
func (d Document) Made() time.Time { return stamped(d.Time) }

// stamped reads a time that Stamp wrote; zero if it is none.
func stamped(text string) time.Time {
	at, err := time.Parse(timeLayout, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// parse reads a document. Fields that it does not know are left out.
func parse(text string) (Document, error) {
	var d Document
	if text == "" {
		return d, errors.New("it is empty")
	}
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		return Document{}, fmt.Errorf("it is not the document that was expected: %w", err)
	}
	if d.AutoscalerStatus == "" {
		return Document{}, errors.New("it has no autoscalerStatus; autoscalers of before 2024 wrote free text there")
	}
	return d, nil
}
