package migrate

import (
	"fmt"
	"slices"
	"strings"
)

// variable is one of the container's, as far as a person has to know it.
type variable struct {
	name string
	// value is empty where the variable is read from somewhere else, and from says
	// from where.
	value, from string
}

// readBy are the variables that decide what a provider sees, by the beginnings of
// their names.
var readBy = map[string][]string{
	"aws":        {"AWS_"},
	"clusterapi": {"CAPI_"},
	"mcm":        {"CONTROL_", "TARGET_"},
	"kwok":       {"KWOK_", "POD_NAMESPACE"},
}

// ofThePod are flags that name files, which are there in the pod alone.
var ofThePod = []string{"cloud-config", "price-file"}

// trial is how a person tries a translation from where kubectl works: a command
// line, and what must be set before it does the same as in the pod. namespace is
// that of the lease where no flag names it; empty: not known.
func trial(line commandLine, env []variable, namespace string) []string {
	provider := line.config.Cloud.Provider
	var words, set []string
	given := map[string]bool{}
	for _, v := range env {
		if !slices.ContainsFunc(readBy[provider], func(begin string) bool { return strings.HasPrefix(v.name, begin) }) {
			continue
		}
		given[v.name] = true
		switch {
		case whereItIs.MatchString(v.name) || strings.HasSuffix(v.name, "KUBECONFIG"):
			set = append(set, fmt.Sprintf("%s is a file of the pod: name yours", v.name))
		case v.from != "" && provider == "aws" && secretName.MatchString(v.name):
			// The person has credentials of their own.
		case v.from != "":
			set = append(set, fmt.Sprintf("%s, which the pod has from %s", v.name, v.from))
		default:
			words = append(words, v.name+"="+quoted(v.value))
		}
	}
	set = append(set, access(provider, given)...)
	words = append(words, "plimsoll run --mode=observe")
	named := false
	for _, f := range line.kept {
		switch f.name {
		case "leader-elect-resource-name", "status-config-map-name":
			continue // an observer has its own
		case "address":
			continue // and so has the person
		case "kubeconfig":
			set = append(set, "--kubeconfig, or the context of kubectl: the cluster with the nodes")
			continue
		case "clusterapi-cloud-config-authoritative":
			set = append(set, "KUBECONFIG: the management cluster, since the pod is in it")
		case "namespace":
			named = true
		}
		if slices.Contains(ofThePod, f.name) {
			set = append(set, fmt.Sprintf("%s is a file of the pod: name yours", f))
		}
		for _, ref := range reference.FindAllString(f.resolved, -1) {
			set = append(set, fmt.Sprintf("what %s is in the pod, in place of it", ref))
		}
		f.value = f.resolved
		words = append(words, quoted(f.String()))
	}
	if !named {
		if namespace != "" {
			words = append(words, "--namespace="+quoted(namespace))
		} else {
			set = append(set, "--namespace, where the Cluster Autoscaler's lease is not in kube-system")
		}
	}
	out := []string{fmt.Sprintf("observe first: with --mode=observe Plimsoll says what it would do, and writes nothing "+
		"of yours (%sobserve.md); from where kubectl works: %s", docs, strings.Join(words, " "))}
	if len(set) > 0 {
		out = append(out, "that command needs beside it: "+strings.Join(set, "; "))
	}
	return out
}

// access is what a person needs to be let in, which the pod has by its account or
// its node.
func access(provider string, given map[string]bool) []string {
	switch provider {
	case "aws":
		out := []string{"AWS credentials that may read the groups (autoscaling:Describe*, ec2:Describe*, " +
			"ec2:GetInstanceTypesFromInstanceRequirements, eks:DescribeNodegroup; " + docs + "aws.md#rights)"}
		if !given["AWS_REGION"] && !given["AWS_DEFAULT_REGION"] {
			out = append(out, "AWS_REGION, the region of the groups")
		}
		return out
	case "mcm":
		var out []string
		for _, k := range []struct{ name, what string }{
			{"CONTROL_KUBECONFIG", "the control cluster, with the MachineDeployments"},
			{"TARGET_KUBECONFIG", "the shoot"},
		} {
			if !given[k.name] {
				out = append(out, fmt.Sprintf("%s: a kubeconfig of %s", k.name, k.what))
			}
		}
		return out
	}
	return nil
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"'$&|;<>()*?[]{}~#!`\\") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
