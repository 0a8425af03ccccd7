package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/migrate"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// defaultImage is what a Deployment runs where nothing else is said. Values leave
// it to the chart.
func defaultImage() string { return "ghcr.io/plimsoll-dev/plimsoll:" + imageTag() }

// imageTag is the version as images have it.
func imageTag() string { return strings.TrimPrefix(version, "v") }

// imageForm is how an image is named: registry and port, path, tag, digest.
var imageForm = regexp.MustCompile(`^([a-zA-Z0-9][-.a-zA-Z0-9]*(:[0-9]+)?/)?[a-z0-9][-._a-z0-9]*(/[a-z0-9][-._a-z0-9]*)*` +
	`(:[\w][-.\w]{0,127})?(@[a-z0-9]+:[0-9a-fA-F]{32,})?$`)

func migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Translate what runs a Cluster Autoscaler or Karpenter; needs no cluster, and changes nothing",
		Long: `Translate a Cluster Autoscaler's Deployment or Helm values into Plimsoll's, or Karpenter's NodePools and node
classes into a configuration file and a list of node groups to create. Needs no cluster, and changes nothing.

The translation goes to standard output, and what differs, with what to do next, to standard error.`,
		Example: `  plimsoll migrate -f deployment.yaml > plimsoll.yaml
  helm get values cluster-autoscaler -n kube-system -o yaml | plimsoll migrate -f - --namespace=kube-system > values.yaml
  kubectl get nodepools.v1.karpenter.sh,ec2nodeclasses -o yaml | plimsoll migrate -f - > configuration.yaml
  kubectl -n kube-system get deployment cluster-autoscaler -o yaml | plimsoll migrate -f - --image=registry.example.com/plimsoll:v1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misusef("%s is not read: name the file with -f, as in plimsoll migrate -f %[1]s", args[0])
			}
			return nil
		},
	}
	var files []string
	var image, namespace string
	flags := cmd.Flags()
	flags.StringArrayVarP(&files, "filename", "f", nil,
		"file with manifests, values of the Cluster Autoscaler's chart, or NodePools, packed or not; -: standard input")
	flags.StringVar(&image, "image", "", "Plimsoll's image (default: the chart's, and in a Deployment "+defaultImage()+")")
	flags.StringVarP(&namespace, "namespace", "n", "",
		"for values: namespace of the Cluster Autoscaler's release, unless extraArgs.namespace names one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(files) > 1 {
			return misusef("--filename (-f) is given %d times: migrate reads one file; put what belongs together into one, "+
				"as kubectl get nodepools.v1.karpenter.sh,ec2nodeclasses -o yaml prints it", len(files))
		}
		file := strings.Join(files, "")
		if file == "" {
			return misusef("--filename (-f) is missing: " +
				"the file with the Cluster Autoscaler's Deployment or Helm values, or Karpenter's NodePools")
		}
		if image != "" && !imageForm.MatchString(image) {
			return misusef("--image=%q is no image: want it as registry.example.com/plimsoll:v1", image)
		}
		if bad := validation.IsDNS1123Label(namespace); namespace != "" && len(bad) > 0 {
			return misusef("--namespace=%q is no namespace: %s", namespace, strings.Join(bad, "; "))
		}
		if info, err := os.Stat(file); file != "-" && err == nil && info.IsDir() {
			return fmt.Errorf("read what to migrate: %s is a folder: give one file, with all of its documents", file)
		}
		in, name, err := clusterfile.Open(file, cmd.InOrStdin())
		if err != nil {
			return fmt.Errorf("read what to migrate: %w", err)
		}
		defer in.Close()
		text, err := io.ReadAll(in)
		if err != nil {
			return fmt.Errorf("read what to migrate: %s: %w", name, err)
		}
		result, err := migrate.Translate(text, migrate.Settings{
			Image: image, DefaultImage: defaultImage(), Providers: providers.All(), File: name, Namespace: namespace,
		})
		if err != nil {
			return err
		}
		if _, err := io.Copy(cmd.OutOrStdout(), bytes.NewReader(result.Text)); err != nil {
			return fmt.Errorf("write the translation: %w", err)
		}
		if _, err := io.WriteString(cmd.ErrOrStderr(), result.Notes.Text(cli.Line)); err != nil {
			return fmt.Errorf("write what differs: %w", err)
		}
		return nil
	}
	return cmd
}
