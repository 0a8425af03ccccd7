package migrate

import (
	"strings"
	"testing"
)

// TestConfidential: by name, unless it only says in which file; by form, whatever
// the name.
func TestConfidential(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"AWS_SECRET_ACCESS_KEY", "x", true},
		{"AWS_SESSION_TOKEN", "x", true},
		{"AWS_ACCESS_KEY_ID", "x", true},
		{"DB_PASSWORD", "x", true},
		{"db_passwd", "x", true},
		{"github-token", "x", true},
		{"API_KEY", "x", true},
		{"CLIENT_SECRET", "x", true},
		{"MYSQL_PWD", "x", true},
		{"PWD", "/work", false},
		{"REGISTRY_AUTH", "x", true},
		{"DOCKER_AUTH_CONFIG", "{}", true},
		{"COMMIT_AUTHOR", "x", false},
		{"SIGNING_AUTHORITY", "x", false},
		{"cluster-authoritative", "true", false},
		{"GITHUB_PAT", "x", true},
		{"github-pat", "x", true},
		{"GITHUB_PAT_FILE", "/etc/x", false},
		{"SCAN_PATTERN", "x", false},
		{"BEARER", "x", true},
		{"API_BEARER", "x", true},
		{"AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token", false},
		{"SECRET_PATH", "/etc/x", false},
		{"AWS_SECRET_ACCESS_KEY", "", false},
		{"AWS_SECRET_ACCESS_KEY", "$(FROM_ELSEWHERE)", false},
		{"AWS_REGION", "eu-west-1", false},
		{"AWS_ROLE_ARN", "arn:aws:iam::1:role/a", false},
		{"HTTPS_PROXY", "http://proxy:3128", false},
		{"HTTPS_PROXY", "http://user:pass@proxy:3128", true},
		{"HTTPS_PROXY", "http://us%er:pass@proxy:3128", true},
		{"HTTPS_PROXY", "http://user:pa/ss@proxy:3128", true},
		{"HTTPS_PROXY", "http://user@proxy:3128", false},
		{"HTTPS_PROXY", "user:s3cret@proxy:3128", true},
		{"HTTPS_PROXY", "//user:s3cret@proxy:3128", true},
		{"HTTPS_PROXY", "user@proxy:3128", false},
		{"HTTPS_PROXY", "proxy:3128", false},
		{"PROXIES", "http://proxy:3128/a,user:s3cret@proxy:3128", true},
		{"PROXIES", "https=http://user:s3cret@proxy:3128", true},
		{"DSN", "user:s3cret@tcp(db:3306)/prod", true},
		{"REPOSITORY", "git@example.com:a/b", false},
		{"AWS_ROLE_ARN", "arn:aws:iam::1:role/a@example.com", false},
		{"IMAGE", "example.com/a:v1@sha256:0123", false},
		{"URL", "postgres://u:$(PW)@h", false},
		{"URL", "u:$(PW)@h", false},
		{"URL", "postgres://$(USER):$(PW)@$(HOST):$(PORT)/prod", false},
		{"URL", "$(SCHEME)://$(USER):$(PW)@h", false},
		{"URL", "postgres://u:$(PW)@h,postgres://u:s3cret@h", true},
		{"URL", "postgres://u:s3cret$(PW)@h", true},
		{"URL", "postgres://u:$$(PW)@h", true}, // escaped: the text $(PW)
		{"URL", "postgres://u:s3cret@$(HOST)", true},
		{"PLAIN", "AKIAIOSFODNN7EXAMPLE", true},
		{"PLAIN", "-----BEGIN RSA PRIVATE KEY-----\nx", true},
	} {
		if got := confidential(c.name, c.value); got != c.want {
			t.Errorf("%s=%s: %t", c.name, c.value, got)
		}
	}
}

const withSecrets = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ca
  namespace: kube-system
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"value":"hunter2"}'}
spec:
  selector: {matchLabels: {app: ca}}
  template:
    metadata: {labels: {app: ca}}
    spec:
      initContainers:
      - name: init
        image: example.com/init:1
        env:
        - {name: API_TOKEN, value: hunter2-init}
      containers:
      - name: ca
        image: example.com/cluster-autoscaler:v1
        command: [./cluster-autoscaler, --cloud-provider=aws, "--nodes=1:2:$(NAME)", --fork-password=hunter2-flag, "--fork-address=$(API_TOKEN)"]
        env:
        - {name: NAME, value: workers}
        - {name: AWS_REGION, value: eu-west-1}
        - {name: AWS_SECRET_ACCESS_KEY, value: hunter2-key}
        - {name: API_TOKEN, value: hunter2-other}
        - name: AWS_ACCESS_KEY_ID
          valueFrom: {secretKeyRef: {name: aws, key: id}}
      - name: proxy
        image: example.com/proxy:1
        env:
        - {name: UPSTREAM, value: "http://me:hunter2@proxy:3128"}
        - {name: HTTPS_PROXY, value: "me:hunter2@$(HOST):3128"}
        - {name: DATABASE, value: "postgres://me:$(PW)@db"}
`

// TestSecretsOfADeploymentAreNotRepeated: in the translation there is a reference in
// place of each, and the notes say where from and to; references stay.
func TestSecretsOfADeploymentAreNotRepeated(t *testing.T) {
	got, err := Translate([]byte(withSecrets), settings)
	if err != nil {
		t.Fatal(err)
	}
	text, notes := string(got.Text), got.Notes.String()
	if strings.Contains(text+notes, "hunter2") {
		t.Errorf("a secret is repeated:\n%s\n%s", notes, text)
	}
	for _, want := range []string{
		"key: AWS_SECRET_ACCESS_KEY\n              name: ca-env", "key: API_TOKEN\n              name: ca-env",
		"key: ca.API_TOKEN\n",
		"key: UPSTREAM\n", "key: HTTPS_PROXY\n", "value: postgres://me:$(PW)@db\n", "key: id\n              name: aws",
		"value: eu-west-1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, want := range []string{
		"- spec.template.spec.initContainers[0].env[0] (API_TOKEN) has a secret written out",
		"- spec.template.spec.containers[0].env[2] (AWS_SECRET_ACCESS_KEY) has a secret written out, which is not repeated " +
			"here: it is read from the key AWS_SECRET_ACCESS_KEY of the Secret ca-env now; make that before, or take the " +
			"variable out and give the service account a role (IRSA)",
		"- spec.template.spec.containers[0].env[3] (API_TOKEN) has a secret written out, which is not repeated here: it is read from the key ca.API_TOKEN of the Secret ca-env",
		"- spec.template.spec.containers[1].env[0] (UPSTREAM) has a secret written out",
		"it is read from the key HTTPS_PROXY of the Secret ca-env now; make that before, with what each $(NAME) stands for written out: in what comes from a Secret, the kubelet fills in nothing",
		"- --fork-password is dropped",
		"AWS_REGION=eu-west-1 plimsoll run --mode=observe --cloud-provider=aws --nodes=1:2:workers",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in\n%s", want, notes)
		}
	}
}

// TestSecretsOfValuesAreNotRepeated: variables are references then; so are those of
// an account.
func TestSecretsOfValuesAreNotRepeated(t *testing.T) {
	in := `
autoDiscovery: {clusterName: prod}
awsRegion: eu-west-1
awsAccessKeyID: hunter2-id
awsSecretAccessKey: hunter2-key
extraEnv: {AWS_SESSION_TOKEN: hunter2-token, PLAIN: shown}
extraArgs: {fork-secret: hunter2-flag}
azureClientSecret: hunter2-azure
unheardOf: {token: hunter2-unknown}
`
	got, err := Translate([]byte(in), settings)
	if err != nil {
		t.Fatal(err)
	}
	text, notes := string(got.Text), got.Notes.String()
	if strings.Contains(text+notes, "hunter2") {
		t.Errorf("a secret is repeated:\n%s\n%s", notes, text)
	}
	if want := "- name: AWS_SESSION_TOKEN\n  valueFrom:\n    secretKeyRef:\n      key: AWS_SESSION_TOKEN\n      name: " +
		"plimsoll-env\n"; !strings.Contains(text, want) || !strings.Contains(text, "value: shown") {
		t.Errorf("%q is not in\n%s", want, text)
	}
	if want := "- extraEnv.AWS_SESSION_TOKEN has a secret written out"; !strings.Contains(notes, want) {
		t.Errorf("%q is not in\n%s", want, notes)
	}
}
