package main

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
)

// uiCommand opens the leader's page.
func uiCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Open the leader's page in a browser, through a forwarded port; ends with Ctrl-C",
		Example: `  plimsoll ui
  plimsoll ui --namespace=autoscaling --no-browser
  plimsoll ui --url=http://127.0.0.1:8086`,
		Args: onlyFlags,
	}
	var leader toLeader
	leader.bind(cmd.Flags())
	silent := cmd.Flags().Bool("no-browser", false, "print the address, and open nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		base, end, err := leader.reach(cmd.Context())
		if err != nil {
			return err
		}
		defer end()
		fmt.Fprintf(cmd.OutOrStdout(), "the page is at %s/ until Ctrl-C\n", base)
		if !*silent {
			if err := browse(base + "/"); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "no browser could be opened:", err)
			}
		}
		<-cmd.Context().Done()
		return nil
	}
	return cmd
}

// browse opens an address in the person's browser.
func browse(url string) error {
	program := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		program[0] = "open"
	case "windows":
		program = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	cmd := exec.Command(program[0], program[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // the browser's end is its own business
	return nil
}
