package migrate

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	// secretName finds variables and flags that hold a secret by their names. A name
	// too many is a reference too many, which is told; one too few is a secret in a
	// file that goes into version control.
	secretName = regexp.MustCompile(`(?i)(secret|passw|token|credential|access[-_.]?key|private[-_.]?key|api[-_.]?key|passphrase|bearer|[-_.]pwd([-_.]|$)|(^|[-_.])(auth|pat)([-_.]|$))`)
	// whereItIs ends the names of those that only say in which file it is.
	whereItIs = regexp.MustCompile(`(?i)[-_.](file|path|dir)$`)
	// secretValue finds secrets by their form: keys of AWS, and private keys.
	secretValue = regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY`)
	// withPassword finds addresses that have a password in them, by themselves or in a
	// list: with a scheme, where a password may be written as no address allows it, or
	// without one, as proxies and databases are often given.
	withPassword = regexp.MustCompile(`//[^@\n]*:[^@\n]+@|(^|[\s,;=])[^/@\s]*:[^/@\s]+@`)
	// aReference is a value that is nothing but another variable.
	aReference = regexp.MustCompile(`^\$\([-._a-zA-Z][-._a-zA-Z0-9]*\)$`)
)

// confidential tells whether a variable's or a flag's value must not be shown.
func confidential(name, value string) bool {
	if value == "" || aReference.MatchString(value) {
		return false
	}
	if secretValue.MatchString(value) || secretName.MatchString(name) && !whereItIs.MatchString(name) {
		return true
	}
	// A password that is only references is no secret, and must stay where it is: the
	// kubelet fills in $(NAME) in a value, and not in what comes from a Secret.
	return withPassword.MatchString(reference.ReplaceAllString(value, ""))
}

// intoSecret is what to do with a variable whose value is not written out.
func intoSecret(where, value, secret, key, provider string) string {
	note := fmt.Sprintf("%s has a secret written out, which is not repeated here: it is read from the key %s of the "+
		"Secret %s now; make that before", where, key, secret)
	if reference.MatchString(value) {
		note += ", with what each $(NAME) stands for written out: in what comes from a Secret, the kubelet fills in nothing"
	}
	if provider == "aws" {
		note += ", or take the variable out and give the service account a role (IRSA)"
	}
	return note
}

// withoutSecrets makes references of all secrets that are written out in the
// variables of a Deployment's containers, and says so. What else is in the object
// stays.
func withoutSecrets(o map[string]any, provider string) ([]string, error) {
	secret := (&unstructured.Unstructured{Object: o}).GetName() + "-env"
	taken := map[string]string{}
	var out []string
	for _, list := range []string{"initContainers", "containers"} {
		containers, _, err := unstructured.NestedSlice(o, "spec", "template", "spec", list)
		if err != nil {
			return nil, fmt.Errorf("spec.template.spec.%s: %w", list, err)
		}
		for i := range containers {
			container, _ := containers[i].(map[string]any) // deploymentOf has read it
			env, _ := container["env"].([]any)
			for j := range env {
				variable, _ := env[j].(map[string]any)
				name, _ := variable["name"].(string)
				value, _ := variable["value"].(string)
				if !confidential(name, value) {
					continue
				}
				key := name
				if other, ok := taken[key]; ok && other != value {
					key = fmt.Sprintf("%v.%s", container["name"], name)
				}
				taken[key] = value
				delete(variable, "value")
				variable["valueFrom"] = map[string]any{"secretKeyRef": map[string]any{"name": secret, "key": key}}
				out = append(out,
					intoSecret(fmt.Sprintf("spec.template.spec.%s[%d].env[%d] (%s)", list, i, j, name), value, secret, key, provider))
			}
		}
		if len(containers) == 0 {
			continue
		}
		if err := unstructured.SetNestedSlice(o, containers, "spec", "template", "spec", list); err != nil {
			return nil, fmt.Errorf("spec.template.spec.%s: %w", list, err)
		}
	}
	return out, nil
}
