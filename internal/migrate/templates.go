package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// anyText are values in which braces may be: their chart copies them as they are, and
// they mean something to somebody else; or they are not in the translation.
var anyText = []string{"awsAccessKeyID", "awsSecretAccessKey", "expanderPriorities", "extraEnv", "image.repository",
	"image.tag", "podAnnotations"}

// templates refuses values that only Helm can fill in. In some of them their chart
// does that; in the others the Cluster Autoscaler got the braces themselves, which
// nobody can have meant. No value is shown: it may be a secret.
func (v *values) templates(raw map[string]any) {
	for _, c := range theirChart {
		if c.instead != "" || slices.Contains(anyText, c.path) || !c.isFor(v.ours.CloudProvider) {
			continue
		}
		var value any = raw
		for field := range strings.SplitSeq(c.path, ".") {
			fields, _ := value.(map[string]any)
			value = fields[field]
		}
		v.templatesIn(c.path, value)
	}
}

func (v *values) templatesIn(path string, value any) {
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(path, "autoDiscovery.tags[") {
			value = ofCluster(value, "")
		}
		if strings.Contains(value, "{{") {
			v.wrong(path, "it is a template that only Helm can fill in: write what it stands for")
		}
	case []any:
		for i, one := range value {
			v.templatesIn(fmt.Sprintf("%s[%d]", path, i), one)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			v.templatesIn(path+"."+name, value[name])
		}
	}
}

// ofCluster fills in the one template that their chart's defaults have.
func ofCluster(text, clusterName string) string {
	for _, form := range []string{"{{ .Values.autoDiscovery.clusterName }}", "{{.Values.autoDiscovery.clusterName}}"} {
		text = strings.ReplaceAll(text, form, clusterName)
	}
	return text
}
