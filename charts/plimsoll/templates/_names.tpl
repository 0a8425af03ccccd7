{{- define "plimsoll.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{/* The release's name alone where it says already what this is. */}}
{{- define "plimsoll.fullname" -}}
{{- $name := include "plimsoll.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 43 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 43 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 43 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll.serviceAccount" -}}
{{- if .Values.rbac.serviceAccount.create -}}
{{- .Values.rbac.serviceAccount.name | default (include "plimsoll.fullname" .) -}}
{{- else -}}
{{- .Values.rbac.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* Selectors cannot be changed later: only what never changes is in them. Takes a list
of the root and the component. */}}
{{- define "plimsoll.selector" -}}
app.kubernetes.io/name: {{ include "plimsoll.name" (index . 0) }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "plimsoll.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{ include "plimsoll.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{- end -}}

{{/* Takes the values of an image, and the tag where they have none. */}}
{{- define "plimsoll.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default (index . 1)) -}}
{{- end -}}
{{- end -}}
