package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Stays reports whether pods of the class get no room, for a reason that will not pass by itself within a
// moment.
func (v *PendingVerdict) Stays(now time.Time) bool {
	if v.Skipped != nil {
		// Time alone ends a delay; it also brings a scheduler, if there is one.
		ignored := v.Skipped.Reason == NotRefused && now.Sub(v.Since) >= IgnoredAfter
		return ignored || (v.Skipped.Reason != NotRefused && v.Skipped.Reason != ScaleUpDelayed)
	}
	return v.Left > 0 || v.Disagrees != nil
}

// Without is how many pods of the class get no room.
func (v *PendingVerdict) Without() int {
	if v.Skipped != nil {
		return v.Pods
	}
	return v.Left
}

// Nearest is what is nearest to a yes, and the group that says it; no group where it is said of the class as a
// whole. A fix that was tried goes before the words of the verdicts.
func (v *PendingVerdict) Nearest() (provider.GroupID, *Verdict) {
	if v.Tried != nil && v.Tried.Text != "" {
		for i := range v.Groups {
			if g := &v.Groups[i]; g.Group == v.Tried.Group {
				tried := g.Verdict
				tried.Fix = v.Tried.Text
				return g.Group, &tried
			}
		}
		if v.Skipped != nil && v.Tried.Group == "" {
			tried := *v.Skipped
			tried.Fix = v.Tried.Text
			return "", &tried
		}
	}
	switch {
	case v.Skipped != nil:
		return "", v.Skipped
	case v.Left == 0 && v.Disagrees != nil:
		return "", v.Disagrees
	case len(v.Groups) == 0:
		return "", &Verdict{Reason: NoGroups, Detail: "there is no node group", Fix: "a node group"}
	}
	g := slices.MinFunc(v.Groups, func(a, b GroupVerdict) int {
		return cmp.Compare(a.Reason.Distance(), b.Reason.Distance())
	})
	return g.Group, &g.Verdict
}

// Trial is what is known of the fix of an answer.
type Trial string

// The trials.
const (
	NoTrial  Trial = ""         // there is nothing to try: time brings it, or it is of no group
	NotTried Trial = "NotTried" // the fix is what the verdict says
	Works    Trial = "Works"    // a trial has shown that it gives the pods room
	NoneDoes Trial = "None"     // the fix is what the verdict says; none was found that gives the pods room
)

// Trial is what is known of the words of a group's verdict before anything was tried.
func (v *Verdict) Trial(now time.Time) Trial {
	if v.Fix == "" || v.Until.After(now) {
		return NoTrial
	}
	return NotTried
}

// Trial is what is known of the fix of the nearest answer.
func (v *PendingVerdict) Trial(now time.Time) Trial {
	group, nearest := v.Nearest()
	switch {
	case v.Tried != nil && v.Tried.Text != "":
		return Works
	case v.Tried != nil:
		return NoneDoes
	case group == "":
		return NoTrial
	}
	return nearest.Trial(now)
}

// Mark is a fix with what is known of it, and the group that it is for if one is named.
func (t Trial) Mark(fix string, group provider.GroupID) string {
	if fix == "" && t == NoneDoes {
		return "no fix was found"
	}
	var about []string
	if group != "" {
		about = append(about, string(group))
	}
	switch t {
	case NotTried:
		about = append(about, "not tried")
	case NoneDoes:
		about = append(about, "no fix was found by trying")
	}
	if fix == "" || len(about) == 0 {
		return fix
	}
	return fix + " (" + strings.Join(about, ", ") + ")"
}
