package workers

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
)

// Wrote is what is remembered of a cluster's WorkersReady condition.
type Wrote struct {
	// Last is the condition as this controller last wrote it.
	Last *v1alpha1.Condition
	// Contested is another manager that has written a different one meanwhile.
	Contested string
}

// OtherWriter is who else writes the WorkersReady condition; empty: nobody, so
// that this controller may. It errs to "somebody else": two controllers that
// overwrite each other's condition are worse than a condition that is not ours.
//
// EKS Anywhere's list of conditions is owned as a whole, so that whoever writes
// any condition owns all of them. Then another owner is another writer of this
// condition if the condition is not what this controller last left there. One who
// has once written another stays a writer. Deleting the condition from the list
// settles it: then nobody has written it.
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
	case wrote.Last != nil && live.SameState(*wrote.Last):
		return ""
	case wrote.Last == nil && live.SameState(wanted):
		return "" // there is nothing to write, so there is nothing to find out
	}
	return other
}

// ownsCondition says whether fields have a condition in them, and whether they
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
