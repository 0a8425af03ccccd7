{{/* A flag per line. */}}
{{- define "plimsoll.args" -}}
{{- $v := .Values -}}
- run
- --cloud-provider={{ $v.cloudProvider }}
- --namespace={{ include "plimsoll.workloadNamespace" . }}
- --address=:8085
{{- if ne $v.ui.address "127.0.0.1:8086" }}
- {{ printf "--ui-address=%s" $v.ui.address | quote }}
{{- end }}
{{- if and $v.ui.tlsSecret (include "plimsoll.pagePort" .) }}
- --ui-tls-cert-file=/etc/plimsoll/ui/tls.crt
- --ui-tls-private-key-file=/etc/plimsoll/ui/tls.key
{{- end }}
{{- if $v.config }}
- --config=/etc/plimsoll/config/plimsoll.yaml
{{- end }}
{{- if $v.prices }}
- --price-file=/etc/plimsoll/prices/prices.yaml
{{- end }}
{{- if include "plimsoll.observes" . }}
- --mode=observe
{{- end }}
{{- with include "plimsoll.discovery" . }}
- --node-group-auto-discovery={{ . }}
{{- end }}
{{- range $v.nodeGroups }}
- --nodes={{ int .min }}:{{ int .max }}:{{ .name }}
{{- end }}
{{- if eq $v.cloudProvider "clusterapi" }}
{{- if has $v.clusterAPIMode (list "incluster-kubeconfig" "kubeconfig-kubeconfig") }}
- --cloud-config={{ $v.clusterAPICloudConfigPath }}
{{- end }}
{{- if not (include "plimsoll.workloadIsLocal" .) }}
- --kubeconfig={{ $v.clusterAPIWorkloadKubeconfigPath }}
{{- end }}
{{- if eq $v.clusterAPIMode "kubeconfig-incluster" }}
- --clusterapi-cloud-config-authoritative
{{- end }}
{{- end }}
{{- if and (or $v.prometheusRule.enabled $v.dashboards.enabled) (not (include "plimsoll.flag" (list . "emit-per-nodegroup-metrics"))) }}
- --emit-per-nodegroup-metrics
{{- end }}
{{- range include "plimsoll.extraFlags" . | fromJsonArray }}
{{- if .bare }}
- --{{ .name }}
{{- else }}
- {{ printf "--%s=%s" .name .value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "plimsoll.discovery" -}}
{{- $d := .Values.autoDiscovery -}}
{{- $terms := list -}}
{{- if eq .Values.cloudProvider "aws" -}}
{{- $tags := $d.tags -}}
{{- if and $d.clusterName (not $tags) -}}
{{- $tags = list "k8s.io/cluster-autoscaler/enabled" (printf "k8s.io/cluster-autoscaler/%s" $d.clusterName) -}}
{{- end -}}
{{- if $tags }}asg:tag={{ join "," $tags }}{{ end -}}
{{- else if eq .Values.cloudProvider "clusterapi" -}}
{{- if $d.clusterName }}{{ $terms = append $terms (printf "clusterName=%s" $d.clusterName) }}{{ end -}}
{{- if $d.namespace }}{{ $terms = append $terms (printf "namespace=%s" $d.namespace) }}{{ end -}}
{{- range $k, $l := $d.labels }}{{ $terms = append $terms (printf "%s=%s" $k $l) }}{{ end -}}
{{- if $terms }}clusterapi:{{ join "," $terms }}{{ end -}}
{{- else if eq .Values.cloudProvider "gardener" -}}
{{- if $d.clusterName }}{{ $terms = append $terms (printf "k8s.io/cluster-autoscaler/%s" $d.clusterName) }}{{ end -}}
{{- range $k, $l := $d.labels }}{{ $terms = append $terms (printf "%s=%s" $k $l) }}{{ end -}}
{{- if $terms }}mcm:{{ join "," $terms }}{{ end -}}
{{- end -}}
{{- end -}}
