{{/*
The flags of extraArgs, in the order of the arguments, as a JSON list of dicts: name (without
the suffix of the key), value, bare (given without a value, which for a switch is true).
Nothing else reads extraArgs: what follows a flag must follow it under each of its keys.
*/}}
{{- define "plimsoll.extraFlags" -}}
{{- $out := list -}}
{{- range $key, $given := .Values.extraArgs -}}
{{- $name := splitList "_" $key | first -}}
{{- range ternary $given (list $given) (kindIs "slice" $given) -}}
{{- if kindIs "invalid" . -}}
{{- $out = append $out (dict "name" $name "value" "true" "bare" true) -}}
{{- else -}}
{{- $out = append $out (dict "name" $name "value" (ternary . (toJson .) (kindIs "string" .)) "bare" false) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/* What extraArgs say of a flag, nothing where they do not. Of several the last counts, as
with Plimsoll itself. Takes a list of the root and the flag's name. */}}
{{- define "plimsoll.flag" -}}
{{- $name := index . 1 -}}
{{- $last := "" -}}
{{- range include "plimsoll.extraFlags" (index . 0) | fromJsonArray -}}
{{- if eq .name $name }}{{ $last = .value }}{{ end -}}
{{- end -}}
{{- $last -}}
{{- end -}}

{{/* Whether extraArgs switch a flag on, or off, in any of the spellings that Plimsoll reads.
Each takes a list of the root and the flag's name, and gives "true" or nothing. */}}
{{- define "plimsoll.flagIsOn" -}}
{{- if has (include "plimsoll.flag" .) (list "1" "t" "T" "true" "True" "TRUE") }}true{{ end -}}
{{- end -}}

{{- define "plimsoll.flagIsOff" -}}
{{- if has (include "plimsoll.flag" .) (list "0" "f" "F" "false" "False" "FALSE") }}true{{ end -}}
{{- end -}}

{{/* --scan-interval in whole seconds, rounded up. */}}
{{- define "plimsoll.scanSeconds" -}}
{{- $interval := include "plimsoll.flag" (list . "scan-interval") | default "10s" -}}
{{- if not (regexMatch `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$` $interval) -}}
{{- fail (printf "\nextraArgs.scan-interval: %q is no time. Write it as in 30s, or 1m30s." $interval) -}}
{{- end -}}
{{- $zero := toDate "2006-01-02" "1970-01-01" -}}
{{- /* One second more and one nanosecond less: up to the next whole second. */ -}}
{{- $then := $zero | mustDateModify $interval | mustDateModify "999999999ns" -}}
{{- sub (unixEpoch $then) (unixEpoch $zero) -}}
{{- end -}}
