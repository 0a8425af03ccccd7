{{/* A controller that stands beside the autoscaler: the same image, one replica, a Lease of
its own. Takes a dict: root, component, args, resources. */}}
{{- define "plimsoll.controller" -}}
{{- $root := .root -}}
{{- $name := printf "%s-%s" (include "plimsoll.fullname" $root) .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "plimsoll.labels" (list $root .component) | nindent 4 }}
spec:
  replicas: 1
  selector:
    matchLabels:
      {{- include "plimsoll.selector" (list $root .component) | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "plimsoll.labels" (list $root .component) | nindent 8 }}
    spec:
      serviceAccountName: {{ $name }}
      {{- with $root.Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "plimsoll.podSecurity" . | nindent 8 }}
      containers:
      - name: controller
        image: {{ include "plimsoll.image" (list $root.Values.image $root.Chart.AppVersion) }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        command: [/plimsoll]
        args:
        {{- range .args }}
        - {{ . | quote }}
        {{- end }}
        ports:
        - {name: metrics, containerPort: 8080}
        - {name: health, containerPort: 8081}
        livenessProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 20
        readinessProbe:
          httpGet: {path: /readyz, port: health}
          periodSeconds: 10
        securityContext:
          {{- include "plimsoll.containerSecurity" . | nindent 10 }}
        {{- with .resources }}
        resources:
          {{- toYaml . | nindent 10 }}
        {{- end }}
      {{- with $root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}

{{- define "plimsoll.controllerAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "plimsoll.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "plimsoll.labels" (list .root .component) | nindent 4 }}
{{- end -}}

{{/* The Lease of a controller, whose name the program knows. Takes a dict: root,
component, lease. */}}
{{- define "plimsoll.controllerLeaseRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "plimsoll.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "plimsoll.labels" (list .root .component) | nindent 4 }}
rules:
# A right to create cannot be narrowed to one name.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .lease }}]
  verbs: [get, update]
# An event about the Lease says who leads. One process never sends it twice.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end -}}
