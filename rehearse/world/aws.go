package world

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/component"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/eks"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

const eksNodesUser = "rehearse:eks-nodes"

// eksNodesRights are those of that user.
//
//go:embed eks-nodes.yaml
var eksNodesRights []byte

// AWS is the world of a simulated AWS with an EKS cluster's node groups, and the way
// to disturb it. Plimsoll finds it as it would find the real one: by the AWS SDK's
// own environment.
func AWS(plane *controlplane.ControlPlane, cluster eks.Cluster) (World, awstest.Remote, error) {
	account := cluster.Account()
	text, err := json.Marshal(account)
	if err != nil {
		return World{}, awstest.Remote{}, fmt.Errorf("write the account of AWS: %w", err)
	}
	file := filepath.Join(plane.DataDir(), "aws-account.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return World{}, awstest.Remote{}, fmt.Errorf("write the account of AWS: %w", err)
	}
	kubeconfig, err := plane.Identify(component.EKSNodes, eksNodesUser)
	if err != nil {
		return World{}, awstest.Remote{}, err
	}
	port, err := controlplane.FreePort(nil)
	if err != nil {
		return World{}, awstest.Remote{}, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	remote := awstest.Remote{URL: "http://" + address}
	env := environment(remote.URL, account.Region)
	variables := filepath.Join(plane.DataDir(), "aws.env")
	if err := os.WriteFile(variables, []byte("export "+strings.Join(env, "\nexport ")+"\n"), 0o600); err != nil {
		return World{}, awstest.Remote{}, fmt.Errorf("write how AWS is reached: %w", err)
	}
	return World{
		Objects: eksNodesRights,
		Components: []supervise.Process{
			{
				Name:  component.AWS,
				Args:  []string{"--address=" + address, "--account=" + file},
				Ready: func(ctx context.Context) error { _, err := remote.Groups(ctx); return err },
			},
			{Name: component.EKSNodes, Args: []string{"--kubeconfig=" + kubeconfig, "--aws=" + remote.URL}},
		},
		// The nodes are those of EKS's own images, and so must the templates be.
		Cloud: autoscaler.Cloud{
			Flags: []string{"--cloud-provider=aws", cluster.DiscoveryFlag(), "--aws-max-pods=eni", "--aws-kube-reserved=eks"},
			Env:   env,
		},
		Notes: "the simulated AWS, for plimsoll groups and the aws command: . " + variables,
	}, remote, nil
}

// environment is what the SDK must find, as NAME=VALUE, sorted.
func environment(url, region string) []string {
	values := awstest.Environment(url, region)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return env
}

func readAWS(file string) (Maker, error) {
	cluster, err := eks.Read(file)
	if err != nil {
		return nil, err
	}
	return func(plane *controlplane.ControlPlane) (World, error) {
		world, _, err := AWS(plane, cluster)
		return world, err
	}, nil
}
