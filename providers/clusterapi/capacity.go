package clusterapi

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The annotations that say what a node of the group will be like.
const (
	capacityPrefix = "capacity.cluster-autoscaler.kubernetes.io/"
	keyCPU         = capacityPrefix + "cpu"
	keyMemory      = capacityPrefix + "memory"
	keyDisk        = capacityPrefix + "ephemeral-disk"
	keyGPUType     = capacityPrefix + "gpu-type"
	keyGPUCount    = capacityPrefix + "gpu-count"
	keyMaxPods     = capacityPrefix + "maxPods"
	keyLabels      = capacityPrefix + "labels"
	keyTaints      = capacityPrefix + "taints"
	keyDRADriver   = capacityPrefix + "dra-driver"
	keyCSIDriver   = capacityPrefix + "csi-driver"
)

// capacity is what the annotations of a group say. What they say wrongly is in
// bad, and changes nothing else.
type capacity struct {
	resources corev1.ResourceList
	labels    map[string]string
	taints    []corev1.Taint
	// draDriver has devices of which a node has draCount.
	draDriver string
	draCount  int64
	csi       []csiLimit
	bad       []badAnnotation
}

// csiLimit is how many volumes of a driver a node takes; 0 is no limit.
type csiLimit struct {
	driver string
	limit  int32
}

func readCapacity(annotations map[string]string) capacity {
	c := capacity{resources: corev1.ResourceList{}, labels: map[string]string{}}
	say := func(key string, err error) {
		c.bad = append(c.bad, badAnnotation{key, annotations[key], err.Error()})
	}
	// 1. Plain amounts.
	for _, each := range []struct {
		key  string
		name corev1.ResourceName
	}{{
		keyCPU, corev1.ResourceCPU,
	}, {keyMemory, corev1.ResourceMemory}, {keyDisk, corev1.ResourceEphemeralStorage}, {keyMaxPods, corev1.ResourcePods}} {
		text, ok := annotations[each.key]
		if !ok {
			continue
		}
		amount, err := parseAmount(text)
		if err == nil && each.key == keyMaxPods && amount.Sign() == 0 {
			err = errors.New("would leave no room for any pod")
		}
		if err != nil {
			say(each.key, err)
			continue
		}
		c.resources[each.name] = amount
	}
	// 2. Devices: a count of a resource, or of devices of a driver.
	if text, ok := annotations[keyGPUCount]; ok {
		count, err := strconv.ParseInt(text, 10, 32)
		if err != nil || count < 0 {
			say(keyGPUCount, errors.New("is no number of devices"))
		} else if err := c.devices(annotations[keyGPUType], annotations[keyDRADriver], count); err != nil {
			say(keyGPUCount, err)
		}
	}
	// 3. Lists, of which each element stands for itself.
	for _, each := range []struct {
		key  string
		take func(string) error
	}{{keyLabels, c.label}, {keyTaints, c.taint}, {keyCSIDriver, c.csiDriver}} {
		for _, element := range elements(annotations[each.key]) {
			if err := each.take(element); err != nil {
				say(each.key, fmt.Errorf("has the element %q, which %w, so that it has no effect", element, err))
			}
		}
	}
	return c
}

func elements(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func parseAmount(text string) (resource.Quantity, error) {
	amount, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, errors.New("is no quantity such as 4, 500m or 16Gi")
	}
	if amount.Sign() < 0 {
		return resource.Quantity{}, errors.New("is less than nothing")
	}
	return amount, nil
}

// devices takes the count for a resource name, for a driver of dynamic resource
// allocation, or for both.
func (c *capacity) devices(name, driver string, count int64) error {
	if name == "" && driver == "" {
		return fmt.Errorf("counts nothing without %s or %s", keyGPUType, keyDRADriver)
	}
	if count == 0 {
		return nil
	}
	if name != "" {
		if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
			return fmt.Errorf("counts %s=%q, which is no resource name", keyGPUType, name)
		}
		c.resources[corev1.ResourceName(name)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	if driver != "" {
		if wrong := validation.IsDNS1123Subdomain(driver); len(wrong) > 0 {
			return fmt.Errorf("counts devices of %s=%q, which is no driver name", keyDRADriver, driver)
		}
		if count > resourcev1.ResourceSliceMaxDevices {
			return fmt.Errorf("counts more than the %d devices of one ResourceSlice", resourcev1.ResourceSliceMaxDevices)
		}
		c.draDriver, c.draCount = driver, count
	}
	return nil
}

func (c *capacity) label(element string) error {
	key, value, found := strings.Cut(element, "=")
	if !found {
		return errors.New("is not key=value")
	}
	if err := checkLabel(key, value); err != nil {
		return err
	}
	c.labels[key] = value
	return nil
}

func checkLabel(key, value string) error {
	if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
		return errors.New("has no valid label key: " + wrong[0])
	}
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
		return errors.New("has no valid label value: " + wrong[0])
	}
	if key == corev1.LabelHostname {
		return errors.New("is each node's own")
	}
	return nil
}

// taint reads "key=value:Effect" or "key:Effect".
func (c *capacity) taint(element string) error {
	rest, effect, found := strings.Cut(element, ":")
	if !found {
		return errors.New("is not key=value:Effect")
	}
	key, value, _ := strings.Cut(rest, "=")
	t := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	if err := checkTaint(t); err != nil {
		return err
	}
	c.taints = append(c.taints, t)
	return nil
}

func checkTaint(t corev1.Taint) error {
	if wrong := validation.IsQualifiedName(t.Key); len(wrong) > 0 {
		return errors.New("has no valid taint key: " + wrong[0])
	}
	if wrong := validation.IsValidLabelValue(t.Value); len(wrong) > 0 {
		return errors.New("has no valid taint value: " + wrong[0])
	}
	switch t.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule:
	default:
		return fmt.Errorf("has the effect %q, and not NoSchedule, NoExecute or PreferNoSchedule", t.Effect)
	}
	if passes(t.Key) {
		return errors.New("is put onto nodes and taken away again while they live")
	}
	return nil
}

// passes reports whether a taint is no property of the group: Kubernetes, Cluster
// API or an autoscaler sets and removes it on live nodes. The first is there
// until Cluster API has labelled the node, the second while a node's
// MachineDeployment is rolled out.
func passes(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || strings.Contains(key, "ClusterAutoscaler") ||
		slices.Contains([]string{"node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision",
			"node.cloudprovider.kubernetes.io/uninitialized"}, key)
}

// csiDriver reads "driver=limit"; spaces around either are no part of it.
func (c *capacity) csiDriver(element string) error {
	driver, text, found := strings.Cut(element, "=")
	driver, text = strings.TrimSpace(driver), strings.TrimSpace(text)
	if !found {
		return errors.New("is not driver=limit")
	}
	if wrong := validation.IsDNS1123Subdomain(driver); len(wrong) > 0 {
		return errors.New("has no valid driver name: " + wrong[0])
	}
	limit, err := strconv.ParseInt(text, 10, 32)
	if err != nil || limit < 0 {
		return errors.New("has no number of volumes")
	}
	if slices.ContainsFunc(c.csi, func(l csiLimit) bool { return l.driver == driver }) {
		return errors.New("names the driver once more")
	}
	c.csi = append(c.csi, csiLimit{driver, int32(limit)})
	return nil
}
