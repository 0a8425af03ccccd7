package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
	"github.com/plimsoll-dev/plimsoll/internal/cli"
)

// gardenerCommand is for what concerns Gardener's shoots and needs no cluster.
func gardenerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gardener",
		Short: "Look at a Gardener shoot's worker pools; needs no cluster",
		Example: `  plimsoll gardener validate -f shoot.yaml
  plimsoll gardener render -f shoot.yaml
  kubectl get shoot shop -n garden-dev -o yaml | plimsoll gardener validate -f -`,
	}
	return withCommands(cmd, gardenerRenderCommand(), gardenerValidateCommand())
}

// shootFile is a Shoot in a file, and what the command line says of it.
type shootFile struct {
	name        string
	technicalID string
	existing    []string
}

func (f *shootFile) bind(set *pflag.FlagSet) {
	set.StringVarP(&f.name, "filename", "f", "", "the file with the Shoot, YAML or JSON; -: standard input")
	set.StringVar(&f.technicalID, "technical-id", "",
		"the namespace of the shoot's control plane; none: the Shoot's status.technicalID, else shoot--<project>--<name>")
	set.StringSliceVar(&f.existing, "existing", nil,
		"pools that there are already, so that they are only warned of what new ones are refused for; without a value: all")
	set.Lookup("existing").NoOptDefVal = "*"
}

// read reads and checks the Shoot.
func (f *shootFile) read(stdin io.Reader) (v1beta1.Shoot, string, pools.Findings, error) {
	fail := func(err error) (v1beta1.Shoot, string, pools.Findings, error) {
		return v1beta1.Shoot{}, "", pools.Findings{}, err
	}
	if f.name == "" {
		return fail(misusef("--filename (-f) is missing: which file has the Shoot?"))
	}
	text, err := f.content(stdin)
	if err != nil {
		return fail(fmt.Errorf("read the Shoot: %w", err))
	}
	shoot, findings, err := pools.ParseShoot(text)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", f.name, err))
	}
	id := f.technicalID
	if id == "" {
		if id, err = pools.TechnicalID(shoot); err != nil {
			return fail(fmt.Errorf("%s: which namespace has the control plane? %w: say it with --technical-id", f.name, err))
		}
	}
	existing := func(pool string) bool { return slices.Contains(f.existing, "*") || slices.Contains(f.existing, pool) }
	return shoot, id, findings.And(pools.ValidateShoot(shoot, id, existing)), nil
}

func (f *shootFile) content(stdin io.Reader) ([]byte, error) {
	if f.name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(f.name)
}

// tell writes findings line by line, each with its file.
func (f *shootFile) tell(w io.Writer, findings pools.Findings) {
	for _, e := range findings.Errors {
		cli.Tell(w, f.name+": error", e.Error())
	}
	for _, warning := range findings.Warnings {
		cli.Tell(w, f.name+": warning", fmt.Sprint(warning))
	}
}

// invalid is the error for a Shoot with this number of errors; nil for none.
func (f *shootFile) invalid(findings pools.Findings) error {
	switch n := len(findings.Errors); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s has an error", f.name)
	default:
		return fmt.Errorf("%s has %d errors", f.name, n)
	}
}

func gardenerValidateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Say what is wrong with a Shoot's worker pools and autoscaler, by field; exit code 1 if something is",
		Example: `  plimsoll gardener validate -f shoot.yaml
  plimsoll gardener validate -f shoot.yaml --existing=old-pool
  kubectl get shoot shop -n garden-dev -o yaml | plimsoll gardener validate -f -`,
		Args: onlyFlags,
	}
	var file shootFile
	file.bind(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, _, findings, err := file.read(cmd.InOrStdin())
		if err != nil {
			return err
		}
		file.tell(cmd.OutOrStdout(), findings)
		if err := file.invalid(findings); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: valid\n", file.name)
		return nil
	}
	return cmd
}

func gardenerRenderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Print the machine deployments and the autoscaler's Deployment that a Shoot leads to",
		Example: `  plimsoll gardener render -f shoot.yaml
  plimsoll gardener render -f shoot.yaml --technical-id=shoot--dev--shop
  plimsoll gardener render -f shoot.yaml --machine-class=shoot--p--s-a-z1=shoot--p--s-a-z1-5af3c`,
		Args: onlyFlags,
	}
	var file shootFile
	var image pools.Image
	set := cmd.Flags()
	file.bind(set)
	set.StringVar(&image.Name, "image", defaultImage(), "the image of the autoscaler")
	set.StringVar(&image.KubeconfigSecret, "kubeconfig-secret", "generic-token-kubeconfig",
		"the Secret with the kubeconfig for the shoot; on a seed its name ends in a hash")
	classes := set.StringToString("machine-class", nil,
		"the machine class of a machine deployment, if it is not called the same")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		shoot, id, findings, err := file.read(cmd.InOrStdin())
		if err != nil {
			return err
		}
		file.tell(cmd.ErrOrStderr(), findings)
		if err := file.invalid(findings); err != nil {
			return err
		}
		text, err := rendered(shoot, id, *classes, image)
		if err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	return cmd
}

// rendered is all that a Shoot leads to as one text, or nothing.
func rendered(shoot v1beta1.Shoot, namespace string, named map[string]string, image pools.Image) ([]byte, error) {
	c, classes := pools.FromShoot(shoot, namespace), maps.Clone(named)
	var objects []any
	for _, z := range c.Zones() {
		class, ok := classes[z.Name()]
		if !ok {
			class = z.Name()
		}
		delete(classes, z.Name())
		objects = append(objects, z.Render(class))
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		return nil, fmt.Errorf("--machine-class names %s, and there is no such machine deployment", name)
	}
	deployment, err := runtime.DefaultUnstructuredConverter.ToUnstructured(
		new(pools.Deployment(c, shoot.Spec.Kubernetes.ClusterAutoscaler, image)),
	)
	if err != nil {
		return nil, fmt.Errorf("render the autoscaler's Deployment: %w", err)
	}
	delete(deployment, "status")
	unstructured.RemoveNestedField(deployment, "spec", "strategy") // empty: the API server's default
	objects = append(objects, deployment)

	var out bytes.Buffer
	for i, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("render as JSON: %w", err)
		}
		text, err := yaml.JSONToYAML(raw)
		if err != nil {
			return nil, fmt.Errorf("render as YAML: %w", err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}
