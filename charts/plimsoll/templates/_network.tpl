{{/* Who may reach the pods of a component: only the clients that scrape its metrics or read its page. The
kubelet of their node, which probes them, always may. Where they may go is open unless it is
said: the addresses of the API server and of the cloud are known to no selector. Takes a
dict: root, component, suffix (of the name), port, and ui where there is a page for others. */}}
{{- define "plimsoll.networkPolicy" -}}
{{- $v := .root.Values.networkPolicy -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "plimsoll.fullname" .root }}{{ .suffix }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "plimsoll.labels" (list .root .component) | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "plimsoll.selector" (list .root .component) | nindent 6 }}
  policyTypes: [Ingress{{ if $v.egress }}, Egress{{ end }}]
  ingress:
  - ports:
    - {protocol: TCP, port: {{ .port }}}
    {{- if .ui }}
    - {protocol: TCP, port: ui}
    {{- end }}
    {{- with $v.from }}
    from:
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $v.egress }}
  egress:
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
