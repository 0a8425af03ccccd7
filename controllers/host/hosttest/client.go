package hosttest

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"
)

// Client is an API server in memory.
type Client struct {
	client.WithWatch
	// Writes are all writes in order, those that failed included: "patch" and the name
	// of the object, or the subresource alone.
	Writes []string
}

// NewClient makes a client that knows what the builder says, with these objects in
// it, each of them YAML.
func NewClient(builder *fake.ClientBuilder, objects ...string) (*Client, error) {
	for _, text := range objects {
		u, err := Parse(text)
		if err != nil {
			return nil, err
		}
		builder = builder.WithObjects(u)
	}
	c := &Client{}
	note := func(verb string, o any) {
		if named, ok := o.(interface{ GetName() string }); ok {
			verb += " " + named.GetName()
		}
		c.Writes = append(c.Writes, verb)
	}
	c.WithWatch = interceptor.NewClient(builder.Build(), interceptor.Funcs{
		Apply: func(
			ctx context.Context, to client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			note("apply", o)
			return to.Apply(ctx, o, opts...)
		},
		Create: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			note("create", o)
			return to.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			note("update", o)
			return to.Update(ctx, o, opts...)
		},
		Patch: func(
			ctx context.Context, to client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
		) error {
			note("patch", o)
			return to.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			note("delete", o)
			return to.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(
			ctx context.Context, to client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			note(sub, nil)
			return to.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	return c, nil
}

// Parse reads one object of YAML.
func Parse(text string) (*unstructured.Unstructured, error) {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read an object of a test: %w", err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("read an object of a test (does it have apiVersion and kind?): %w", err)
	}
	return u, nil
}
