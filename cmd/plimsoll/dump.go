package main

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

func dumpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Write a cluster into a file, as far as deciding reads it; changes nothing",
		Example: `  plimsoll dump --cloud-provider=kwok -o cluster.yaml
  plimsoll dump --cloud-provider=aws --nodes=0:10:workers --max-nodes-total=50 -o cluster.json.gz
  plimsoll dump --cloud-provider=kwok --anonymize -o for-a-bug-report.yaml
  kubectl get nodes,pods,pdb,pvc,pv,sc,csinodes,ds,ns -A -o yaml | plimsoll dump -f - -o cluster.yaml`,
		Args: onlyFlags,
	}
	var from clusterSource
	var output string
	var anonymize bool
	cmd.Flags().StringVarP(&output, "output", "o", "-",
		"file to write: YAML, JSON for a name that ends in .json, packed if .gz follows; -: standard output, as YAML")
	cmd.Flags().BoolVar(&anonymize, "anonymize", false,
		"replace names, namespaces, values of labels and ids by others, which keep what is equal and its order; leave "+
			"messages out")
	from.bind(cmd.Flags())
	flags := config.Bind(cmd.Flags(), providers.All())
	flags.WithoutProvider()
	flags.BindRequestTimeout()
	help(cmd, func() string {
		text := "\nDump:\n"
		for _, name := range []string{"output", "anonymize", "filename", "groups", "request-timeout"} {
			text += config.Line(cmd.Flags().Lookup(name))
		}
		return text + flags.ProviderHelp()
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if output == "" {
			return misusef("--output (-o) is empty: name a file, or - for standard output")
		}
		if slices.Contains([]string{"json", "yaml", "text", "table", "wide"}, output) {
			return misusef("--output (-o) is the file to write, and %s is a format: name a file such as cluster.json, or - for "+
				"standard output", output)
		}
		c, err := from.read(cmd.Context(), cmd.InOrStdin())
		if err == nil {
			err = restored(flags, c)
		}
		if err != nil {
			return err
		}
		s, err := configured(cmd, flags)
		if s == nil {
			return err
		}
		if c != nil {
			tellIdle(flags, cmd.ErrOrStderr())
		}
		if c, err = from.complete(cmd.Context(), s, c, cmd.ErrOrStderr()); err != nil {
			return err
		}
		tellNoGroups(c, cmd.ErrOrStderr())
		c.SetPrices(s.config.Prices.First)
		if anonymize {
			var salt [32]byte
			_, _ = rand.Read(salt[:]) // it never fails
			if c, err = c.Anonymize(salt, s.observing()); err != nil {
				return fmt.Errorf("anonymize the cluster: %w", err)
			}
		}
		c.Flags = flags.Deciding(anonymize)
		c.Flags["decide-steps"] = strconv.Itoa(s.config.Policy.Steps)
		delete(c.Flags, "price-file") // the prices themselves are in the dump
		return writeCluster(cmd.Context(), c, output, cmd.OutOrStdout())
	}
	return cmd
}

// writeCluster writes a cluster in the form that the file's name says. A file is there in full, and readable by its
// owner only, or as it was before.
func writeCluster(ctx context.Context, c *clusterfile.Cluster, name string, stdout io.Writer) error {
	form := clusterfile.YAML
	plain, packed := strings.CutSuffix(name, ".gz")
	if filepath.Ext(plain) == ".json" {
		form = clusterfile.JSON
	}
	if name == "-" {
		return clusterfile.Write(stdout, c, form)
	}
	write := func(to io.Writer) error {
		if !packed {
			return clusterfile.Write(to, c, form)
		}
		zip := gzip.NewWriter(to)
		return errors.Join(clusterfile.Write(zip, c, form), zip.Close())
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // such as /dev/stdout, or a pipe
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("write the dump: %w", err)
		}
		return errors.Join(write(file), file.Close())
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // its owner alone may read it
	if err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err // its path has a name that means nothing to a person
		}
		return fmt.Errorf("write the dump: open %s: %w", name, err)
	}
	err = errors.Join(write(unlessEnded{ctx, file}), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// unlessEnded writes until ctx ends.
type unlessEnded struct {
	ctx context.Context
	to  io.Writer
}

func (w unlessEnded) Write(text []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.to.Write(text)
}
