package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Help is the text of --help: the main flags, grouped, one line each.
func (f *Flags) Help() string {
	var b strings.Builder
	for _, s := range f.sections {
		var lines string
		for _, name := range s.main {
			lines += Line(s.set.Lookup(name))
		}
		if lines != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", s.title, lines)
		}
	}
	b.WriteString("\n--help-all shows every flag.\n" + f.idleHelp())
	return b.String()
}

// AllHelp is the text of --help-all: every flag, and those of the Cluster
// Autoscaler that are accepted and do nothing.
func (f *Flags) AllHelp() string {
	var b strings.Builder
	for _, s := range f.sections {
		fmt.Fprintf(&b, "\n%s:\n", s.title)
		s.set.VisitAll(func(flag *pflag.Flag) { b.WriteString(Line(flag)) })
	}
	b.WriteString("\nFlags of the Cluster Autoscaler that are accepted and have no effect. With another value than\n" +
		"its default there, one marked * is an error unless --ignore-unsupported-flags is given:\n")
	for _, l := range lacking {
		mark := " "
		if _, ok := decisive[l.name]; ok {
			mark = "*"
		}
		fmt.Fprintf(&b, "    %s --%-52s %s\n", mark, l.name, l.why)
	}
	b.WriteString("\nFlags of earlier versions of Plimsoll, the same:\n")
	for _, l := range former {
		fmt.Fprintf(&b, "      --%-52s %s\n", l.name, l.why)
	}
	b.WriteString(f.idleHelp())
	return b.String()
}

// serving are the flags of a process that leads and reports. An answer on a cluster does neither.
var serving = []string{"leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline",
	"leader-elect-retry-period", "address", "max-inactivity", "max-failing-time", "max-startup-time",
	"ui-tls-cert-file", "ui-tls-private-key-file", "decision-log", "decision-log-max-size",
	"emit-per-nodegroup-metrics", "record-duplicated-events", "write-status-configmap"}

// HideServing leaves out of the help the flags that only a process that leads and reports needs. They are taken all
// the same: a command line of run may stand there.
func (f *Flags) HideServing() {
	f.servingHidden = true
	for _, name := range serving {
		f.set.Lookup(name).Hidden = true
	}
}

// idleHelp says what becomes of flags that the help leaves out.
func (f *Flags) idleHelp() string {
	if !f.servingHidden {
		return ""
	}
	return "\nFlags of plimsoll run for leading and reporting may stand there, and have no effect.\n"
}

// ProviderHelp is the help of a command that asks the provider and does nothing else:
// all flags that say which one, and how it is reached.
func (f *Flags) ProviderHelp() string {
	var b strings.Builder
	for _, s := range f.sections {
		if s.provider != "" || s.title == titleCloud || s.title == titleCluster {
			fmt.Fprintf(&b, "\n%s:\n", s.title)
			s.set.VisitAll(func(flag *pflag.Flag) { b.WriteString(Line(flag)) })
		}
	}
	b.WriteString("\nOther flags of plimsoll run may stand there, and have no effect.\n")
	return b.String()
}

// Line is the help of one flag, empty for one that is hidden.
func Line(flag *pflag.Flag) string {
	if flag.Hidden {
		return ""
	}
	name := "    --" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand + ", --" + flag.Name
	}
	if kind, _ := pflag.UnquoteUsage(flag); kind != "" {
		name += " " + kind
	}
	text := flag.Usage
	switch flag.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		text += " (default " + flag.DefValue + ")"
	}
	return fmt.Sprintf("  %-46s %s\n", name, text)
}
