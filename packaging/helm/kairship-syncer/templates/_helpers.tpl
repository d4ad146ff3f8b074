{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- define "syncer.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "syncer.fullname" -}}
{{- $name := include "syncer.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* Of what has no namespace: two releases may have one name. */ -}}
{{- define "syncer.role" -}}
{{ .Release.Namespace }}:{{ include "syncer.fullname" . }}
{{- end }}

{{- define "syncer.selector" -}}
app.kubernetes.io/name: {{ include "syncer.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "syncer.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "syncer.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "syncer.image" -}}
{{- $i := .Values.image }}
{{- $where := required "image.repository is needed: where docs/image.md has put the image" $i.repository }}
{{- if $i.digest }}
{{- printf "%s@%s" $where $i.digest }}
{{- else }}
{{- printf "%s:%s" $where (default .Chart.AppVersion $i.tag) }}
{{- end }}
{{- end }}
