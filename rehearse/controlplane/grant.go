package controlplane

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/rehearse/pki"
)

const (
	plimsollAccount = "plimsoll"

	// As long as the certificates: the token is gone with the rehearsal.
	plimsollTokenSeconds = 365 * 24 * 60 * 60
)

// The manifests are the rights beyond Kubernetes' own roles that every rehearsal
// gives; package world has those of its worlds.
//
//go:embed manifests/*.yaml
var manifests embed.FS

// grant creates the roles of the kwok controller and of Plimsoll, and writes
// Plimsoll's kubeconfig, with a token of its service account.
func (c *ControlPlane) grant(ctx context.Context) error {
	for _, name := range []string{"manifests/kwok.yaml", "manifests/plimsoll.yaml"} {
		objects, err := manifests.ReadFile(name)
		if err != nil {
			return fmt.Errorf("grant rights: %w", err)
		}
		if err := c.Create(ctx, objects); err != nil {
			return fmt.Errorf("grant the rights in %s: %w", name, err)
		}
	}
	token, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).CreateToken(ctx, plimsollAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: ptr.To[int64](plimsollTokenSeconds),
		}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("request a token of Plimsoll's service account: %w", err)
	}
	return c.secrets.writeKubeconfig(c.PlimsollKubeconfig(), pki.Identity{
		User: plimsollAccount, Token: token.Status.Token,
	})
}

// Create creates every object of YAML documents, as the administrator.
func (c *ControlPlane) Create(ctx context.Context, objects []byte) error {
	client, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		return fmt.Errorf("make the client that creates objects: %w", err)
	}
	decoder := yamlutil.NewYAMLOrJSONDecoder(bytes.NewReader(objects), 4<<10)
	for {
		var object unstructured.Unstructured
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if len(object.Object) == 0 {
			continue // a document of comments
		}
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		// The API server says that it is ready shortly before it has made the system
		// namespaces.
		err := poll(ctx, "create "+object.GetKind()+" "+object.GetName(), func() (bool, error) {
			_, err := client.Resource(resource).Namespace(object.GetNamespace()).Create(ctx, &object, metav1.CreateOptions{})
			return apierrors.IsNotFound(err), err
		})
		if err != nil {
			return err
		}
	}
}
