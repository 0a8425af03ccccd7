// Command manifests writes the plain manifests in deploy/, rendered from the chart. It is
// run in the folder packaging, by `make manifests`.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll-dev/plimsoll/packaging/chart"
)

func main() {
	from := flag.String("chart", "../charts/plimsoll", "the folder of the chart")
	to := flag.String("to", "../deploy", "the folder to write to")
	flag.Parse()
	if err := write(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func write(from, to string) error {
	manifests, err := chart.Manifests(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make the folder of the manifests: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		if err := os.WriteFile(filepath.Join(to, name), []byte(manifests[name]), 0o644); err != nil {
			return fmt.Errorf("write a manifest: %w", err)
		}
	}
	return nil
}
