package migrate

import "regexp"

var (
	// secretName finds variables and flags that hold a secret by their names. A name
	// too many is a reference too many, which is told; one too few is a secret in a
	// file that goes into version control.
	secretName = regexp.MustCompile(`(?i)(secret|passw|token|credential|access[-_.]?key|private[-_.]?key|api[-_.]?key|` +
		`passphrase|bearer|[-_.]pwd([-_.]|$)|(^|[-_.])(auth|pat)([-_.]|$))`)
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

// confidential reports whether a variable's or a flag's value must not be shown.
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
