package kwok

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// load finds the templates: the file that is named, else the ConfigMap form if
// there is one, else the nodes of the cluster. It only reads.
func load(ctx context.Context, client kubernetes.Interface, cfg Config) (source, error) {
	if cfg.TemplatesPath != "" {
		return loadFile(cfg.TemplatesPath)
	}
	if cfg.Namespace != "" {
		src, found, err := loadConfigMap(ctx, client, cfg)
		if err != nil || found {
			return src, err
		}
	}
	r := rules{
		ofCluster: true,
		suffix:    clusterSuffix,
		keys:      []nameKey{{key: labelGKEPool}, {key: labelEKSGroup}},
	}
	if cfg.GroupLabelKey != "" {
		r.keys = append(r.keys, nameKey{key: cfg.GroupLabelKey, required: true})
	}
	return loadCluster(ctx, client, r)
}

func loadFile(path string) (source, error) {
	name := "template file " + path
	data, err := os.ReadFile(path)
	if err != nil {
		return source{}, fmt.Errorf("read the %s (named by %s): %w", name, envTemplatesPath, err)
	}
	nodes, err := parseTemplates(name, data)
	src := source{name: name, nodes: nodes}
	if err != nil && len(nodes) > 0 {
		// What could be read is validated as well, so that all mistakes are reported at once.
		_, _, more := buildGroups(src)
		err = errors.Join(err, more)
	}
	if err != nil {
		return source{}, err
	}
	return src, nil
}

// loadConfigMap returns false if there is no such ConfigMap and none was configured.
func loadConfigMap(ctx context.Context, client kubernetes.Interface, cfg Config) (source, bool, error) {
	maps := client.CoreV1().ConfigMaps(cfg.Namespace)
	name := fmt.Sprintf("ConfigMap %s/%s", cfg.Namespace, cfg.configMap())
	configured, err := maps.Get(ctx, cfg.configMap(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) && cfg.configMap() == defaultConfigMap {
		return source{}, false, nil
	}
	if err != nil {
		by := ""
		if cfg.ConfigMapName != "" {
			by = fmt.Sprintf(" (named by %s)", envConfigMap)
		}
		hint := ""
		if errors.As(err, new(*url.Error)) {
			hint = "; is that the address of the API server, and can this machine reach it?"
		}
		return source{}, false, fmt.Errorf("read the %s%s: %w%s", name, by, err, hint)
	}
	text, ok := configured.Data[configMapConfigKey]
	if !ok {
		return source{}, false, fmt.Errorf("%s: data.%s: missing", name, configMapConfigKey)
	}
	parsed, err := parseConfigMap(name+": data."+configMapConfigKey, text)
	if err != nil {
		return source{}, false, err
	}
	if parsed.ReadNodesFrom == fromCluster {
		src, err := loadCluster(ctx, client, parsed.rules(true))
		return src, true, err
	}

	templatesName := fmt.Sprintf("ConfigMap %s/%s", cfg.Namespace, parsed.ConfigMap.Name)
	templates, err := maps.Get(ctx, parsed.ConfigMap.Name, metav1.GetOptions{})
	if err != nil {
		return source{}, false, fmt.Errorf("read the templates' %s (named by configmap.name in %s): %w",
			templatesName, name, err)
	}
	text, ok = templates.Data[configMapNodesKey]
	if !ok {
		return source{}, false, fmt.Errorf("%s: data.%s: missing", templatesName, configMapNodesKey)
	}
	nodes, err := parseTemplates(templatesName, []byte(text))
	if err != nil {
		return source{}, false, err
	}
	return source{name: templatesName, nodes: nodes, rules: parsed.rules(false)}, true, nil
}

func loadCluster(ctx context.Context, client kubernetes.Interface, r rules) (source, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return source{}, fmt.Errorf("list the cluster's nodes as templates: %w", err)
	}
	src := source{name: "the cluster", rules: r}
	for i := range list.Items {
		node := &list.Items[i]
		src.nodes = append(src.nodes, template{where: fmt.Sprintf("node %q", node.Name), node: node})
	}
	return src, nil
}
