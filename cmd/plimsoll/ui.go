package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/ui"
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
		page, err := leader.reach(cmd.Context())
		if err != nil {
			return err
		}
		defer page.end()
		var state json.RawMessage
		if err := page.fetch(cmd.Context(), "/api/v1/state", &state); err != nil {
			return err
		}
		address := page.base
		if strings.HasPrefix(address, "https:") {
			here, stop, err := page.behind()
			if err != nil {
				return err
			}
			defer stop()
			address = here
		}
		fmt.Fprintf(cmd.OutOrStdout(), "the page is at %s/ until Ctrl-C\n", address)
		if !*silent {
			if err := browse(address + "/"); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "no browser could be opened:", err)
			}
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case err := <-page.ended:
			return err
		}
	}
	return cmd
}

// behind serves the page on this machine's loopback, with the bearer token that a browser does not send.
func (p *page) behind() (address string, stop func(), err error) {
	to, err := url.Parse(p.base)
	if err != nil {
		return "", nil, fmt.Errorf("serve the page here: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serve the page here: %w", err)
	}
	with := func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Del("Authorization")
	}
	proxy := &httputil.ReverseProxy{Transport: p.client.Transport, FlushInterval: -1, Rewrite: with}
	server := &http.Server{Handler: ui.OnlyHere(proxy), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener) // until it is closed
	return "http://" + listener.Addr().String(), func() { server.Close() }, nil
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
