package workers

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
)

// Wrote is what is remembered of a cluster's WorkersReady condition.
type Wrote struct {
	// Last is the condition as this controller last wrote it, in Told's form. Empty: unknown.
	Last string
	// Contested is another manager that has written a different one meanwhile.
	Contested string
}

// Told is a condition as text, but for its time.
func Told(c v1alpha1.Condition) string {
	return strings.TrimSpace(strings.Join([]string{c.Status, c.Reason, c.Severity, c.Message}, " "))
}

// Record is the condition that remembers, in the list itself, how this controller last wrote a
// condition: the next leader recognizes its own work. It needs no permission and no write of its
// own, and is always as old as the list.
func Record(wrote v1alpha1.Condition) v1alpha1.Condition {
	return v1alpha1.Condition{
		Type: v1alpha1.WorkersReadyWritten, Status: v1alpha1.True, Reason: written, Message: Told(wrote),
	}
}

// Recorded is what a list of conditions remembers; empty: nothing.
func Recorded(conditions []v1alpha1.Condition) string {
	for _, c := range conditions {
		if c.Type == v1alpha1.WorkersReadyWritten {
			return c.Message
		}
	}
	return ""
}

// written is the reason of the condition that remembers.
const written = "WrittenByPlimsoll"

// OtherWriter is another writer of the WorkersReady condition; empty for none, and then this
// controller may write it. We err to another writer: two controllers that overwrite each other's
// condition are worse than a condition that is not ours.
//
// EKS Anywhere's list of conditions is owned as a whole, so that a writer of any condition owns all
// of them. Then another owner is another writer of this condition if the condition is not what this
// controller last left there. One who has once written another stays a writer. Deleting the
// condition from the list ends that: then it has no writer.
func OtherWriter(entries []metav1.ManagedFieldsEntry, live, wanted v1alpha1.Condition, wrote Wrote) string {
	if live.Type == "" {
		return ""
	}
	other, whole := "", false
	for _, e := range entries {
		owns, all := ownsCondition(parseFields(e.FieldsV1), live.Type)
		switch {
		case !owns:
		case e.Manager == FieldManager:
			return ""
		default:
			other, whole = e.Manager, all
		}
	}
	switch {
	case other == "" || other == wrote.Contested || !whole:
		return other
	case wrote.Last != "" && Told(live) == wrote.Last:
		return ""
	case wrote.Last == "" && live.SameState(wanted):
		return "" // there is nothing to write, so there is nothing to find out
	}
	return other
}

// ownsCondition reports whether fields have a condition in them, and whether they
// have the whole list of conditions.
func ownsCondition(fields Fields, kind string) (owns, whole bool) {
	status, ok := fields["f:status"].(map[string]any)
	if !ok {
		return false, false
	}
	list, ok := status["f:conditions"].(map[string]any)
	if !ok {
		return false, false
	}
	if len(list) == 0 {
		return true, true
	}
	for key := range list {
		var item map[string]any
		if len(key) < 2 || key[:2] != "k:" || json.Unmarshal([]byte(key[2:]), &item) != nil {
			continue
		}
		if item["type"] == kind {
			return true, false
		}
	}
	return false, false
}
