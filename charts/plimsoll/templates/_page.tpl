{{/* The port of the page, where other machines may reach it: every request authenticates there.
Nothing where the page is the pod's own, or there is none. */}}
{{- define "plimsoll.pagePort" -}}
{{- $address := .Values.ui.address -}}
{{- if and $address (not (regexMatch `^(?i)(127(\.[0-9]+){3}|localhost|\[::1\]):` $address)) -}}
{{- splitList ":" $address | last -}}
{{- end -}}
{{- end -}}

{{/* The pod's own name: by it the autoscaler finds out whether it shares its node's network, where it serves no page
on the loopback. What env has already is left to it. */}}
{{- define "plimsoll.ownName" -}}
{{- $given := list }}
{{- range .Values.env }}{{ $given = append $given .name }}{{ end }}
{{- range $name, $field := dict "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" }}
{{- if not (has $name $given) }}
- name: {{ $name }}
  valueFrom: {fieldRef: {fieldPath: {{ $field }}}}
{{- end }}
{{- end }}
{{- end }}
