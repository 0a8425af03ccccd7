package gardener

import (
	"fmt"
	"strconv"
	"time"
)

// The annotations by which machines misbehave; doc.go says what each does.
const (
	knobs = "rehearse.plimsoll.dev/"

	JoinDelayAnnotation      = knobs + "join-delay"
	QuotaAnnotation          = knobs + "quota"
	NeverRegistersAnnotation = knobs + "never-registers"
	DeleteDelayAnnotation    = knobs + "delete-delay"

	// NotReadyAnnotation is on a Machine, the others are on a MachineClass.
	NotReadyAnnotation = knobs + "not-ready"
)

// behaviour is what a MachineClass's annotations say.
type behaviour struct {
	joinDelay, deleteDelay time.Duration
	quota                  *int // nil: as many as one likes
	neverRegisters         bool
}

func behaviourOf(annotations map[string]string) (behaviour, error) {
	var b behaviour
	for key, field := range map[string]*time.Duration{JoinDelayAnnotation: &b.joinDelay, DeleteDelayAnnotation: &b.deleteDelay} {
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
	if text, ok := annotations[NeverRegistersAnnotation]; ok {
		var err error
		if b.neverRegisters, err = strconv.ParseBool(text); err != nil {
			return b, fmt.Errorf("read the annotation %s: want true or false, not %q", NeverRegistersAnnotation, text)
		}
	}
	return b, nil
}
