package config

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestMode(t *testing.T) {
	for _, c := range []struct {
		name, args    string
		observe       bool
		events        bool
		lease, status string
		warnings      string // parts of them, in order
	}{
		{"act is the default", "", false, false, "cluster-autoscaler", "cluster-autoscaler-status", ""},
		{"act", "--mode=act", false, false, "cluster-autoscaler", "cluster-autoscaler-status", ""},
		{"an observer's own names", "--mode=observe", true, false, "plimsoll-observe", "plimsoll-observe-status", ""},
		{"names that are given", "--mode=observe --leader-elect-resource-name=l --status-config-map-name=s", true, false, "l-observe", "s-observe", "--leader-elect-resource-name=l|--status-config-map-name=s"},
		{"also with underscores", "--mode=observe --leader_elect_resource_name=l --status_config_map_name=s", true, false, "l-observe", "s-observe", "l-observe|s-observe"},
		{"those of one that acts",
			"--mode=observe --leader-elect-resource-name=cluster-autoscaler --status-config-map-name=cluster-autoscaler-status",
			true, false,
			"cluster-autoscaler-observe", "cluster-autoscaler-status-observe",
			"uses cluster-autoscaler-observe|uses cluster-autoscaler-status-observe"},
		{"events", "--mode=observe --observe-events", true, true, "plimsoll-observe", "plimsoll-observe-status", ""},
		{"events of one that acts", "--observe-events", false, false, "cluster-autoscaler", "cluster-autoscaler-status", "--observe-events has no effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := pflag.NewFlagSet("run", pflag.ContinueOnError)
			flags := Bind(set, some("kwok"))
			mode := flags.BindMode()
			if err := set.Parse(append([]string{"--cloud-provider=kwok"}, strings.Fields(c.args)...)); err != nil {
				t.Fatal(err)
			}
			config, _, err := flags.Config()
			if err != nil {
				t.Fatal(err)
			}
			config, got, warnings := mode.Apply(config)
			if got != (Mode{c.observe, c.events}) || config.Leader.Name != c.lease || config.Report.StatusConfigMap != c.status {
				t.Errorf("%+v, lease %s, ConfigMap %s", got, config.Leader.Name, config.Report.StatusConfigMap)
			}
			var parts []string
			if c.warnings != "" {
				parts = strings.Split(c.warnings, "|")
			}
			if len(warnings) != len(parts) {
				t.Fatalf("warnings: %q", warnings)
			}
			for i, part := range parts {
				if !strings.Contains(warnings[i], part) {
					t.Errorf("warning %q, want %q", warnings[i], part)
				}
			}
		})
	}
}

func TestModeIsOneOfTwo(t *testing.T) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := Bind(set, some("kwok"))
	flags.BindMode()
	if err := set.Parse([]string{"--mode=watch"}); err == nil || !strings.Contains(err.Error(), "--mode") ||
		!strings.Contains(err.Error(), "act and observe") {
		t.Error(err)
	}
	for name, help := range map[string]string{"short": flags.Help(), "long": flags.AllHelp()} {
		if !strings.Contains(help, "--mode mode") || !strings.Contains(help, "(default act)") {
			t.Errorf("the %s help does not tell of --mode", name)
		}
	}
}
