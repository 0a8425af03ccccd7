package gardener

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// The annotations by which machines misbehave; doc.go says what each does.
const (
	knobs = "rehearse.plimsoll.dev/"

	JoinDelayAnnotation      = knobs + "join-delay"
	QuotaAnnotation          = knobs + "quota"
	NeverRegistersAnnotation = knobs + "never-registers"
	DeleteDelayAnnotation    = knobs + "delete-delay"
	CreateErrorAnnotation    = knobs + "create-error"

	// NotReadyAnnotation is on a Machine, the others are on a MachineClass.
	NotReadyAnnotation = knobs + "not-ready"
)

// behaviour is what a MachineClass's annotations say.
type behaviour struct {
	joinDelay, deleteDelay time.Duration
	quota                  *int // nil: as many as one likes
	neverRegisters         bool
	// createError is the code with which the first tries of each machine fail, as many as
	// createErrors says; 0: all.
	createError  string
	createErrors int
}

func behaviourOf(annotations map[string]string) (behaviour, error) {
	var b behaviour
	for key, field := range map[string]*time.Duration{
		JoinDelayAnnotation: &b.joinDelay, DeleteDelayAnnotation: &b.deleteDelay,
	} {
		text, ok := annotations[key]
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return b, fmt.Errorf("read the annotation %s: want a duration such as 5s, not %q", key, text)
		}
		*field = d
	}
	if text, ok := annotations[QuotaAnnotation]; ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return b, fmt.Errorf("read the annotation %s: want a number of machines, not %q", QuotaAnnotation, text)
		}
		b.quota = &n
	}
	if text, ok := annotations[CreateErrorAnnotation]; ok {
		code, times, counted := strings.Cut(text, ":")
		n, err := strconv.Atoi(times)
		if code == "" || counted && (err != nil || n < 1) {
			return b, fmt.Errorf("read the annotation %s: want a code such as %s, or %s:2 for the first two tries, not %q",
				CreateErrorAnnotation, machinev1.CodeUnavailable, machinev1.CodeUnavailable, text)
		}
		b.createError, b.createErrors = code, n
	}
	if text, ok := annotations[NeverRegistersAnnotation]; ok {
		var err error
		if b.neverRegisters, err = strconv.ParseBool(text); err != nil {
			return b, fmt.Errorf("read the annotation %s: want true or false, not %q", NeverRegistersAnnotation, text)
		}
	}
	return b, nil
}
