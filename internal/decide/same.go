package decide

import (
	"reflect"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Differences names the parts in which two plans for the same snapshot differ, of which one was made with what
// earlier decisions had left to save work. Work itself is no such part. There is no answer, nor a difference, where the
// steps did not suffice for one of them: what is kept costs no steps again, so that it may come further.
func Differences(a, b model.Plan) []string {
	if cutShort(&a) || cutShort(&b) {
		return nil
	}
	a.Work, b.Work = model.Work{}, model.Work{}
	var out []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			out = append(out, x.Type().Field(i).Name)
		}
	}
	return out
}

// cutShort reports whether the steps did not suffice for all of a plan.
func cutShort(p *model.Plan) bool {
	return len(p.Unseen) > 0 || p.Resume != "" || slices.ContainsFunc(p.Pending, func(v model.PendingVerdict) bool {
		return slices.ContainsFunc(v.Groups, func(g model.GroupVerdict) bool { return g.Reason == model.StepBudget })
	})
}
