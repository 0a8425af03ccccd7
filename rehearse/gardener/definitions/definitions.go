// Package definitions has the CustomResourceDefinitions of Gardener's
// machine-controller-manager: MachineDeployment, MachineSet, Machine and
// MachineClass of machine.sapcloud.io/v1alpha1.
//
// They are our own, with the names, subresources and structural schemas of the real
// ones as far as an autoscaler can tell: what the schema does not know is dropped by
// the API server, no field has a default, and hardly one is required. What flows in
// is whether they know the pool's limits of GEP-24, which today's do not.
//
// It imports nothing of ours. Package gardener applies them.
package definitions

import (
	"maps"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	group   = "machine.sapcloud.io"
	version = "v1alpha1"
)

// All are the four definitions. With pools a MachineDeployment's spec has
// poolMinimum and poolMaximum; without, they are pruned as any unknown field.
func All(pools bool) []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{
		machineClass(), machine(), machineSet(), machineDeployment(pools),
	}
}

func machineDeployment(pools bool) *apiextensionsv1.CustomResourceDefinition {
	spec := map[string]schema{
		"replicas":        integer(),
		"selector":        selector(),
		"template":        template(),
		"minReadySeconds": integer(),
		"strategy": object(map[string]schema{
			"type": text(),
			"rollingUpdate": object(map[string]schema{
				"maxSurge": intOrPercent(), "maxUnavailable": intOrPercent(),
			}),
			"inPlaceUpdate": object(map[string]schema{
				"maxSurge": intOrPercent(), "maxUnavailable": intOrPercent(), "orchestrationType": text(),
			}),
		}),
		"revisionHistoryLimit":         integer(),
		"paused":                       boolean(),
		"rollbackTo":                   object(map[string]schema{"revision": integer()}),
		"progressDeadlineSeconds":      integer(),
		"autoPreserveFailedMachineMax": integer(),
	}
	if pools {
		spec["poolMinimum"] = integer()
		spec["poolMaximum"] = integer()
	}
	d := definition("MachineDeployment", "machinedeployments", "mcd", map[string]schema{
		"spec": object(spec, "template"),
		"status": object(map[string]schema{
			"observedGeneration":      integer(),
			"replicas":                integer(),
			"updatedReplicas":         integer(),
			"readyReplicas":           integer(),
			"availableReplicas":       integer(),
			"preservedFailedReplicas": integer(),
			"unavailableReplicas":     integer(),
			"conditions":              conditions("lastUpdateTime", "lastTransitionTime"),
			"collisionCount":          integer(),
			"failedMachines":          list(failedMachine()),
		}),
	}, []apiextensionsv1.CustomResourceColumnDefinition{
		column("Ready", "integer", ".status.readyReplicas"),
		column("Desired", "integer", ".spec.replicas"),
		column("Up-to-date", "integer", ".status.updatedReplicas"),
		column("Available", "integer", ".status.availableReplicas"),
	})
	return withScale(d)
}

func machineSet() *apiextensionsv1.CustomResourceDefinition {
	return withScale(definition("MachineSet", "machinesets", "mcs", map[string]schema{
		"spec": object(map[string]schema{
			"replicas":                     integer(),
			"selector":                     selector(),
			"machineClass":                 class(),
			"template":                     template(),
			"minReadySeconds":              integer(),
			"autoPreserveFailedMachineMax": integer(),
		}),
		"status": object(map[string]schema{
			"replicas":                integer(),
			"fullyLabeledReplicas":    integer(),
			"readyReplicas":           integer(),
			"availableReplicas":       integer(),
			"preservedFailedReplicas": integer(),
			"observedGeneration":      integer(),
			// Its Go name is Conditions.
			"machineSetCondition":            conditions("lastTransitionTime"),
			"lastOperation":                  lastOperation(),
			"failedMachines":                 list(failedMachine()),
			"autoPreserveFailedMachineCount": integer(),
		}),
	}, []apiextensionsv1.CustomResourceColumnDefinition{
		column("Desired", "integer", ".spec.replicas"),
		column("Current", "integer", ".status.replicas"),
		column("Ready", "integer", ".status.readyReplicas"),
	}))
}

func machine() *apiextensionsv1.CustomResourceDefinition {
	return definition("Machine", "machines", "mc", map[string]schema{
		"spec": machineSpec(),
		"status": object(map[string]schema{
			"addresses":     list(object(map[string]schema{"type": text(), "address": text()})),
			"conditions":    conditions("lastHeartbeatTime", "lastTransitionTime"),
			"lastOperation": lastOperation(),
			"currentStatus": object(map[string]schema{
				"phase": text(), "timeoutActive": boolean(), "lastUpdateTime": moment(), "preserveExpiryTime": moment(),
			}),
			"lastKnownState": text(),
		}),
	}, []apiextensionsv1.CustomResourceColumnDefinition{
		column("Status", "string", ".status.currentStatus.phase"),
		column("Node", "string", ".metadata.labels.node"),
	})
}

// machineClass has its fields at the top, and no status.
func machineClass() *apiextensionsv1.CustomResourceDefinition {
	d := definition("MachineClass", "machineclasses", "mcc", map[string]schema{
		"nodeTemplate": object(map[string]schema{
			"capacity":        quantities(),
			"virtualCapacity": quantities(),
			"instanceType":    text(),
			"region":          text(),
			"zone":            text(),
			"architecture":    text(),
		}, "capacity", "instanceType", "region", "zone"),
		"provider":             text(),
		"providerSpec":         anything(),
		"secretRef":            reference(),
		"credentialsSecretRef": reference(),
	}, nil)
	served := &d.Spec.Versions[0]
	served.Schema.OpenAPIV3Schema.Required = []string{"providerSpec"}
	served.Subresources = nil
	return d
}

// machineSpec is the part that a machine and the templates of machines share.
func machineSpec() schema {
	return object(map[string]schema{
		"class":      class(),
		"providerID": text(),
		"nodeTemplate": object(map[string]schema{
			"metadata": anything(),
			"spec": object(map[string]schema{
				"podCIDR":       text(),
				"podCIDRs":      list(text()),
				"providerID":    text(),
				"unschedulable": boolean(),
				"taints": list(object(map[string]schema{
					"key": text(), "value": text(), "effect": text(), "timeAdded": moment(),
				}, "key", "effect")),
			}),
		}),
		"drainTimeout":           text(),
		"healthTimeout":          text(),
		"creationTimeout":        text(),
		"inPlaceUpdateTimeout":   text(),
		"machinePreserveTimeout": text(),
		"disableHealthTimeout":   boolean(),
		"maxEvictRetries":        integer(),
		"nodeConditions":         text(),
	})
}

func template() schema {
	return object(map[string]schema{"metadata": anything(), "spec": machineSpec()})
}

func class() schema {
	return object(map[string]schema{"apiGroup": text(), "kind": text(), "name": text()})
}

func reference() schema {
	return object(map[string]schema{"namespace": text(), "name": text()})
}

func lastOperation() schema {
	return object(map[string]schema{
		"description": text(), "errorCode": text(), "lastUpdateTime": moment(), "state": text(), "type": text(),
	})
}

func failedMachine() schema {
	return object(map[string]schema{
		"name": text(), "providerID": text(), "lastOperation": lastOperation(), "ownerRef": text(),
	})
}

// conditions are a list of them, with the times that this kind of them has.
func conditions(times ...string) schema {
	fields := map[string]schema{"type": text(), "status": text(), "reason": text(), "message": text()}
	for _, name := range times {
		fields[name] = moment()
	}
	return list(object(fields, "type", "status"))
}

func selector() schema {
	return object(map[string]schema{
		"matchLabels": mapOf(text()),
		"matchExpressions": list(object(map[string]schema{
			"key": text(), "operator": text(), "values": list(text()),
		}, "key", "operator")),
	})
}

// schema is short for what follows.
type schema = apiextensionsv1.JSONSchemaProps

func text() schema    { return schema{Type: "string"} }
func integer() schema { return schema{Type: "integer", Format: "int64"} }
func boolean() schema { return schema{Type: "boolean"} }
func moment() schema  { return schema{Type: "string", Format: "date-time", Nullable: true} }

func anything() schema {
	return schema{Type: "object", XPreserveUnknownFields: ptr.To(true)}
}

func intOrPercent() schema {
	return schema{XIntOrString: true, AnyOf: []schema{{Type: "integer"}, {Type: "string"}}}
}

func quantities() schema {
	return mapOf(schema{XIntOrString: true, AnyOf: []schema{{Type: "integer"}, {Type: "string"}}})
}

func object(fields map[string]schema, required ...string) schema {
	return schema{Type: "object", Properties: fields, Required: required}
}

func list(of schema) schema {
	return schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
}

func mapOf(value schema) schema {
	return schema{
		Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &value},
	}
}

func definition(
	kind, plural, short string, fields map[string]schema, columns []apiextensionsv1.CustomResourceColumnDefinition,
) *apiextensionsv1.CustomResourceDefinition {
	all := map[string]schema{"apiVersion": text(), "kind": text(), "metadata": {Type: "object"}}
	maps.Copy(all, fields)
	root := object(all)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind), ShortNames: []string{short},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
				AdditionalPrinterColumns: append(columns, column("Age", "date", ".metadata.creationTimestamp")),
			}},
		},
	}
}

func withScale(d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	d.Spec.Versions[0].Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{
		SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
	}
	return d
}

func column(name, kind, path string) apiextensionsv1.CustomResourceColumnDefinition {
	return apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: kind, JSONPath: path}
}
