{{/* What those who scrape /metrics of a component ask. Each takes a dict: root, component,
suffix (of the name), port (its name), and the Service its number, with the one of the page (ui), if others reach it. */}}
{{- define "plimsoll.service" -}}
# For those who scrape /metrics{{ if .ui }}, and those who look at the page{{ end }}. Nothing else calls Plimsoll.
apiVersion: v1
kind: Service
metadata:
  name: {{ include "plimsoll.fullname" .root }}{{ .suffix }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "plimsoll.labels" (list .root .component) | nindent 4 }}
spec:
  ports:
  - {name: {{ .port }}, port: {{ .number }}, targetPort: {{ .port }}}
  {{- with .ui }}
  - {name: ui, port: {{ . }}, targetPort: ui}
  {{- end }}
  selector:
    {{- include "plimsoll.selector" (list .root .component) | nindent 4 }}
{{- end -}}

{{- define "plimsoll.serviceMonitor" -}}
{{- $v := .root.Values.serviceMonitor -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "plimsoll.fullname" .root }}{{ .suffix }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "plimsoll.labels" (list .root .component) | nindent 4 }}
    {{- with $v.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "plimsoll.selector" (list .root .component) | nindent 6 }}
  endpoints:
  - port: {{ .port }}
    path: /metrics
    interval: {{ $v.interval }}
{{- end -}}
