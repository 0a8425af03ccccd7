{{/*
Which clusters are reached as the pod's own service account. The workload cluster has the
nodes, the Lease and the status ConfigMap; the management cluster has the machines, and on
aws and kwok there is none. A cluster that is reached by a kubeconfig has rights of its
own, which this release cannot give. Each gives "true" or nothing.
*/}}
{{- define "plimsoll.workloadIsLocal" -}}
{{- $v := .Values -}}
{{- if eq $v.cloudProvider "clusterapi" -}}
{{- if hasPrefix "incluster-" $v.clusterAPIMode }}true{{ end -}}
{{- else if eq $v.cloudProvider "gardener" -}}
{{- if not $v.gardener.targetKubeconfigSecret }}true{{ end -}}
{{- else if $v.cloudProvider -}}
true
{{- end -}}
{{- end -}}

{{- define "plimsoll.managementIsLocal" -}}
{{- $v := .Values -}}
{{- if eq $v.cloudProvider "clusterapi" -}}
{{- if hasSuffix "-incluster" $v.clusterAPIMode }}true{{ end -}}
{{- else if eq $v.cloudProvider "gardener" -}}
{{- if not $v.gardener.controlKubeconfigSecret }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* The namespace of the Lease and the ConfigMaps, on the workload's side. */}}
{{- define "plimsoll.workloadNamespace" -}}
{{- if include "plimsoll.workloadIsLocal" . -}}
{{- .Release.Namespace -}}
{{- else if eq .Values.cloudProvider "clusterapi" -}}
{{- .Values.clusterAPIConfigMapsNamespace | default "kube-system" -}}
{{- else -}}
kube-system
{{- end -}}
{{- end -}}

{{- define "plimsoll.gardenerNamespace" -}}
{{- .Values.gardener.namespace | default .Release.Namespace -}}
{{- end -}}

{{- define "plimsoll.observes" -}}
{{- if eq .Values.mode "observe" }}true{{ end -}}
{{- end -}}

{{/* The names follow the flags that change them. */}}
{{- define "plimsoll.leaseName" -}}
{{- $given := include "plimsoll.flag" (list . "leader-elect-resource-name") -}}
{{- if include "plimsoll.observes" . -}}
{{- ternary (printf "%s-observe" $given) "plimsoll-observe" (not (empty $given)) -}}
{{- else -}}
{{- $given | default "cluster-autoscaler" -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll.statusName" -}}
{{- $given := include "plimsoll.flag" (list . "status-config-map-name") -}}
{{- if include "plimsoll.observes" . -}}
{{- ternary (printf "%s-observe" $given) "plimsoll-observe-status" (not (empty $given)) -}}
{{- else -}}
{{- $given | default "cluster-autoscaler-status" -}}
{{- end -}}
{{- end -}}
