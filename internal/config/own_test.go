package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A flag of one provider says so with every other one; and none is forgotten.
func TestFlagsOfOneProvider(t *testing.T) {
	values := map[string]string{
		"aws-template-precedence": "eks-api", "aws-nodegroup-cache-ttl": "2m", "aws-describe-all-nodegroups": "true", "aws-max-pods": "eni",
		"aws-kube-reserved": "eks", "aws-use-static-instance-list": "true", "cloud-config": "file", "clusterapi-cloud-config-authoritative": "true",
		"mcm-sizing": "Equitable", "mcm-deletion-marker": "names", "mcm-require-available": "false", "control-apiserver-qps": "5",
		"control-apiserver-burst": "5", "kwok-keep-nodes": "true",
	}
	all := pflag.NewFlagSet("run", pflag.ContinueOnError)
	Bind(all, everyProvider)
	all.VisitAll(func(f *pflag.Flag) {
		for _, prefix := range []string{"aws-", "clusterapi-", "mcm-", "kwok-", "control-apiserver-"} {
			if strings.HasPrefix(f.Name, prefix) && values[f.Name] == "" {
				t.Errorf("--%s is of one provider, and this test does not know it", f.Name)
			}
		}
	})
	for _, own := range ownFlags {
		for _, name := range own.flags {
			for _, provider := range everyProvider {
				if provider == "gardener" {
					continue // mcm by another name
				}
				set := pflag.NewFlagSet("run", pflag.ContinueOnError)
				flags := Bind(set, everyProvider)
				if err := set.Parse([]string{"--cloud-provider=" + provider, "--" + name + "=" + values[name]}); err != nil {
					t.Fatal(err)
				}
				_, warnings, err := flags.Config()
				if err != nil {
					t.Errorf("--%s with %s: %v", name, provider, err)
				}
				told := slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "--"+name+" has no effect") })
				if told != (provider != own.provider) {
					t.Errorf("--%s with %s: warnings %v", name, provider, warnings)
				}
			}
		}
	}
}
