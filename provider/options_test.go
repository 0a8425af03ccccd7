package provider

import (
	"strings"
	"testing"
	"time"
)

// TestOptionsByName: every option has a name, in any case; what is wrong sets nothing.
func TestOptionsByName(t *testing.T) {
	var o Options
	for name, value := range map[string]string{
		"scaleDownUtilizationThreshold": "0.7", "scaledowngpuutilizationthreshold": "1", "ScaleDownUnneededTime": "20m",
		"scaledownunreadytime": "0s", "maxnodeprovisiontime": "5m", "maxnodestartuptime": "1h",
		"ignoredaemonsetsutilization": "true",
	} {
		if err := o.Set(name, value); err != nil {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	if *o.ScaleDownUtilizationThreshold != 0.7 || *o.ScaleDownGPUUtilizationThreshold != 1 ||
		*o.ScaleDownUnneededTime != 20*time.Minute ||
		*o.ScaleDownUnreadyTime != 0 || *o.MaxNodeProvisionTime != 5*time.Minute || *o.MaxNodeStartupTime != time.Hour ||
		!*o.IgnoreDaemonSetsUtilization {
		t.Errorf("got %+v", o)
	}
	for _, c := range []struct{ name, value, says string }{
		{"scaledownutilizationthreshold", "1.1", "between 0 and 1"},
		{"scaledownutilizationthreshold", "NaN", "between 0 and 1"},
		{"maxnodestartuptime", "-1m", "no duration"}, {"maxnodestartuptime", "5", "no duration"},
		{"ignoredaemonsetsutilization", "maybe", "neither true nor false"}, {"colour", "red", `no option "colour"`},
	} {
		var o Options
		if err := o.Set(c.name, c.value); err == nil || !strings.Contains(err.Error(), c.says) || o != (Options{}) {
			t.Errorf("%s=%s: %v, %+v", c.name, c.value, err, o)
		}
	}
}
