package world

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

// kwokGroupAnnotation is on every node that the kwok provider makes.
const kwokGroupAnnotation = "cluster-autoscaler.kwok.nodegroup/name"

// kwokRights are what the kwok provider needs beside Plimsoll's own.
//
//go:embed kwok-provider.yaml
var kwokRights []byte

// Kwok is the world in which Plimsoll makes the nodes itself, by a file of node
// templates.
func Kwok(templates string) World {
	return World{Objects: kwokRights, Cloud: autoscaler.Kwok(templates)}
}

// readKwok leaves the form of the templates to Plimsoll, which names the file where
// it finds it wrong.
func readKwok(file string) (Maker, error) {
	if file == "" {
		return func(plane *controlplane.ControlPlane) (World, error) {
			path := filepath.Join(plane.DataDir(), "templates.yaml")
			if err := os.WriteFile(path, autoscaler.DefaultTemplates, 0o600); err != nil {
				return World{}, fmt.Errorf("write the default templates: %w", err)
			}
			return Kwok(path), nil
		}, nil
	}
	readable, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	return func(*controlplane.ControlPlane) (World, error) { return Kwok(file), nil }, readable.Close()
}
