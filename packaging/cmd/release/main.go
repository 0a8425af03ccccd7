// Command release gathers in dist/ what is published of a version: a binary per platform, the
// container image, the SPDX document, and the sums of them all. It is run in the folder
// packaging by `make release`, twice: with --check-only before anything is built, and at the
// end with the binaries.
//
//	release --image=../bin/plimsoll-image.tar --sbom=../bin/plimsoll.spdx.json ../bin/linux/amd64/plimsoll
//
// It publishes nothing, and changes nothing but dist/<version>.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := pflag.NewFlagSet("release", pflag.ContinueOnError)
	repository := flags.String("repository", "..", "the folder of the git repository")
	checkOnly := flags.Bool("check-only", false, "only see whether the tree may be released")
	allowDirty := flags.Bool("allow-dirty", false, "release a tree with changes that are in no commit; for trying out")
	archive := flags.String("image", "../bin/plimsoll-image.tar", "the image's archive")
	list := flags.String("sbom", "../bin/plimsoll.spdx.json", "the SPDX document")
	to := flags.String("to", "../dist", "the folder to put dist/<version> in")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	tree, err := treeOf(ctx, *repository)
	if err != nil {
		return err
	}
	if err := tree.clean(); err != nil && !*allowDirty {
		return err
	}
	if *checkOnly {
		return nil
	}
	parts, version, err := partsOf(flags.Args(), *archive, *list, tree.commit)
	if err != nil {
		return err
	}
	folder, err := gather(*to, version, parts)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, folder)
	if !tagged(version) {
		fmt.Fprintf(out,
			"  %s is no tag: this is for trying out. To release, tag the commit (git tag -a v1.2.3) and do it again\n", version)
	}
	return nil
}
