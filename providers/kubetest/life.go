package kubetest

import "time"

// Controllers act on objects. They are called with the objects locked.
type Controllers interface {
	// Reconcile looks once at all objects, and reports whether it changed any.
	Reconcile(*Objects) bool
	// Age does what is due by then without anybody's request: machines get their nodes,
	// deleted ones go. It reports whether it changed anything.
	Age(o *Objects, now time.Time) bool
	// Finish ends what only a hand ends, such as a rollout, and reports whether there was
	// anything to end.
	Finish(*Objects) bool
}

// Timing is how long things take.
type Timing struct {
	// Observe is how long the controllers take to see a change; Boot how long a
	// machine has no node; End how long a finalizer holds a deleted one.
	Observe, Boot, End time.Duration
}

// atRest bounds how often controllers act in one go: those that never rest are a mistake
// of the test's cloud.
const atRest = 1000

// SetTiming changes how long things take from now on.
func (a *API) SetTiming(t Timing) { a.Do(func(o *Objects) { o.timing = t }) }

// Change runs f on the objects as Do does, then lets the controllers act on what f
// changed, when they do.
func (a *API) Change(f func(*Objects)) {
	a.Do(func(o *Objects) {
		f(o)
		a.changed()
	})
}

// Look runs f on the objects once the controllers have done what is due.
func (a *API) Look(f func(*Objects)) {
	a.Do(func(o *Objects) {
		a.advance()
		f(o)
	})
}

// Settle ends all that is under way, what only a hand ends too. What is starved or fails
// stays so.
func (a *API) Settle() {
	const ever = 1000 * time.Hour
	a.Do(func(o *Objects) {
		for range atRest {
			due := a.controllers.Finish(o)
			due = a.controllers.Reconcile(o) || due
			due = a.controllers.Age(o, o.Now().Add(ever)) || due
			a.observe = time.Time{}
			if !due {
				return
			}
		}
		panic("kubetest: the controllers do not come to rest")
	})
}

// Reconcile lets the controllers look until there is nothing more to do, whatever
// Timing says of how soon they do.
func (a *API) Reconcile() {
	a.Do(func(o *Objects) {
		a.observe = time.Time{}
		for a.controllers.Reconcile(o) {
		}
		a.controllers.Age(o, o.Now())
	})
}

// Starve keeps an object's controller from making anything for it; Feed ends that.
func (a *API) Starve(kind, namespace, name string) {
	a.Do(func(o *Objects) { o.starved[Key{kind, namespace, name}] = true })
}

// Feed ends a Starve.
func (a *API) Feed(kind, namespace, name string) {
	a.Change(func(o *Objects) { delete(o.starved, Key{kind, namespace, name}) })
}

// changed lets the controllers look again, after as long as they take.
func (a *API) changed() {
	if a.observe.IsZero() {
		a.observe = a.objects.Now().Add(a.objects.timing.Observe)
	}
	a.advance()
}

// advance does what is due by now.
func (a *API) advance() {
	if a.controllers == nil {
		return
	}
	for range atRest {
		now := a.objects.Now()
		due := false
		if !a.observe.IsZero() && !now.Before(a.observe) {
			a.observe = time.Time{}
			due = a.controllers.Reconcile(a.objects)
		}
		if a.controllers.Age(a.objects, now) {
			due = true
			if a.observe.IsZero() {
				a.observe = a.objects.Now().Add(a.objects.timing.Observe)
			}
		}
		if !due {
			return
		}
	}
	panic("kubetest: the controllers do not come to rest")
}
