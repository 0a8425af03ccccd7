package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/config/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Look at the configuration file: print, validate, explain, diff, from-flags; changes nothing",
		Example: `  plimsoll config validate plimsoll.yaml
  plimsoll config explain policies.schedule
  plimsoll config print --config=plimsoll.yaml --scan-interval=5s`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configPrintCommand(), configValidateCommand(), configExplainCommand(), configDiffCommand(),
		configFromFlagsCommand())
	return cmd
}

// allFlags are those of plimsoll run, for a command that reads them and starts nothing.
func allFlags(set *pflag.FlagSet) *config.Flags {
	flags := config.Bind(set, providers.All())
	flags.WithoutProvider()
	flags.BindMode()
	return flags
}

func configPrintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Show each value that counts, and where it comes from: default, flag, or a line of the file",
		Example: `  plimsoll config print --config=plimsoll.yaml
  plimsoll config print --config=plimsoll.yaml --changed
  plimsoll config print --config=plimsoll.yaml --scan-interval=5s -o json`,
		Args: onlyFlags,
	}
	format, changed := cli.Table, false
	cmd.Flags().VarP(&format, "output", "o", "text, json or yaml")
	cmd.Flags().BoolVar(&changed, "changed", false, "leave out what is as by default")
	flags := allFlags(cmd.Flags())
	help(cmd, func() string { return ownHelp(cmd, []string{"output", "changed"}) + flags.Help() })
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		flags.Elsewhere()
		s, err := configured(cmd, flags)
		if s == nil {
			return err
		}
		settings := []config.Setting{}
		for _, v := range flags.Settings() {
			if !changed || v.From != config.FromDefault {
				settings = append(settings, v)
			}
		}
		return printSettings(cmd.OutOrStdout(), settings, format)
	}
	return cmd
}

func printSettings(w io.Writer, settings []config.Setting, format cli.Format) error {
	switch format {
	case cli.JSON, cli.YAML:
		text, err := json.MarshalIndent(settings, "", "  ")
		if err == nil && format == cli.YAML {
			text, err = yaml.JSONToYAML(text)
		}
		if err != nil {
			return fmt.Errorf("write the configuration: %w", err)
		}
		_, err = fmt.Fprintln(w, strings.TrimSuffix(string(text), "\n"))
		return err
	}
	rows := [][]string{{"FIELD", "VALUE", "FROM"}}
	for _, v := range settings {
		from := v.From
		if from == config.FromFlag {
			from = "--" + v.Flag
		}
		rows = append(rows, []string{v.Path, orDash(v.Value), from})
	}
	return cli.Rows(w, rows)
}

func orDash(text string) string {
	if text == "" || text == "[]" {
		return "-"
	}
	return text
}

// readAlone reads a file without any flags.
func readAlone(file string) (*config.Flags, config.Config, []string, error) {
	set := pflag.NewFlagSet("config", pflag.ContinueOnError)
	flags := allFlags(set)
	flags.Elsewhere()
	if err := set.Set("config", file); err != nil {
		return nil, config.Config{}, nil, err
	}
	c, warnings, err := flags.Config()
	return flags, c, warnings, err
}

func configValidateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Say all that is wrong with configuration files, each with file, line and path",
		Long: `Say all that is wrong with configuration files, each with file, line and path. What is accepted and has
no effect is told, too. The exit code is 1 if anything is wrong. With -f it also shows which policies match which
groups of that cluster, and what the groups are by them at the cluster's time.`,
		Example: `  plimsoll config validate plimsoll.yaml
  plimsoll config validate clusters/*.yaml
  plimsoll config validate plimsoll.yaml -f cluster.yaml`,
		Args: files(1, -1),
	}
	var from clusterSource
	cmd.Flags().StringArrayVarP(&from.files, "filename", "f", nil,
		"file or folder with a cluster, -: standard input (repeat): which policies match which of its groups")
	cmd.Flags().StringVar(&from.groups, "groups", "",
		"file with the node groups of that cluster, where they are not in the others; none: they are guessed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var cluster *clusterfile.Cluster
		switch {
		case len(from.files) > 0:
			var err error
			cluster, err = from.cluster(cmd.Context(), nil, cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
		case from.groups != "":
			return misusef("--groups has no effect without -f")
		}
		var wrong []string
		for _, file := range args {
			_, c, warnings, err := readAlone(file)
			for _, w := range warnings {
				cli.Tell(cmd.ErrOrStderr(), "warning", w)
			}
			if err != nil && len(args) == 1 {
				return err
			}
			if err != nil {
				wrong = append(wrong, file)
				fmt.Fprintln(cmd.ErrOrStderr(), cli.ErrorText(err))
				continue
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is valid\n", file)
			if cluster != nil {
				if err := tellMatches(cmd.OutOrStdout(), cmd.ErrOrStderr(), c.Policy.Groups, cluster); err != nil {
					return err
				}
			}
		}
		if len(wrong) > 0 {
			return fmt.Errorf("%d of %d files cannot be used, each for what is said of it above: %s", len(wrong), len(args),
				spelling.All(wrong))
		}
		return nil
	}
	return cmd
}

// files wants so many names of files; most below 0 is no limit.
func files(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return misusef("%s given; want %s", spelling.Count(len(args), "argument"), cmd.UseLine())
		}
		if slices.Contains(args, "") {
			return misusef("the name of a file is empty; want %s", cmd.UseLine())
		}
		return nil
	}
}

func configExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [FIELD]",
		Short: "Say what a field of the configuration file means, and which fields it has",
		Example: `  plimsoll config explain
  plimsoll config explain scaleDown.unneededTime
  plimsoll config explain policies.schedule`,
		Args: files(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			field, err := v1alpha1.Find(strings.Join(args, ""))
			if err != nil {
				return misuse{err}
			}
			flags := allFlags(pflag.NewFlagSet("explain", pflag.ContinueOnError))
			w := cmd.OutOrStdout()
			name := field.Path
			if name == "" {
				name = v1alpha1.Kind + ", " + v1alpha1.APIVersion
			}
			fmt.Fprintf(w, "%s  (%s)\n\n%s\n", name, field.Kind, wrapped(field.Says(flags.Usage), "  "))
			if value, is := flags.Default(field.Flag); is {
				fmt.Fprintf(w, "\n  Flag: --%s   Default: %s\n", field.Flag, orDash(value))
			}
			if len(field.Fields) > 0 {
				fmt.Fprintln(w, "\nFIELDS")
			}
			for _, f := range field.Fields {
				kind := f.Kind
				if f.Required {
					kind += ", required"
				}
				fmt.Fprintf(w, "  %s  (%s)\n%s\n", f.Name, kind, wrapped(f.Says(flags.Usage), "      "))
			}
			return nil
		},
	}
}

// wrapped breaks a text into lines of some 100 letters.
func wrapped(text, indent string) string {
	line, out := indent, ""
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > 100 {
			out, line = out+strings.TrimRight(line, " ")+"\n", indent
		}
		line += word + " "
	}
	return out + strings.TrimRight(line, " ")
}

func configDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff FILE FILE",
		Short: "Show what differs between two configuration files, defaults included",
		Long:  "Show what differs between two configuration files, defaults included. The exit code is 3 if anything does.",
		Example: `  plimsoll config diff plimsoll.yaml plimsoll-new.yaml
  plimsoll config diff staging/plimsoll.yaml production/plimsoll.yaml
  git show HEAD:plimsoll.yaml > old.yaml && plimsoll config diff old.yaml plimsoll.yaml`,
		Args: files(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var values [2]map[string]string
			var order []string
			for i, file := range args {
				flags, _, _, err := readAlone(file)
				if err != nil {
					return err
				}
				values[i] = map[string]string{}
				for _, v := range flags.Settings() {
					if values[i][v.Path] = v.Value; i == 0 || !has(values[0], v.Path) {
						order = append(order, v.Path)
					}
				}
			}
			rows := [][]string{{"FIELD", args[0], args[1]}}
			for _, path := range order {
				if a, b := values[0][path], values[1][path]; a != b {
					rows = append(rows, []string{path, orDash(a), orDash(b)})
				}
			}
			if len(rows) == 1 {
				return nil
			}
			if err := cli.Rows(cmd.OutOrStdout(), rows); err != nil {
				return err
			}
			return errChanges
		},
	}
}

func has(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

func configFromFlagsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "from-flags",
		Short: "Write the flags of a command line as a configuration file",
		Long: `Write the flags of a command line as a configuration file, to standard output. With --config, what that
file says beyond flags stays, with its comments.`,
		Example: `  plimsoll config from-flags --cloud-provider=aws --scan-interval=5s > plimsoll.yaml
  plimsoll config from-flags --config=plimsoll.yaml --expander=price > plimsoll-new.yaml
  plimsoll config from-flags --config=plimsoll.yaml    # the file as it is, with its comments`,
		Args: onlyFlags,
	}
	flags := allFlags(cmd.Flags())
	help(cmd, flags.Help)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		flags.Elsewhere()
		s, err := configured(cmd, flags)
		if s == nil {
			return err
		}
		text, left, err := flags.File()
		if err != nil {
			return err
		}
		for _, l := range left {
			cli.Tell(cmd.ErrOrStderr(), "note", l)
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	return cmd
}
