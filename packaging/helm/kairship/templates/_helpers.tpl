{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- define "kairship.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kairship.fullname" -}}
{{- $name := include "kairship.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "kairship.selector" -}}
app.kubernetes.io/name: {{ include "kairship.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kairship.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "kairship.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kairship.image" -}}
{{- $i := .Values.image }}
{{- $where := required "image.repository is needed: where docs/image.md has put the image" $i.repository }}
{{- if $i.digest }}
{{- printf "%s@%s" $where $i.digest }}
{{- else }}
{{- printf "%s:%s" $where (default .Chart.AppVersion $i.tag) }}
{{- end }}
{{- end }}

{{- /* The name of the Service, as this cluster's pods know it. */ -}}
{{- define "kairship.host" -}}
{{ include "kairship.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "kairship.advertise" -}}
{{- default (printf "%s:%v" (include "kairship.host" .) .Values.service.port) .Values.server.advertise }}
{{- end }}

{{- /* The name that clients are told, where the port is the listener's: in its own pod it is near, without detours. */ -}}
{{- define "kairship.nearby" -}}
{{- $told := include "kairship.advertise" . }}
{{- $name := trimSuffix (printf ":%v" .Values.service.port) $told }}
{{- if regexMatch "^[A-Za-z0-9.-]*[A-Za-z][A-Za-z0-9.-]*$" $name }}
{{- $name }}
{{- end }}
{{- end }}

{{- define "kairship.syncerArgs" -}}
{{- with .Values.syncers }}
{{- if ne .mode "push" }}
- --syncer-mode
- {{ .mode }}
{{- end }}
{{- if eq .mode "pull" }}
- --syncer-image
- {{ default (include "kairship.image" $) .image | quote }}
{{- with .server }}
- --syncer-server
- {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Of every pod: what the Pod Security Standard "restricted" asks for. */ -}}
{{- define "kairship.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "kairship.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "kairship.podMeta" -}}
labels:
  {{- include "kairship.selector" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  kairship.io/config: {{ toYaml .root.Values.config | sha256sum | trunc 16 | quote }} # other options are another pod
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "kairship.configMount" -}}
- name: config
  mountPath: /etc/kairship/kairship.yaml
  subPath: kairship.yaml
  readOnly: true
{{- end }}

{{- define "kairship.configVolume" -}}
- name: config
  configMap:
    name: {{ include "kairship.fullname" . }}
{{- end }}

{{- /* enableServiceLinks: a Service would set variables that begin with KAIRSHIP_, which are options of the program. */ -}}
{{- define "kairship.podSpec" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "kairship.podSecurity" . | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
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
{{- end }}
