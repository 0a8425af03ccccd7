package migrate

import "regexp"

var (
	// secretName finds variables and flags that hold a secret by their names. A name
	// too many is a reference too many, which is told; one too few is a secret in a
	// file that goes into version control.
	secretName = regexp.MustCompile(`(?i)(secret|passw|token|credential|access[-_.]?key|private[-_.]?key|api[-_.]?key|` +
		`passphrase|bearer|cookie|jwt|[-_.]pwd([-_.]|$)|(^|[-_.])(auth|pat)([-_.]|$)|(^|[-_.])(pass|pw|authorization)$|` +
		`webhook([-_.]ur[il])?$|(^|[-_.]|encryption|signing|account)key([-_.]?[0-9]+)?$)`)
	// labelKey ends the names of those whose key is the name of something, or is public.
	labelKey = regexp.MustCompile(`(?i)(label|taint|toleration|annotation|tag|topology|group|sort|public)[-_.]?key$`)
	// whereItIs ends the names of those that only say in which file it is.
	whereItIs = regexp.MustCompile(`(?i)[-_.](file|path|dir)$`)
	// secretValue finds secrets by their form: keys of AWS, private keys, tokens of GitHub, GitLab and Slack, webhooks
	// of Slack, and signed tokens (JWT).
	secretValue = regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY|` +
		`\b(gh[opsru]_|github_pat_|glpat-)\w|\bxox[abeprs]-|\bhooks\.slack\.com/services/|` +
		`\beyJ[-\w]+\.eyJ[-\w]+\.`)
	// namedInside finds secrets that have a name inside the value: in the settings of a connection, in a query, in JSON,
	// or behind the scheme of an Authorization header. unknownText stands for each $(NAME).
	namedInside = regexp.MustCompile(`(?i)(\b|_)(password|passwd|pwd|secret|token|auth|(account|access)[-_]?key)["']?\s*[=:]\s*` +
		`[^\s;&,]*[^\s;&,"'}` + unknownText + `]|(^|[:=]\s*)(basic|bearer)\s+[^\s` + unknownText + `]{4}`)
	// withPassword finds addresses that have a password in them, by themselves or in a
	// list: with a scheme, where a password may be written as no address allows it, or
	// without one, as proxies and databases are often given.
	withPassword = regexp.MustCompile(`//[^@\n]*:[^@\n]+@|(^|[\s,;=])[^/@\s]*:[^/@\s]+@`)
	// aReference is a value that is nothing but another variable.
	aReference = regexp.MustCompile(`^\$\([-._a-zA-Z][-._a-zA-Z0-9]*\)$`)
)

// unknownText stands for a reference where a secret is looked for: it is no part of one.
const unknownText = "\x00"

// confidential reports whether a variable's or a flag's value must not be shown.
func confidential(name, value string) bool {
	if value == "" || aReference.MatchString(value) {
		return false
	}
	named := secretName.MatchString(name) && !labelKey.MatchString(name) && !whereItIs.MatchString(name)
	if named || secretValue.MatchString(value) {
		return true
	}
	// A password that is only references is no secret, and must stay where it is: the
	// kubelet fills in $(NAME) in a value, and not in what comes from a Secret.
	return namedInside.MatchString(reference.ReplaceAllString(value, unknownText)) ||
		withPassword.MatchString(reference.ReplaceAllString(value, ""))
}
