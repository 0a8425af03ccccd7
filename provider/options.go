package provider

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Set reads one option by the name under which clouds carry it, in tags or
// annotations of a group, whatever its case: scaledownunneededtime, for instance.
// Values are those of the flags of the same name. On an error nothing is set.
func (o *Options) Set(name, value string) error {
	switch strings.ToLower(name) {
	case "scaledownutilizationthreshold":
		return optional(&o.ScaleDownUtilizationThreshold, value, fraction)
	case "scaledowngpuutilizationthreshold":
		return optional(&o.ScaleDownGPUUtilizationThreshold, value, fraction)
	case "scaledownunneededtime":
		return optional(&o.ScaleDownUnneededTime, value, span)
	case "scaledownunreadytime":
		return optional(&o.ScaleDownUnreadyTime, value, span)
	case "maxnodeprovisiontime":
		return optional(&o.MaxNodeProvisionTime, value, span)
	case "maxnodestartuptime":
		return optional(&o.MaxNodeStartupTime, value, span)
	case "ignoredaemonsetsutilization":
		return optional(&o.IgnoreDaemonSetsUtilization, value, truth)
	}
	return fmt.Errorf("there is no option %q", name)
}

func optional[V any](into **V, text string, read func(string) (V, error)) error {
	v, err := read(text)
	if err == nil {
		*into = &v
	}
	return err
}

func fraction(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%q is no number between 0 and 1", text)
	}
	return v, nil
}

func span(text string) (time.Duration, error) {
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%q is no duration such as 10m or 1h30m", text)
	}
	return v, nil
}

func truth(text string) (bool, error) {
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return v, nil
}
