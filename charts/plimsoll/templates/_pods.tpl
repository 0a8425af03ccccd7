{{- define "plimsoll.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "plimsoll.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Two replicas on one node are lost together: unless something is said, they are kept
apart where that is possible. */}}
{{/* Where Go begins to collect garbage harder: seven eighths of the memory limit, in MiB; empty where there is no limit in Mi or Gi. */}}
{{- define "plimsoll.goMemoryLimit" -}}
{{- $memory := toString (dig "limits" "memory" "" (.Values.resources | default dict)) -}}
{{- if regexMatch "^[1-9][0-9]*Gi$" $memory -}}
{{ div (mul (atoi (trimSuffix "Gi" $memory)) 1024 7) 8 }}MiB
{{- else if regexMatch "^[1-9][0-9]*Mi$" $memory -}}
{{ div (mul (atoi (trimSuffix "Mi" $memory)) 7) 8 }}MiB
{{- end -}}
{{- end -}}

{{- define "plimsoll.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
{{- else if not .Values.affinity }}
topologySpreadConstraints:
- topologyKey: kubernetes.io/hostname
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "plimsoll.selector" (list . "autoscaler") | nindent 6 }}
{{- end }}
{{- end -}}
