package main

import (
	"io"

	"github.com/spf13/cobra"
)

// completionCommand has a command for each shell.
func completionCommand() *cobra.Command {
	const example = `  plimsoll completion bash > /etc/bash_completion.d/plimsoll
  plimsoll completion zsh > "${fpath[1]}/_plimsoll"
  plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish`
	cmd := &cobra.Command{
		Use:     "completion",
		Short:   "Print what completes command lines in a shell: bash, zsh, fish, powershell",
		Example: example,
		Args:    unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, shell := range []struct {
		name  string
		write func(*cobra.Command, io.Writer) error
	}{
		{"bash", func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) }},
		{"zsh", (*cobra.Command).GenZshCompletion},
		{"fish", func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) }},
		{"powershell", (*cobra.Command).GenPowerShellCompletionWithDesc},
	} {
		cmd.AddCommand(&cobra.Command{
			Use:     shell.name,
			Short:   "Print what completes command lines in " + shell.name,
			Example: example,
			Args:    onlyFlags,
			RunE:    func(cmd *cobra.Command, _ []string) error { return shell.write(cmd.Root(), cmd.OutOrStdout()) },
		})
	}
	return cmd
}
