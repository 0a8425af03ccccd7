// Package chart renders the Helm chart in charts/plimsoll, and is where its tests are.
//
// In flows the chart as it lies in the repository and values for it; out flow the objects
// that Helm would send to a cluster, as YAML. Manifests turns the values in charts/plimsoll/ci
// into the plain manifests in deploy/, which cmd/manifests writes. Nothing of the product
// imports this module: it holds what is shipped beside the binary.
package chart

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

// Release is the name and the namespace that everything here is rendered with.
type Release struct{ Name, Namespace string }

// Default is where docs/install.md installs it.
var Default = Release{Name: "plimsoll", Namespace: "kube-system"}

const notes = "NOTES.txt"

// Chart is a chart that was read.
type Chart struct{ chart *chartv2.Chart }

// Load reads the chart in a folder.
func Load(folder string) (Chart, error) {
	c, err := loader.LoadDir(folder)
	if err != nil {
		return Chart{}, fmt.Errorf("read the chart in %s (is this the folder with Chart.yaml?): %w", folder, err)
	}
	return Chart{c}, nil
}

// Rendering is what a release consists of.
type Rendering struct {
	// Objects are the YAML documents by the name of their template, which is one
	// object's.
	Objects map[string]string
	// Notes is what Helm tells who has installed it.
	Notes string
}

// Render checks values against the schema and renders the chart with them.
func (c Chart) Render(release Release, values map[string]any) (Rendering, error) {
	options := common.ReleaseOptions{Name: release.Name, Namespace: release.Namespace, Revision: 1, IsInstall: true}
	top, err := util.ToRenderValues(c.chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return Rendering{}, fmt.Errorf("take values for the chart: %w", err)
	}
	files, err := engine.Render(c.chart, top)
	if err != nil {
		return Rendering{}, fmt.Errorf("render the chart: %w", err)
	}
	out := Rendering{Objects: map[string]string{}}
	for name, text := range files {
		base := path.Base(name)
		switch {
		case base == notes:
			out.Notes = text
		case strings.TrimSpace(text) != "":
			out.Objects[base] = strings.TrimSpace(text) + "\n"
		}
	}
	return out, nil
}

// order is that of a person who applies one document after the other: accounts and rights
// before what uses them. Kinds that are not named come last.
var order = []string{
	"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap", "Service",
}

// YAML is all documents in an order that can be applied.
func (r Rendering) YAML() string {
	rank := func(name string) int {
		kind := kindOf(r.Objects[name])
		if i := slices.Index(order, kind); i >= 0 {
			return i
		}
		return len(order)
	}
	names := slices.SortedFunc(maps.Keys(r.Objects), func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var documents []string
	for _, name := range names {
		documents = append(documents, r.Objects[name])
	}
	return strings.Join(documents, "---\n")
}

func kindOf(document string) string {
	for line := range strings.Lines(document) {
		if kind, ok := strings.CutPrefix(line, "kind: "); ok {
			return strings.TrimSpace(kind)
		}
	}
	return ""
}
