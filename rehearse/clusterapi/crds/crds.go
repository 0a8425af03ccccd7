// Package crds reads the definitions that Cluster API itself ships: its
// CustomResourceDefinitions and the configurations of its webhooks. They are read
// from the files of the Cluster API module, of the very version that is linked,
// and never kept in this repository.
//
// A binary of `make build` carries them: the build copies them from the module
// into the folder upstream, which git ignores and which is embedded here. Without
// it, as in `go test` or `go build`, they are read where the compiler found the
// module's source. So only a binary that was built without make and then carried
// to another machine has none, and says so.
//
// What flows out are decoded objects, as upstream wrote them; package clusterapi
// adapts them.
package crds

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/cluster-api/core/setup"
)

const (
	basesFolder  = "core/config/crd/bases"
	webhooksFile = "core/config/webhook/manifests.yaml"

	// A source file of the module, below its root, that a function of ours stands for.
	knownFile = "/core/setup/setup.go"
)

// errNoFiles tells that the module's files are neither embedded nor where the
// compiler found them.
var errNoFiles = errors.New("the files of the Cluster API module are not in this binary; build it with `make build`")

//go:embed all:upstream
var embedded embed.FS

// Definition reads the CustomResourceDefinition of a name such as
// machines.cluster.x-k8s.io.
func Definition(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	plural, group, _ := strings.Cut(name, ".")
	data, err := read(path.Join(basesFolder, group+"_"+plural+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinition %s: %w", name, err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, definition); err != nil {
		return nil, fmt.Errorf("decode the CustomResourceDefinition %s: %w", name, err)
	}
	return definition, nil
}

// Webhooks reads the webhooks that Cluster API's manager serves, of all its kinds.
func Webhooks() ([]admissionregistrationv1.MutatingWebhook, []admissionregistrationv1.ValidatingWebhook, error) {
	data, err := read(webhooksFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read the webhooks of Cluster API: %w", err)
	}
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("decode the webhooks of Cluster API: %w", err)
		}
		var kind struct{ Kind string }
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, nil, fmt.Errorf("decode the webhooks of Cluster API: %w", err)
		}
		switch kind.Kind {
		case "MutatingWebhookConfiguration":
			err = yaml.UnmarshalStrict(document, &mutating)
		case "ValidatingWebhookConfiguration":
			err = yaml.UnmarshalStrict(document, &validating)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("decode the %s of Cluster API: %w", kind.Kind, err)
		}
	}
	return mutating.Webhooks, validating.Webhooks, nil
}

func read(file string) ([]byte, error) { return readFrom(embedded, moduleRoot(), file) }

// readFrom prefers what is embedded: it does not depend on the machine. Its folder
// bears the module's version, so that what an older build has left is not read.
func readFrom(embedded fs.FS, root, file string) ([]byte, error) {
	data, err := fs.ReadFile(embedded, path.Join("upstream", filepath.Base(root), file))
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	data, err = os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w (looked for %s in %s)", errNoFiles, file, root)
	}
	return data, err
}

// moduleRoot is the folder in which the compiler found the Cluster API module; its
// last part is the module's name and version.
func moduleRoot() string {
	known := runtime.FuncForPC(reflect.ValueOf(setup.ManagerClientOptions).Pointer())
	file, _ := known.FileLine(known.Entry())
	return strings.TrimSuffix(filepath.ToSlash(file), knownFile)
}
