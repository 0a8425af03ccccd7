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
		if len(s.main) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", s.title)
		for _, name := range s.main {
			b.WriteString(Line(s.set.Lookup(name)))
		}
	}
	b.WriteString("\n--help-all shows every flag.\n")
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
	return b.String()
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

// Line is the help of one flag.
func Line(flag *pflag.Flag) string {
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
