package migrate

import (
	"fmt"
	"slices"
	"strings"
)

// trial is how a person tries an installation from where kubectl works: a command line, and what must be set before it
// does the same as in the pod.
func (in *installation) trial() []string {
	words, set := in.trialEnv()
	words = append(words, "plimsoll run --mode=observe")
	named := false
	for _, f := range in.line.kept {
		switch f.name {
		case "leader-elect-resource-name", "status-config-map-name", "address":
			continue // an observer has its own, and the person another address
		case "kubeconfig":
			set = append(set, "--kubeconfig, or the context of kubectl: the cluster with the nodes")
			continue
		case "clusterapi-cloud-config-authoritative":
			set = append(set, "KUBECONFIG: the management cluster, since the pod is in it")
		case "cloud-config", "price-file":
			set = append(set, fmt.Sprintf("%s is a file of the pod: name yours", f))
		case "namespace":
			named = true
		}
		for _, ref := range reference.FindAllString(f.resolved, -1) {
			set = append(set, fmt.Sprintf("what %s is in the pod, in place of it", ref))
		}
		f.value = f.resolved
		words = append(words, quoted(f.String()))
	}
	switch {
	case named:
	case in.leaseIn != "":
		words = append(words, "--namespace="+quoted(in.leaseIn))
	default:
		set = append(set, "--namespace, where the Cluster Autoscaler's lease is not in kube-system")
	}
	out := []string{fmt.Sprintf("observe first: with --mode=observe Plimsoll says what it would do, and writes nothing "+
		"of yours (%sobserve.md); from where kubectl works: %s", docs, strings.Join(words, " "))}
	if len(set) > 0 {
		out = append(out, "that command needs beside it: "+strings.Join(set, "; "))
	}
	return out
}

// trialEnv are the variables that the provider reads, as words of a shell, and what of them a person must set.
func (in *installation) trialEnv() (words, set []string) {
	provider := in.line.provider.Name
	given := map[string]bool{}
	for _, v := range in.env {
		reads := func(begin string) bool { return strings.HasPrefix(v.Name, begin) }
		if v.other || !slices.ContainsFunc(in.line.provider.Env, reads) {
			continue
		}
		given[v.Name] = true
		value, known := v.text()
		switch {
		case whereItIs.MatchString(v.Name) || strings.HasSuffix(v.Name, "KUBECONFIG"):
			set = append(set, fmt.Sprintf("%s is a file of the pod: name yours", v.Name))
		case known:
			words = append(words, v.Name+"="+quoted(value))
		case provider == "aws" && secretName.MatchString(v.Name):
			// The person has credentials of their own.
		default:
			set = append(set, fmt.Sprintf("%s, which the pod has from %s", v.Name, v.from()))
		}
	}
	// What the pod has by its account or its node.
	switch provider {
	case "aws":
		set = append(set, "AWS credentials that may read the groups (autoscaling:Describe*, ec2:Describe*, "+
			"ec2:GetInstanceTypesFromInstanceRequirements, eks:DescribeNodegroup; "+docs+"aws.md#rights)")
		if !given["AWS_REGION"] && !given["AWS_DEFAULT_REGION"] {
			set = append(set, "AWS_REGION, the region of the groups")
		}
	case "mcm":
		if !given["CONTROL_KUBECONFIG"] {
			set = append(set, "CONTROL_KUBECONFIG: a kubeconfig of the control cluster, with the MachineDeployments")
		}
		if !given["TARGET_KUBECONFIG"] {
			set = append(set, "TARGET_KUBECONFIG: a kubeconfig of the shoot")
		}
	}
	return words, set
}
