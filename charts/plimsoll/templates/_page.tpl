{{/* The port of the page, where other machines may reach it: every request authenticates there.
Nothing where the page is the pod's own, or there is none. */}}
{{- define "plimsoll.pagePort" -}}
{{- $address := .Values.ui.address -}}
{{- if and $address (not (regexMatch `^(?i)(127(\.[0-9]+){3}|localhost|\[::1\]):` $address)) -}}
{{- splitList ":" $address | last -}}
{{- end -}}
{{- end -}}
