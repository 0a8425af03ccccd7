package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/config/v1alpha1"
)

const kwokFile = "apiVersion: plimsoll.dev/v1alpha1\nkind: Configuration\ncloud: {provider: kwok}\n"

// running is a process that has begun with a file and flags, and the file's name.
func running(t *testing.T, text string, args ...string) (look func() (Change, bool), file string) {
	t.Helper()
	set, flags := everyFlag()
	file = write(t, "c.yaml", text)
	if err := set.Parse(append(args, "--config="+file)); err != nil {
		t.Fatal(err)
	}
	c, _, err := flags.Config()
	if err != nil {
		t.Fatal(err)
	}
	r, now := flags.Reread(), c.Policy
	return func() (Change, bool) {
		change, news := r.Look(now)
		if change.Policy != nil {
			now = *change.Policy
		}
		return change, news
	}, file
}

func rewriteFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// other is a value of a flag that is not its default. samples has those that no rule gives.
func other(t *testing.T, flag, kind, def string) string {
	t.Helper()
	samples := map[string]string{
		"mode": "observe", "cloud-provider": "aws", "kube-api-content-type": "application/json", "expander": "random",
		"cores-total": "1:5", "memory-total": "1:5", "consolidation": "WhenEmpty", "drain-priority-config": "0:60",
		"leader-elect-lease-duration": "20s", "leader-elect-renew-deadline": "11s", "logging-format": "json",
		"ui-address": "", "address": ":1", "replace-after": "1h", "replace-unready-after": "1h",
	}
	if v, ok := samples[flag]; ok {
		return strconv.Quote(v)
	}
	switch kind {
	case "true or false":
		return fmt.Sprint(def != "true")
	case "whole number":
		n, err := strconv.Atoi(def)
		if err != nil {
			t.Fatal(flag, err)
		}
		return fmt.Sprint(n + 1)
	case "number":
		x, err := strconv.ParseFloat(def, 64)
		if err != nil {
			t.Fatal(flag, err)
		}
		return fmt.Sprint(x*0.8 + 0.01)
	case "list of text":
		return `["a"]`
	}
	if d, err := time.ParseDuration(def); err == nil {
		return (d + time.Second).String()
	}
	return `"a"`
}

// TestEachFieldCountsAtOnceOrIsTold: what changes in the file either reaches deciding, or is told to wait for a
// restart, for each field that is a flag.
func TestEachFieldCountsAtOnceOrIsTold(t *testing.T) {
	_, flags := everyFlag()
	checked := 0
	unlike := map[string]bool{"leader-elect-resource-lock": true} // there is one value only
	pairs := map[string]bool{"ui-tls-cert-file": true, "ui-tls-private-key-file": true}
	for name, field := range v1alpha1.Flags() {
		def, ok := flags.Default(name)
		if !ok || unlike[name] {
			continue
		}
		var needs []string
		if name == "return-to-preferred" {
			needs = []string{"--expander=priority"}
		}
		look, file := running(t, kwokFile, needs...)
		value := other(t, name, field.Kind, def)
		if name == "price-file" {
			value = write(t, "prices.yaml", "groups: {a: 1}\n")
		}
		group, leaf, nested := strings.Cut(field.Path, ".")
		text := kwokFile + group + ": {" + leaf + ": " + value + "}\n"
		switch {
		case pairs[name]:
			text = kwokFile + "page: {certFile: a, keyFile: a}\n"
		case !nested:
			text = kwokFile + field.Path + ": " + value + "\n"
		case group == "cloud":
			text = strings.Replace(kwokFile, "{provider: kwok}", "{"+leaf+": "+value+"}", 1)
			if leaf != "provider" {
				text = strings.Replace(text, "{", "{provider: kwok, ", 1)
			}
		}
		rewriteFile(t, file, text)
		change, ok := look()
		if !ok || len(change.Notices) > 1 {
			t.Errorf("%s: %v %+v", field.Path, ok, change.Notices)
			continue
		}
		said := ""
		if len(change.Notices) > 0 {
			said = change.Notices[0].Code + " " + change.Notices[0].Message
		}
		waits := strings.Contains(said, "ConfigurationNeedsRestart") && strings.Contains(said, field.Path+" (")
		if waits == (change.Policy != nil) || said != "" && !waits {
			t.Errorf("%s: %s: counts at once: %v; %s", field.Path, value, change.Policy != nil, said)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("only %d fields were checked", checked)
	}
}

// TestABadFileChangesNothing: the last good configuration holds until there is another good one, also where a
// mounted ConfigMap is replaced; the flags of the command line still win.
func TestABadFileChangesNothing(t *testing.T) {
	look, file := running(t, kwokFile, "--max-nodes-total=9", "--startup-taint=a")
	if _, ok := look(); ok {
		t.Fatal("there is news without any change")
	}
	for _, step := range []struct {
		text, code, says string
		policy           bool
	}{
		{kwokFile + "scaleDown: {unneededTme: 3m}\n", "ConfigurationNotRead", "did you mean unneededTime", false},
		{kwokFile + "scaleDown: {unneededTime: 3m}\nscaleUp: {maxNodesTotal: 5}\n", "", "", true},
		{"", "ConfigurationNotRead", "it is empty", false},
		{kwokFile + "loop: {scanInterval: 5s}\n", "ConfigurationNeedsRestart", "loop.scanInterval (10s, not 5s)", true},
		{kwokFile + "policies: [{name: a, groups: [b], pause: {}}]\n", "", "", true},
		{kwokFile + "policies: [{name: a, groups: [b], pause: {}}] # again\n", "", "", false},
	} {
		rewriteFile(t, file, step.text)
		change, ok := look()
		if !ok || (change.Policy != nil) != step.policy || (len(change.Notices) > 0) != (step.code != "") {
			t.Fatalf("%q: %v %+v", step.text, ok, change)
		}
		for _, n := range change.Notices {
			if n.Code != step.code || !strings.Contains(n.Message, step.says) {
				t.Errorf("%q: %+v", step.text, n)
			}
		}
		if p := change.Policy; p != nil && (p.ScaleUp.MaxNodesTotal != 9 || p.Rules.Passing.Startup[0] != "a") {
			t.Errorf("%q: a flag does not win: %+v", step.text, p)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if change, ok := look(); !ok || change.Notices[0].Code != "ConfigurationNotRead" {
		t.Errorf("the file is gone: %v %+v", ok, change)
	}
	if _, ok := look(); ok {
		t.Error("the same reason is news twice")
	}
	mounted := filepath.Join(t.TempDir(), "c.yaml")
	rewriteFile(t, mounted, kwokFile+"scaleDown: {unneededTime: 4m}\n")
	if err := os.Symlink(mounted, file); err != nil {
		t.Fatal(err)
	}
	if change, ok := look(); !ok || len(change.Notices) > 0 || change.Policy.ScaleDown.UnneededTime != 4*time.Minute {
		t.Errorf("the file is back: %v %+v", ok, change)
	}
}
