package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/config/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// everyFlag are those of plimsoll run.
func everyFlag() (*pflag.FlagSet, *Flags) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := Bind(set, providers.All())
	flags.BindMode()
	return set, flags
}

// TestTheFileSaysWhatFlagsSay: each flag has a field of its kind in the file, or stands with a reason in
// NotInFile; and each field that is a flag names one that exists.
func TestTheFileSaysWhatFlagsSay(t *testing.T) {
	set, _ := everyFlag()
	fields := v1alpha1.Flags()
	kinds := map[string]string{
		"bool": "true or false", "int": "whole number", "int32": "whole number", "int64": "whole number",
		"uint64": "whole number", "float32": "number", "float64": "number",
		"stringArray": "list of text", "stringSlice": "list of text",
	}
	set.VisitAll(func(flag *pflag.Flag) {
		field, ok := fields[flag.Name]
		why := NotInFile[flag.Name]
		kind := kinds[flag.Value.Type()]
		switch {
		case flag.Hidden:
		case !ok && why == "":
			t.Errorf("--%s has no field in internal/config/v1alpha1/types.go: give it one with the tag flag:%[1]q", flag.Name)
		case ok && why != "":
			t.Errorf("--%s has the field %s, and stands in NotInFile", flag.Name, field.Path)
		case ok && kind == "" && field.Kind != "text", ok && kind != "" && field.Kind != kind:
			t.Errorf("%s is written as %s, and --%s is a %s", field.Path, field.Kind, flag.Name, flag.Value.Type())
		}
	})
	for name, field := range fields {
		if set.Lookup(name) == nil {
			t.Errorf("%s names --%s, and there is no such flag", field.Path, name)
		}
	}
}

// TestEveryFieldIsExplained: a field has a comment in types.go, or is a flag.
func TestEveryFieldIsExplained(t *testing.T) {
	_, flags := everyFlag()
	var walk func(v1alpha1.Field)
	walk = func(f v1alpha1.Field) {
		if f.Says(flags.Usage) == "" {
			t.Errorf("%s has no comment in internal/config/v1alpha1/types.go", f.Path)
		}
		for _, sub := range f.Fields {
			walk(sub)
		}
	}
	walk(v1alpha1.Tree())
}

// TestSchemaIsCurrent: docs/schema/configuration.json is what the types say; -rewrite writes it.
func TestSchemaIsCurrent(t *testing.T) {
	_, flags := everyFlag()
	want, err := v1alpha1.Schema(flags.Usage)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", "schema", "configuration.json")
	if *rewrite {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
		t.Errorf("%s is not what the types say (%v): go test ./internal/config -rewrite writes it", file, err)
	}
}

const small = `apiVersion: plimsoll.dev/v1alpha1
kind: Configuration
cloud:
  provider: kwok
loop:
  scanInterval: 5s
scaleDown:
  unneededTime: 3m
  maxParallelism: 4
nodeHealth:
  startupTaints: [a, b]
`

// TestFlagsWinOverTheFile: what the command line says stays, whatever the file says, lists as a whole.
func TestFlagsWinOverTheFile(t *testing.T) {
	set, flags := everyFlag()
	file := write(t, "c.yaml", small)
	if err := set.Parse([]string{"--config=" + file, "--scan-interval=7s", "--startup-taint=c"}); err != nil {
		t.Fatal(err)
	}
	c, _, err := flags.Config()
	if err != nil {
		t.Fatal(err)
	}
	down := c.Policy.ScaleDown
	if c.Loop.ScanInterval != 7*time.Second || down.UnneededTime != 3*time.Minute || down.MaxParallelism != 4 {
		t.Errorf("scan interval %s, scale-down %+v", c.Loop.ScanInterval, down)
	}
	if taints := strings.Join(c.Policy.Rules.Passing.Startup, " "); taints != "c" {
		t.Errorf("startup taints %q", taints)
	}
	from := map[string]string{}
	for _, s := range flags.Settings() {
		from[s.Path] = s.Value + " " + s.From
	}
	for path, want := range map[string]string{
		"loop.scanInterval": "7s flag", "scaleDown.unneededTime": "3m0s " + file + ":8", "loop.nudgeMax": "2s default",
		"nodeHealth.startupTaints": "[c] flag",
	} {
		if from[path] != want {
			t.Errorf("%s is %q, want %q", path, from[path], want)
		}
	}
}

// TestAFileFromFlagsSaysTheSame: the flags of a command line, written as a file, are that command line.
func TestAFileFromFlagsSaysTheSame(t *testing.T) {
	set, flags := everyFlag()
	args := []string{"--cloud-provider=aws", "--nodes=1:10:a b", "--nodes=0:3:c", "--cores-total=8:64", "--v=4",
		"--seed=7",
		"--scale-down-utilization-threshold=0.6", "--drain-priority-config=0:60,1000:100", "--leader-elect=false",
		"--max-node-provision-time=20m", "--ui-address=", "--aws-max-pods=110", "--status-taint=yes"}
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	want, _, err := flags.Config()
	if err != nil {
		t.Fatal(err)
	}
	text, left, err := flags.File()
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	next, read := everyFlag()
	if err := next.Parse([]string{"--config=" + write(t, "c.yaml", string(text))}); err != nil {
		t.Fatal(err)
	}
	got, _, err := read.Config()
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the file says otherwise:\n%s\n%s", diff, text)
	}
}

// TestMistakesInFiles: each mistake is told with file, line and path, and several at once.
func TestMistakesInFiles(t *testing.T) {
	head := "apiVersion: plimsoll.dev/v1alpha1\nkind: Configuration\n"
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"kind: Configuration\n", `FILE:1: apiVersion: "" is not known; want plimsoll.dev/v1alpha1`},
		{"apiVersion: plimsoll.dev/v1\nkind: Configuration\n", `apiVersion: "plimsoll.dev/v1" is not known`},
		{head + "---\n" + head, "more than one YAML document"},
		{head + "a: [", "FILE: yaml: line 3"},
		{head + "scaleDown:\n  unneededTme: 3m\n", "FILE:4: scaleDown.unneededTme: there is no such field; did you mean unneededTime?"},
		{head + "xyz: 1\n", "FILE:3: xyz: there is no such field; there are apiVersion, aws,"},
		{head + "loop:\n  scanInterval: 5\n", "FILE:4: loop.scanInterval: invalid argument"},
		{head + "loop:\n  scanInterval: -5s\n", "FILE:4: loop.scanInterval: -5s is not a time"},
		{head + "loop: 5\n", "FILE:3: loop: want fields, there is one value"},
		{head + "loop: [5]\n", "FILE:3: loop: want fields, there is a list"},
		{head + "scaleDown:\n  enabled: yes\n", `scaleDown.enabled: "yes" is not true or false`},
		{head + "scaleDown:\n  maxParallelism: 1.5\n", `"1.5" is not a whole number`},
		{head + "scaleDown:\n  maxParallelism: 99999999999999999999\n", "is not a whole number"},
		{head + "scaleDown:\n  utilizationThreshold: .nan\n", `".nan" is not a number`},
		{head + "cloud:\n  provider: true\n", `"true" is not a text; write it in quotes`},
		{head + "loop:\n  scanInterval: 5s\n  scanInterval: 6s\n", "FILE:5: loop.scanInterval: it is there twice"},
		{head + "cloud:\n  nodes: [{a: b}]\n", "FILE:4: cloud.nodes[0]: want one value, there is fields"},
		{head + "x: &x [*x]\n", "there is no such field"},
		{head + "scaleDown:\n  maxParallelism: -1\n  unneededTime: soon\n", "FILE:4: scaleDown.maxParallelism: -1 is below 0"},
		{head + "scaleDown:\n  maxParallelism: -1\n  unneededTime: soon\n", "FILE:5: scaleDown.unneededTime: invalid argument"},
	} {
		set, flags := everyFlag()
		file := write(t, "c.yaml", c.text)
		if err := set.Parse([]string{"--config=" + file, "--cloud-provider=kwok"}); err != nil {
			t.Fatal(err)
		}
		_, _, err := flags.Config()
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), file, "FILE"), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	set, flags := everyFlag()
	if err := set.Parse([]string{"--config=" + t.TempDir(), "--cloud-provider=kwok"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := flags.Config(); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Error(err)
	}
}

// TestMistakesInPolicies: what is wrong with a policy is told with its path.
func TestMistakesInPolicies(t *testing.T) {
	const head = "apiVersion: plimsoll.dev/v1alpha1\nkind: Configuration\ncloud: {provider: kwok}\n"
	for _, c := range []struct{ policy, want string }{
		{`{groups: ["*"]}`, `policies[0].name: "" is not a name of its own`},
		{`{name: a, groups: [b]}, {name: a, groups: [b]}`, `policies[1].name: "a" is not a name of its own: policies[0] has it`},
		{`{name: a}`, "policies[0]: it matches no group"},
		{`{name: a, groups: [""]}`, "policies[0].groups[0]: it is empty"},
		{`{name: a, groups: [b, "["]}`, `policies[0].groups[1]: "[": "[" has no meaning in a pattern; * stands for`},
		{`{name: a, groups: ["web|db"]}`, `policies[0].groups[0]: "web|db": "|" has no meaning in a pattern`},
		{`{name: a, selector: {}}`, "policies[0].selector: it is empty"},
		{`{name: a, selector: {matchExpressions: [{key: a, operator: Near}]}}`, `"Near" is not a valid label selector operator`},
		{`{name: a, groups: [b], pricePerHour: -1}`, "pricePerHour: -1 is not a price: want 0 to 1e+09"},
		{`{name: a, groups: [b], size: {min: 3, max: 2}}`, "policies[0].size.min: 3 is above max, 2"},
		{`{name: a, groups: [b], size: {max: -2}}`, "policies[0].size.max: -2 is not between 0"},
		{`{name: a, groups: [b], schedule: [{schedule: "@daily", duration: 1h}]}`, "schedule[0]: it says neither min nor max"},
		{`{name: a, groups: [b], schedule: [{schedule: "@daily", timeZone: CEST, min: 1}]}`, `schedule[0].timeZone: "CEST" is no zone`},
		{`{name: a, groups: [b], schedule: [{schedule: "@daily", timeZone: CEST, min: 1}]}`, `schedule[0].duration: "" is no duration`},
		{`{name: a, groups: [b], pause: {until: soon}}`, `policies[0].pause.until: "soon" is no time`},
		{`{name: a, groups: [b], scaleDown: {unneededTime: 5}}`, `scaleDown.unneededTime: "5" is no duration`},
		{`{name: a, groups: [b], scaleDown: {utilizationThreshold: -1}}`, "is not a share of a node"},
		{`{name: a, groups: [b], nodeHealth: {maxStartupTime: 5ms}}`, "5ms is below 1s"},
		{`{name: a, groups: [b], budgets: [{}]}`, "budgets[0]: it says neither nodes nor rate, and no windows"},
		{`{name: a, groups: [b], budgets: [{nodes: "110%"}]}`, `budgets[0].nodes: "110%" is neither a number`},
		{`{name: a, groups: [b], budgets: [{rate: fast}]}`, `budgets[0].rate: "fast" is not a number in a time`},
		{`{name: a, groups: [b], budgets: [{nodes: 1, reasons: [Idle]}]}`, `reasons[0]: "Idle" is none of Empty,`},
		{`{name: a, groups: [b], moves: {consolidation: Always}}`, `moves.consolidation: "Always" is none of WhenEmpty,`},
		{`{name: a, groups: [b], moves: {minSavingsPerHour: -1}}`, `moves.minSavingsPerHour: -1 is below 0`},
		{`{name: a, groups: [b], moves: {interruptionWeight: -1}}`, `moves.interruptionWeight: -1 is below 0`},
		{`{name: a, groups: [b], moves: {minSavingsShare: 1.1}}`, `moves.minSavingsShare: 1.1 is above 1`},
		{`{name: a, groups: [b], moves: {replaceAfter: 5s}}`, `moves.replaceAfter: 5s is below 1m`},
		{`{name: a, groups: [b], moves: {replaceUnreadyAfter: 5s}}`, `moves.replaceUnreadyAfter: 5s is below 1m`},
		{`{name: a, groups: [b], moves: {replaceConditions: [Ready]}}`, `moves.replaceConditions: Ready is true of nodes`},
		{`{name: a, groups: [b], moves: {replaceInterrupted: [Ready]}}`, `moves.replaceInterrupted: Ready is true of nodes`},
		{`{name: a, groups: [b], headroom: {nodes: some}}`, `headroom.nodes: "some" is neither a number`},
	} {
		set, flags := everyFlag()
		file := write(t, "c.yaml", head+"policies: ["+c.policy+"]\n")
		if err := set.Parse([]string{"--config=" + file}); err != nil {
			t.Fatal(err)
		}
		_, _, err := flags.Config()
		if err == nil || !strings.Contains(err.Error(), file+":4: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.policy, err, c.want)
		}
	}
}

// TestPoliciesReachTheirPlace: each field of a policy that deciding knows arrives.
func TestPoliciesReachTheirPlace(t *testing.T) {
	set, flags := everyFlag()
	file := write(t, "c.yaml", `apiVersion: plimsoll.dev/v1alpha1
kind: Configuration
cloud: {provider: kwok}
moves: {maxInterruptions: 3}
pause: {until: "2026-12-24T18:00:00Z", reason: holidays}
policies:
  - name: a
    groups: ["web-*"]
    selector: {matchLabels: {zone: b}}
    priority: 7
    pricePerHour: 0.5
    size: {min: 1, max: 2}
    schedule: [{schedule: "@daily", timeZone: Asia/Tokyo, duration: 1h, max: 4}]
    scaleDown: {unneededTime: 1m, unreadyTime: 2m, utilizationThreshold: 0.6, gpuUtilizationThreshold: 0.7,
      ignoreDaemonSetUtilization: true}
    nodeHealth: {maxProvisionTime: 3m, maxStartupTime: 4m}
    moves: {consolidation: WhenCheaper, minSavingsPerHour: 1, minSavingsShare: 0.2, minSavingsPerDisruption: 0.3,
      stay: 5m, returnToPreferred: true, replaceAfter: 6m, replaceDrifted: true, replaceConditions: [DiskFailing],
      replaceInterrupted: [example.com/leaves], interruptionWeight: 0.4, replaceUnreadyAfter: 7m}
    headroom: {nodes: 10%}
`)
	if err := set.Parse([]string{"--config=" + file}); err != nil {
		t.Fatal(err)
	}
	c, warnings, err := flags.Config()
	const idle = "policies[0].headroom.nodes: it has no effect: policies.headroom is not built yet"
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], idle) {
		t.Fatal(warnings, err)
	}
	p := c.Policy.Groups.Policies[0]
	o, m := p.Options, p.Moves
	all := c.Policy.Groups.Pause
	got := fmt.Sprintln(all.Until.UTC(), all.Reason, p.Name, p.Groups, p.Selector, *p.Priority, *p.Price,
		*p.Size.Min, *p.Size.Max, p.Schedule[0].Window, *p.Schedule[0].Max, *o.ScaleDownUnneededTime,
		*o.ScaleDownUnreadyTime, *o.ScaleDownUtilizationThreshold, *o.ScaleDownGPUUtilizationThreshold,
		*o.IgnoreDaemonSetsUtilization, *o.MaxNodeProvisionTime, *o.MaxNodeStartupTime, *m.Consolidation,
		*m.MinSavingsPerHour, *m.MinSavingsShare, *m.MinSavingsPerDisruption, *m.Stay, *m.Return, *m.ExpireAfter,
		*m.Drifted, *m.Unsound, *m.Interrupted, *m.InterruptionWeight, *m.UnreadyAfter)
	want := "2026-12-24 18:00:00 +0000 UTC holidays a [^(?s:web-.*)$] zone=b 7 0.5 1 2 " +
		"@daily Asia/Tokyo for 1h 4 1m0s 2m0s 0.6 0.7 true 3m0s 4m0s WhenCheaper " +
		"1 0.2 0.3 5m0s true 6m0s true [DiskFailing] [example.com/leaves] 0.4 7m0s\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestOddFiles: what is accepted and most likely not meant is told, with its place.
// sized is a policy with a size, and windows in which it is another one.
func sized(size, windows string) string {
	return fmt.Sprintf("policies: [{name: a, groups: [b], size: %s, schedule: [%s]}]", size, windows)
}

// TestManyWindows: of so many windows that contradict each other not all pairs are looked at.
func TestManyWindows(t *testing.T) {
	const two = `{schedule: "0 7 * * *", duration: 1h, max: 2}, {schedule: "0 7 * * *", duration: 1h, max: 3}, `
	set, flags := everyFlag()
	file := write(t, "c.yaml", "apiVersion: plimsoll.dev/v1alpha1\nkind: Configuration\ncloud: {provider: kwok}\n"+
		sized(`{}`, strings.Repeat(two, 500)))
	if err := set.Parse([]string{"--config=" + file}); err != nil {
		t.Fatal(err)
	}
	_, warnings, err := flags.Config()
	if n := len(warnings); err != nil || n == 0 || n > overlapLooks/fewestLooks {
		t.Errorf("%d warnings, want 1 to %d: %v", n, overlapLooks/fewestLooks, err)
	}
}

func TestOddFiles(t *testing.T) {
	const over, last = `{until: "2020-01-01T00:00:00Z"}`, `[{name: x, nodes: 1}, {name: x, nodes: 1}]`
	for text, want := range map[string]string{
		`pause: {}`:      "FILE:3: pause: it holds until the file changes",
		`pause: ` + over: "FILE:3: pause.until: it is over since 2020-01-01T00:00:00Z",
		`policies: [{name: a, groups: [b], pause: ` + over + `}]`:   "FILE:3: policies[0].pause.until: it is over",
		`budgets: [{name: a, rate: 0/1h}]`:                          "FILE:3: budgets[0].rate: no node may ever begin to go",
		`budgets: [{name: a, nodes: 1}, {name: a, nodes: 2}]`:       `FILE:3: budgets[1]: another budget is called "a", too`,
		`policies: [{name: a, groups: [b], budgets: ` + last + `}]`: "policies[0].budgets[1]: another",
		sized(`{min: 1, max: 4}`, `{schedule: "0 7 * * *", duration: 4h, min: 5}`): "policies[0].schedule[0]: min 5 is " +
			"above the max of size, 4, which wins",
		sized(`{min: 3}`, `{schedule: "0 7 * * *", duration: 4h, max: 2}`): "policies[0].schedule[0]: max 2 is below the " +
			"min of size, 3, and wins",
		sized(`{}`, `{schedule: "0 7 * * *", duration: 4h, max: 2}, {schedule: "0 7 1 3 *", duration: 4h, max: 3}`): "policies[0]." +
			"schedule[1]: schedule[0] is open, too, next at 20",
		sized(`{}`, `{schedule: "0 7 * * *", duration: 4h, max: 2}, {schedule: "0 10 * * *", duration: 4h, min: 3}`): "policies[0]." +
			"schedule[1]: schedule[0] is open, too, next at ",
		sized(`{}`, `{schedule: "0 7 * * *", duration: 4h, min: 3}, {schedule: "0 10 * * *", duration: 4h, max: 2}`): "and max 2 " +
			"is below its min, 3, and wins",
		sized(`{}`, `{schedule: "0 7 * * *", duration: 4h, max: 2}, {schedule: "0 7 * * 1", duration: 4h, max: 2}`):  "",
		sized(`{}`, `{schedule: "0 7 * * *", duration: 4h, max: 2}, {schedule: "0 11 * * *", duration: 4h, max: 3}`): "",
		sized(`{max: 2}`, `{schedule: "0 7 * * *", duration: 4h, min: 3, max: 5}`):                                   "",
		`scaleUp: {coresTotal: "0:0"}`:           "--cores-total has a maximum of 0, which is no limit",
		`pause: {reason: audit}`:                 "",
		`pause: {until: "2999-01-01T00:00:00Z"}`: "",
		`budgets: [{name: a, rate: 1/1h}]`:       "",
	} {
		set, flags := everyFlag()
		const head = "apiVersion: plimsoll.dev/v1alpha1\nkind: Configuration\n"
		file := write(t, "c.yaml", head+text+"\ncloud: {provider: kwok}\n")
		if err := set.Parse([]string{"--config=" + file}); err != nil {
			t.Fatal(err)
		}
		_, warnings, err := flags.Config()
		flags.At(time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)) // a dump of before
		if _, early, err := flags.Config(); err != nil || strings.Contains(strings.Join(early, "\n"), "it is over") {
			t.Errorf("%s, as of 2019: %q (%v)", text, early, err)
		}
		got := strings.ReplaceAll(strings.Join(warnings, "\n"), file, "FILE")
		if err != nil || (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q (%v), want %q", text, got, err, want)
		}
	}
}
