package clusterapi

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

var ofGroup = keys{defaultAPIGroup}

func TestReadBounds(t *testing.T) {
	const absent = "\x00"
	for _, c := range []struct {
		min, max string
		want     bounds
		wrong    string
	}{
		{absent, absent, bounds{}, ""},
		{absent, "5", bounds{0, 5}, ""},
		{"2", absent, bounds{2, 0}, ""}, // no maximum: no group
		{"0", "0", bounds{}, ""},
		{"3", "3", bounds{3, 3}, ""},
		{"1", "10", bounds{1, 10}, ""},
		{"", "5", bounds{}, "min-size"},
		{"1.5", "5", bounds{}, "min-size"},
		{" 1", "5", bounds{}, "min-size"},
		{"-1", "5", bounds{}, "min-size"},
		{"1", "five", bounds{}, "max-size"},
		{"1", "99999999999999999999", bounds{}, "max-size"},
		{"1", "2147483648", bounds{}, "max-size"},
		{"4", "3", bounds{}, "below the minimum of 4"},
	} {
		notes := map[string]string{ofGroup.minSize(): c.min, ofGroup.maxSize(): c.max}
		maps.DeleteFunc(notes, func(_, v string) bool { return v == absent })
		got, bad := readBounds(notes, ofGroup)
		if got != c.want || (bad == nil) != (c.wrong == "") || bad != nil && !strings.Contains(bad.String(), c.wrong) {
			t.Errorf("min %q, max %q: %v, %v", c.min, c.max, got, bad)
		}
	}
}

func TestReadOptions(t *testing.T) {
	p := ofGroup.options()
	o, bad := readOptions(map[string]string{
		p + "scaledownutilizationthreshold": "0.5", p + "ScaleDownGPUUtilizationThreshold": "1",
		p + "scaledownunneededtime": "10m0s",
		p + "scaledownunreadytime":  "20m", p + "maxnodeprovisiontime": "15m", p + "maxnodestartuptime": "1h",
		p + "ignoredaemonsetsutilization": "true",
		"other":                           "x",
	}, ofGroup)
	if len(bad) > 0 || *o.ScaleDownUtilizationThreshold != 0.5 || *o.ScaleDownGPUUtilizationThreshold != 1 ||
		*o.ScaleDownUnneededTime != 10*time.Minute ||
		*o.ScaleDownUnreadyTime != 20*time.Minute || *o.MaxNodeProvisionTime != 15*time.Minute ||
		*o.MaxNodeStartupTime != time.Hour || !*o.IgnoreDaemonSetsUtilization {
		t.Errorf("%+v, %v", o, bad)
	}
	wrong := map[string]string{
		"scaledownutilizationthreshold": "1.5", "scaledowngpuutilizationthreshold": "NaN", "scaledownunneededtime": "10",
		"maxnodeprovisiontime": "-5m", "ignoredaemonsetsutilization": "perhaps", "nosuchoption": "1",
	}
	notes := map[string]string{}
	for name, value := range wrong {
		notes[p+name] = value
	}
	o, bad = readOptions(notes, ofGroup)
	if diff := cmp.Diff(o, readOptionsOf(nil)); diff != "" || len(bad) != len(wrong) {
		t.Errorf("%d of %d are bad: %v\n%s", len(bad), len(wrong), bad, diff)
	}
}

func readOptionsOf(notes map[string]string) any {
	o, _ := readOptions(notes, ofGroup)
	return o
}

func TestReadCapacity(t *testing.T) {
	c := readCapacity(map[string]string{
		keyCPU: "16000m", keyMemory: "128G", keyDisk: "100Gi", keyMaxPods: "200", keyGPUType: "nvidia.com/gpu",
		keyGPUCount: "2",
		keyLabels:   "key1=value1,example.com/empty=", keyTaints: "key1=value1:NoSchedule,key2:NoExecute",
		keyDRADriver: "gpu.nvidia.com", keyCSIDriver: "ebs.csi.aws.com = 25, efs.csi.aws.com=0 ",
	})
	var amounts []string
	for name, q := range c.resources {
		amounts = append(amounts, string(name)+"="+q.String())
	}
	slices.Sort(amounts)
	if diff := cmp.Diff(
		[]string{"cpu=16", "ephemeral-storage=100Gi", "memory=128G", "nvidia.com/gpu=2", "pods=200"}, amounts,
	); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"key1": "value1", "example.com/empty": ""}, c.labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]corev1.Taint{{Key: "key1", Value: "value1", Effect: "NoSchedule"}, {Key: "key2", Effect: "NoExecute"}}, c.taints,
	); diff != "" {
		t.Error(diff)
	}
	if c.draDriver != "gpu.nvidia.com" || c.draCount != 2 || !slices.Equal(c.csi, []csiLimit{
		{"ebs.csi.aws.com", 25}, {"efs.csi.aws.com", 0},
	}) || len(c.bad) > 0 {
		t.Errorf("%+v", c)
	}
}

// What is wrong is reported, and the rest of the same annotation is taken.
func TestReadCapacityThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		notes map[string]string
		why   string
		left  int // labels, taints and limits that are taken all the same
	}{
		{map[string]string{keyCPU: "four"}, "no quantity", 0},
		{map[string]string{keyMemory: "-1Gi"}, "less than nothing", 0},
		{map[string]string{keyMaxPods: "0"}, "no room", 0},
		{map[string]string{keyGPUCount: "2"}, "counts nothing", 0},
		{map[string]string{keyGPUCount: "two", keyGPUType: "nvidia.com/gpu"}, "no number", 0},
		{map[string]string{keyGPUCount: "2", keyGPUType: "a/b/c"}, "no resource name", 0},
		{map[string]string{keyGPUCount: "2", keyDRADriver: "NOT A DRIVER"}, "no driver name", 0},
		{map[string]string{keyGPUCount: "2000000000", keyDRADriver: "gpu.nvidia.com"}, "more than the 128", 0},
		{map[string]string{keyLabels: "a=b,c"}, "not key=value", 1},
		{map[string]string{keyLabels: "a=b,kubernetes.io/hostname=x"}, "each node's own", 1},
		{map[string]string{keyTaints: "a=b:NoSchedule,c=d"}, "not key=value:Effect", 1},
		{map[string]string{keyTaints: "a=b:Never,c=d:NoSchedule"}, `effect "Never"`, 1},
		{map[string]string{keyTaints: "node.kubernetes.io/not-ready:NoSchedule"}, "taken away again", 0},
		{map[string]string{keyTaints: "node.cluster.x-k8s.io/uninitialized:NoSchedule"}, "taken away again", 0},
		{map[string]string{keyCSIDriver: "a.b=1,a.b=2"}, "once more", 1},
		{map[string]string{keyCSIDriver: "a.b"}, "not driver=limit", 0},
		{map[string]string{keyCSIDriver: "a.b=-1"}, "no number of volumes", 0},
	} {
		got := readCapacity(c.notes)
		if len(got.bad) != 1 || !strings.Contains(got.bad[0].String(), c.why) {
			t.Errorf("%v: %v, want %q", c.notes, got.bad, c.why)
		}
		if left := len(got.labels) + len(got.taints) + len(got.csi); left != c.left || len(got.resources) > 1 {
			t.Errorf("%v: %+v is left", c.notes, got)
		}
	}
}

// Whatever an annotation says, it is either taken and makes a valid template, or
// told.
func FuzzCapacity(f *testing.F) {
	for _, s := range [][4]string{{
		"4", "16Gi", "a=b,c=d", "k=v:NoSchedule",
	}, {"", "x", ",,", ":::"}, {"1e99", "0", "=", "=:"}, {"-0", "9999999999999999999999", "a", "a:b:c"}} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, cpu, memory, labels, taints string) {
		notes := map[string]string{keyCPU: cpu, keyMemory: memory, keyLabels: labels, keyTaints: taints, keyCSIDriver: labels,
			keyGPUCount: cpu, keyDRADriver: memory}
		said := readCapacity(notes)
		template, err := buildTemplate(&scalable{templateLabels: map[string]string{labels: taints}}, said,
			promise{}, defaultArch)
		if err != nil {
			return
		}
		for key, value := range template.Node.Labels {
			if checkLabel(key, value) != nil {
				t.Errorf("label %q=%q", key, value)
			}
		}
		for _, taint := range template.Node.Spec.Taints {
			if checkTaint(taint) != nil {
				t.Errorf("taint %v", taint)
			}
		}
	})
}

func FuzzBounds(f *testing.F) {
	f.Add("1", "10")
	f.Add("-1", "x")
	f.Add("+3", "0x4")
	f.Fuzz(func(t *testing.T, low, high string) {
		b, bad := readBounds(map[string]string{ofGroup.minSize(): low, ofGroup.maxSize(): high}, ofGroup)
		if bad == nil && (b.min < 0 || b.max < b.min) {
			t.Errorf("%q to %q: %v", low, high, b)
		}
	})
}
