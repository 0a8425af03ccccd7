package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// restConfig says how the API server is reached: by --kubeconfig or
// --kubernetes; else from inside of the cluster; else, on a person's machine,
// as kubectl would find it.
func restConfig(c config.Cluster) (*rest.Config, error) {
	rc, by, err := find(c)
	if err != nil {
		return nil, fmt.Errorf("find the API server by %s: %w", by, plainly(err))
	}
	rc.QPS, rc.Burst = c.QPS, cmp.Or(c.Burst, rest.DefaultBurst) // client-go refuses 0
	rc.ContentType = c.ContentType
	rc.AcceptContentTypes = c.ContentType + ",application/json"
	rc.UserAgent = c.UserAgent
	return rc, nil
}

// find also says by what it found the API server, or did not.
func find(c config.Cluster) (rc *rest.Config, by string, err error) {
	if c.Kubeconfig != "" || c.Server != "" {
		by = "--kubernetes=" + c.Server
		if c.Kubeconfig != "" {
			by = "--kubeconfig=" + c.Kubeconfig
			if err := noFile(c.Kubeconfig); err != nil {
				return nil, by, err
			}
		}
		rc, err = clientcmd.BuildConfigFromFlags(c.Server, c.Kubeconfig)
		if clientcmd.IsEmptyConfig(err) {
			err = errors.New("it names no cluster")
		}
		return rc, by, err
	}
	rc, err = rest.InClusterConfig()
	if !errors.Is(err, rest.ErrNotInCluster) {
		return rc, "the pod's own service account", err
	}
	by = "~/.kube/config"
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); named != "" {
		by = "KUBECONFIG=" + named
		if !slices.ContainsFunc(rules.Precedence, exists) { // client-go says nothing of files that are not there
			return nil, by, errors.New("there is no such file")
		}
	}
	rc, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		// client-go names a variable that Plimsoll does not read.
		by = "--kubeconfig, --kubernetes, the pod's own service account, KUBECONFIG or ~/.kube/config"
		err = errors.New("none of these is there, or names a cluster; set KUBECONFIG, or give --kubeconfig=FILE")
	}
	return rc, by, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// noFile is why a path is no file to read.
func noFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case err == nil && info.IsDir():
		return errors.New("it is a folder: name a file in it")
	}
	return err
}

// What client-go says of files that are no kubeconfig, in words of Go.
var (
	notOfKind  = regexp.MustCompile(`no kind "([^"]*)" is registered for version`)
	wrongField = regexp.MustCompile(`cannot unmarshal (\w+) into Go struct field [^. ]+\.(\S+) of type`)
	wrongValue = regexp.MustCompile(`cannot unmarshal (\w+) into Go value`)
)

// plainly is an error about a kubeconfig in words for a person, with what to do.
func plainly(err error) error {
	text, print := err.Error(), "kubectl config view --raw prints one that kubectl uses"
	if m := notOfKind.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("it is a %s, not a kubeconfig, which is of kind Config; %s", m[1], print)
	}
	if m := wrongField.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("its field %s cannot be a %s; %s", m[2], m[1], print)
	}
	if m := wrongValue.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("it is no kubeconfig: it holds a %s, not clusters, contexts and users; %s", m[1], print)
	}
	switch {
	case clientcmd.IsContextNotFound(err), strings.Contains(text, "context was not found"):
		return fmt.Errorf("%w; kubectl config get-contexts lists those that there are", err)
	case clientcmd.IsConfigurationInvalid(err):
		return fmt.Errorf("%w; kubectl config view shows it", err)
	case strings.Contains(text, "yaml: "):
		return fmt.Errorf("%w; %s", err, print)
	}
	return err
}
