package migrate

import (
	goflag "flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

var rewrite = goflag.Bool("rewrite", false, "write the golden files, and the table of values in docs/migrate.md")

var settings = Settings{File: "in.yaml", DefaultImage: "example.com/plimsoll:v1", Providers: providers.All()}

// TestTranslate checks the translation of each file of testdata, and that what its notes say can be followed.
func TestTranslate(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got, both := asGolden(t, file)
			noSecrets(t, both)
			pagesExist(t, both)
			trialRuns(t, got.Notes.Next[1:]) // the first is about the image
		})
	}
}

// asGolden translates a file, and wants the notes and the text, both, to be those of the golden file beside it.
func asGolden(t *testing.T, file string) (got Result, both string) {
	t.Helper()
	got, err := Translate(readFile(t, file), settings)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.TrimSuffix(got.Notes.Text(strings.Clone), "\n")
	both = "# " + strings.ReplaceAll(notes, "\n", "\n# ") + "\n" + string(got.Text)
	golden := strings.TrimSuffix(file, ".yaml") + ".golden"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(both), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Split(string(readFile(t, golden)), "\n")
	if diff := cmp.Diff(want, strings.Split(both, "\n")); diff != "" {
		t.Errorf("-rewrite writes it (-want +got):\n%s", diff)
	}
	return got, both
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// noSecrets checks that none of the secrets among the tests' inputs is in a text.
func noSecrets(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{"hunter2", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI"} {
		if strings.Contains(text, secret) {
			t.Errorf("a secret is repeated:\n%s", text)
		}
	}
}

// pagesExist checks that notes name pages by their addresses, since a user who has only the binary has no folder
// docs, and that these pages are there.
func pagesExist(t *testing.T, text string) {
	t.Helper()
	pages := strings.Split(text, docs)
	if len(pages) < 3 || strings.Contains(strings.Join(pages, ""), "docs/") {
		t.Error("a page is named by its path, or few are named at all")
	}
	for _, after := range pages[1:] {
		name := after[:strings.IndexAny(after, "# );,\n")]
		if _, err := os.Stat(filepath.Join("..", "..", "docs", name)); err != nil {
			t.Error(err)
		}
	}
}

// trialRuns checks that the command that observes has flags that a run takes without a warning, and the region where
// the provider needs one; and that what is a file of the pod, or only known in the cluster, is said beside it.
func trialRuns(t *testing.T, next []string) {
	t.Helper()
	_, command, _ := strings.Cut(next[0], "from where kubectl works: ")
	env, flags, ok := strings.Cut(command, "plimsoll run ")
	if !ok {
		t.Fatalf("no command in %q", next[0])
	}
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	bound := config.Bind(set, settings.Providers)
	bound.BindMode()
	if err := set.Parse(strings.Fields(flags)); err != nil {
		t.Fatalf("%s: %v", flags, err)
	}
	c, warnings, err := bound.Config()
	if err != nil || len(warnings) > 0 || !set.Changed("mode") {
		t.Errorf("%s: %v, %v", flags, err, warnings)
	}
	beside := ""
	if strings.HasPrefix(next[1], "that command needs") {
		beside = next[1]
	}
	asked := strings.Contains(beside, "AWS_REGION")
	if c.Cloud.Provider == "aws" && strings.Contains(env, "AWS_REGION=") == asked {
		t.Errorf("the region is neither there nor asked for, or both: %s\n%s", env, beside)
	}
	path := set.Lookup("cloud-config").Value.String()
	if path != "" && !strings.Contains(beside, path+" is a file of the pod") {
		t.Errorf("%s is a file of the pod, and it is not said: %s", path, beside)
	}
	if !set.Changed("namespace") && !strings.Contains(beside, "--namespace") {
		t.Errorf("the namespace is neither there nor asked for: %s\n%s", flags, beside)
	}
}

// examples are inputs of one kind, and what must be true of what becomes of them.
type examples struct {
	Pieces   map[string]string
	Examples []struct {
		Name string
		// Release is the namespace of the release, and Image the one that is named.
		Release, Image string
		// The input is some pieces, In, and what is replaced in them: old and new by turns. Each is what stands for
		// EACH, one after the other, and Command for COMMAND in the piece deployment.
		Of            []string
		In, Command   string
		Replace, Each []string
		// Has and Lacks are texts of the translation, Says (exactly once) and Silent of its notes, and Fails of the
		// error. Grants has a resource for each role that grants it; none: the role is not there.
		Has, Lacks, Says, Silent, Fails []string
		Grants                          map[string]string
	}
}

// TestExamples translates what is in testdata/examples.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "examples", "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		var all examples
		if err := yaml.UnmarshalStrict(readFile(t, file), &all); err != nil {
			t.Fatal(err)
		}
		for _, e := range all.Examples {
			var in strings.Builder
			for _, name := range e.Of {
				piece, ok := all.Pieces[name]
				if name == "deployment" {
					piece, ok = strings.Replace(deployment, "COMMAND", e.Command, 1), true
				}
				if !ok {
					t.Errorf("%s: no piece %q", e.Name, name)
				}
				in.WriteString(piece)
			}
			text := strings.NewReplacer(e.Replace...).Replace(in.String() + e.In)
			if len(e.Each) == 0 {
				e.Each = []string{"EACH"}
			}
			for _, each := range e.Each {
				t.Run(filepath.Base(file)+"/"+e.Name, func(t *testing.T) {
					s := settings
					s.Namespace, s.Image = e.Release, e.Image
					got, err := Translate([]byte(strings.ReplaceAll(text, "EACH", each)), s)
					if len(e.Fails) > 0 {
						refused(t, got, err, e.Fails)
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					notes := got.Notes.Text(strings.Clone)
					noSecrets(t, string(got.Text)+notes)
					count(t, string(got.Text), e.Has, 1, 1000)
					count(t, string(got.Text), e.Lacks, 0, 0)
					count(t, notes, e.Says, 1, 1)
					count(t, notes, e.Silent, 0, 0)
					granted(t, got.Text, e.Grants)
				})
			}
		}
	}
}

// deployment is a small one.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: ca, namespace: kube-system}
spec:
  selector: {matchLabels: {app: ca}}
  template:
    metadata: {labels: {app: ca}}
    spec:
      containers:
      - {name: ca, image: example.com/cluster-autoscaler:v1, command: [COMMAND]}
---
`

// count checks how often each of some texts is in another.
func count(t *testing.T, text string, wants []string, least, most int) {
	t.Helper()
	for _, want := range wants {
		if n := strings.Count(text, want); n < least || n > most {
			t.Errorf("%q is there %d times, want %d to %d, in\n%s", want, n, least, most, text)
		}
	}
}

// refused checks that an error says some texts, that each line of it names the file, and that nothing else comes out.
func refused(t *testing.T, got Result, err error, says []string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error:\n%s%s", got.Notes, got.Text)
	}
	if len(got.Text) > 0 || got.Notes.Text(strings.Clone) != "" {
		t.Errorf("something came out with the error %v", err)
	}
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, "in.yaml: ") && !strings.HasPrefix(line, "  line ") {
			t.Errorf("the error does not name the file: %s", line)
		}
	}
	count(t, err.Error(), says, 1, 1000)
	noSecrets(t, err.Error())
}

// granted checks which roles are in a translation, and that each grants a resource.
func granted(t *testing.T, text []byte, want map[string]string) {
	t.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for document := range strings.SplitSeq(string(text), "---\n") {
		var r rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &r); err != nil {
			t.Fatal(err)
		}
		roles[r.Kind+" "+strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")] = r.Rules
	}
	for role, resource := range want {
		rules, there := roles[role]
		has := slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) })
		if there != (resource != "") || there != has {
			t.Errorf("%s: want it to grant %q:\n%s", role, resource, text)
		}
	}
}

// TestWhichContainer: the container that runs the autoscaler is found, not one that only names it.
func TestWhichContainer(t *testing.T) {
	const nanny = "{name: nanny, image: example.com/addon-resizer:1.8, command: [/pod_nanny], args: [ARGS]}"
	const ca = "{name: ca, image: registry.example.com:5000/cluster-autoscaler:v1, command: [./cluster-autoscaler]}"
	const other = "{name: a, image: a}"
	for name, c := range map[string]struct {
		containers []string
		want       int
	}{
		"a flag's value":               {[]string{strings.Replace(nanny, "ARGS", "--deployment=kube-system/cluster-autoscaler", 1), ca}, 1},
		"a flag's value, in two words": {[]string{strings.Replace(nanny, "ARGS", "--target, deployment/cluster-autoscaler", 1), ca}, 1},
		"a name, in two words":         {[]string{strings.Replace(nanny, "ARGS", "--deployment, cluster-autoscaler", 1), ca}, 1},
		"only spoken of":               {[]string{strings.Replace(nanny, "ARGS", "--target, deployment/cluster-autoscaler", 1)}, -1},
		"by args":                      {[]string{other, "{name: b, image: b, args: [/usr/bin/cluster-autoscaler, --v=4]}"}, 1},
		"by the image":                 {[]string{"{name: a, image: a/cluster-autoscaler-exporter:v1}", "{name: b, image: 'r:5000/cluster-autoscaler:v1@sha256:0', args: [--v=4]}"}, 1},
		"by the image, in a shell":     {[]string{other, "{name: b, image: x/cluster-autoscaler, command: [sh, -c, exec ./cluster-autoscaler]}"}, 1},
		"by an image of one's own":     {[]string{other, "{name: b, image: x/cluster-autoscaler-arm64:v1, args: [--v=4]}"}, 1},
		"in a wrapper":                 {[]string{other, "{name: b, image: b, command: [/wrapper, cluster-autoscaler]}"}, 1},
		"in a shell":                   {[]string{other, "{name: b, image: b, command: [sh, -c, ./cluster-autoscaler --v=4]}"}, 1},
		"by nothing":                   {[]string{other}, -1},
	} {
		var d appsv1.Deployment
		text := "spec: {template: {spec: {containers: [" + strings.Join(c.containers, ", ") + "]}}}"
		if err := yaml.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if got := autoscaler(&d); got != c.want {
			t.Errorf("%s: container %d, want %d", name, got, c.want)
		}
	}
}

// TestConfidential: a value is a secret by its name, unless that only says in which file it is, or by its form.
func TestConfidential(t *testing.T) {
	const secret = `AWS_SECRET_ACCESS_KEY=x AWS_SESSION_TOKEN=x AWS_ACCESS_KEY_ID=x DB_PASSWORD=x db_passwd=x github-token=x
		API_KEY=x CLIENT_SECRET=x MYSQL_PWD=x REGISTRY_AUTH=x DOCKER_AUTH_CONFIG={} GITHUB_PAT=x github-pat=x BEARER=x
		API_BEARER=x HTTPS_PROXY=http://user:pass@proxy:3128 HTTPS_PROXY=http://us%er:pass@proxy:3128
		HTTPS_PROXY=http://user:pa/ss@proxy:3128 HTTPS_PROXY=user:s3cret@proxy:3128 HTTPS_PROXY=//user:s3cret@proxy:3128
		PROXIES=http://proxy:3128/a,user:s3cret@proxy:3128 PROXIES=https=http://user:s3cret@proxy:3128
		DSN=user:s3cret@tcp(db:3306)/prod URL=postgres://u:$(PW)@h,postgres://u:s3cret@h URL=postgres://u:s3cret$(PW)@h
		URL=postgres://u:$$(PW)@h URL=postgres://u:s3cret@$(HOST) PLAIN=AKIAIOSFODNN7EXAMPLE
		DB_PASS=x SMTP_PW=x ENCRYPTION_KEY=x ENCRYPTIONKEY=x KEY=x SIGNING_KEY_2=x COOKIE=x SESSION_COOKIE=x AUTHORIZATION=x JWT=x
		SLACK_WEBHOOK=x WEBHOOK_URL=https://h/x HOOK=https://hooks.slack.com/services/T0/B0/x GITHUB=ghp_abcdefABCDEF012345
		GITHUB=gho_abcdefABCDEF012345 GITHUB=github_pat_abcdef_ABCDEF GITLAB=glpat-abc-DEF012 SLACK=xoxb-12-ab SLACK=xoxp-12-ab
		PLAIN=eyJhbGciOiJI.eyJzdWIiOiIx.abc URL=https://h/?user=a&password=b`
	const shown = `PWD=/work COMMIT_AUTHOR=x SIGNING_AUTHORITY=x cluster-authoritative=true GITHUB_PAT_FILE=/etc/x
		SCAN_PATTERN=x AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/token SECRET_PATH=/etc/x AWS_SECRET_ACCESS_KEY=
		AWS_SECRET_ACCESS_KEY=$(FROM_ELSEWHERE) AWS_REGION=eu-west-1 AWS_ROLE_ARN=arn:aws:iam::1:role/a
		HTTPS_PROXY=http://proxy:3128 HTTPS_PROXY=http://user@proxy:3128 HTTPS_PROXY=user@proxy:3128 HTTPS_PROXY=proxy:3128
		REPOSITORY=git@example.com:a/b AWS_ROLE_ARN=arn:aws:iam::1:role/a@example.com IMAGE=example.com/a:v1@sha256:0123
		URL=postgres://u:$(PW)@h URL=u:$(PW)@h URL=postgres://$(USER):$(PW)@$(HOST):$(PORT)/prod
		URL=$(SCHEME)://$(USER):$(PW)@h KWOK_GROUP_LABEL_KEY=rack TAINT_KEY=a TOPOLOGY_KEY=zone SSH_PUBLIC_KEY=x gpu-tag-key=a
		BYPASS=true PASS_THROUGH=true KEYBOARD=de MONKEY=x KMS_KEY_ID=x WEBHOOK_PORT=9443 ENABLE_WEBHOOKS=true KEY_FILE=/etc/x
		COMPASS=x AUTHORIZATION_MODE=RBAC NAME=xoxo-cluster`
	check := func(text string, want bool) {
		if name, value, _ := strings.Cut(text, "="); confidential(name, value) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
	for text := range strings.FieldsSeq(secret) {
		check(text, true)
	}
	for _, text := range []string{
		"PLAIN=-----BEGIN RSA PRIVATE KEY-----\nx", "AUTHORIZATION=Basic dTpw",
		"HEADER=Bearer abc.def", "HEADER=Authorization: basic dTpw",
		"DSN=user=u password=hunter2 host=h", "DSN=user=u password = 'hunter2'", "DSN=user=u password=$(A)hunter2",
		"CONN=Server=h;Uid=u;Pwd=hunter2;", "CONN=AccountName=a;AccountKey=abc==", `JSON={"client_secret": "x"}`,
	} {
		check(text, true)
	}
	for _, text := range []string{
		"DSN=user=u password=$(PW) host=h", "CONN=Server=h;Pwd=$(PW);Encrypt=true", "HEADER=Bearer $(TOKEN)", "TIER=Basic",
		"NOTE=the basic settings", `JSON={"password": "$(PW)"}`,
	} {
		check(text, false)
	}
	for text := range strings.FieldsSeq(shown) {
		check(text, false)
	}
}
