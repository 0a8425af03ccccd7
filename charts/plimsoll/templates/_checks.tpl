{{/*
What no schema can say in words that help. Each is refused here rather than found out by a
pod that does not start, or by nodes that are gone.
*/}}
{{- define "plimsoll.check" -}}
{{- $v := .Values -}}
{{- if not (or $v.cloudProvider $v.controllers.eksAnywhere.enabled $v.controllers.gardener.enabled) -}}
{{- fail "\nSay where the nodes come from: --set cloudProvider=aws (or clusterapi, gardener, kwok)." -}}
{{- end -}}
{{- if and (eq $v.cloudProvider "aws") (not (or $v.nodeGroups $v.autoDiscovery.clusterName $v.autoDiscovery.tags (include "plimsoll.flag" (list . "nodes")) (include "plimsoll.flag" (list . "node-group-auto-discovery")))) -}}
{{- fail "\nSay which Auto Scaling groups are this cluster's: --set autoDiscovery.clusterName=<the cluster's name in EKS> finds them by the tags that EKS puts on them. Without it, groups of other clusters in the account would be meant as well, and their instances taken for nodes that never came up." -}}
{{- end -}}
{{- if and (eq $v.cloudProvider "clusterapi") (ne $v.clusterAPIMode "incluster-incluster") (not $v.clusterAPIKubeconfigSecret) -}}
{{- fail (printf "\nclusterAPIMode %s reaches a cluster by a kubeconfig: say in which Secret of namespace %s it is, --set clusterAPIKubeconfigSecret=<cluster>-kubeconfig." $v.clusterAPIMode .Release.Namespace) -}}
{{- end -}}
{{- if and (eq $v.clusterAPIMode "kubeconfig-kubeconfig") (ne (dir $v.clusterAPIWorkloadKubeconfigPath) (dir $v.clusterAPICloudConfigPath)) -}}
{{- fail "\nclusterAPIWorkloadKubeconfigPath and clusterAPICloudConfigPath are in different folders: both are files of the one Secret clusterAPIKubeconfigSecret, which is mounted once." -}}
{{- end -}}
{{- if and (gt (int $v.replicaCount) 1) (include "plimsoll.flagIsOff" (list . "leader-elect")) -}}
{{- fail "\nextraArgs.leader-elect=false with several replicas: all of them would act. Set replicaCount to 1, or leave the flag out." -}}
{{- end -}}
{{- if and $v.ui.tlsSecret (not (include "plimsoll.pagePort" .)) -}}
{{- fail "\nui.tlsSecret: only a page that other machines reach has a certificate. Set ui.address to :8443, or leave the Secret out." -}}
{{- end -}}
{{- if eq (include "plimsoll.pagePort" .) "8085" -}}
{{- fail "\nui.address: port 8085 is that of the metrics and of health. Take another one, such as 8443." -}}
{{- end -}}
{{- if and $v.config (include "plimsoll.flag" (list . "config")) -}}
{{- fail "\nconfig and extraArgs.config: there can be one configuration file. Write all of it into config, or leave it out." -}}
{{- end -}}
{{- $instead := dict "mode" "mode" "cloud" "cloudProvider, autoDiscovery, nodeGroups" "cluster" "env, clusterAPIMode, gardener" "leaderElection" "extraArgs" "serving" "extraArgs" "page" "ui" -}}
{{- range $field, $value := $instead -}}
{{- if hasKey $v.config $field -}}
{{- fail (printf "\nconfig.%s: rights and ports of this chart follow its own values. Set %s in its place." $field $value) -}}
{{- end -}}
{{- end -}}
{{- if and $v.prices (include "plimsoll.flag" (list . "price-file")) -}}
{{- fail "\nprices and extraArgs.price-file: there can be one file of prices. Write all of them into prices, or leave it out." -}}
{{- end -}}
{{- if include "plimsoll.flag" (list . "leader-elect-resource-namespace") -}}
{{- fail "\nextraArgs.leader-elect-resource-namespace: the rights of this chart are for the Lease in the release's namespace, and no replica would ever lead. Leave the flag out." -}}
{{- end -}}
{{- end -}}
