package aws

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// builtInJSON is the list of the common instance types that the program carries.
// The command in internal/instancetypes writes it anew from an account. The
// amounts that it began with are those of
// https://aws.amazon.com/ec2/instance-types/, the pods those of
// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/misc/eni-max-pods.txt.
//
//go:embed instancetypes.json
var builtInJSON []byte

type builtInList struct {
	Source   string    `json:"source"`
	Machines []machine `json:"machines"`
}

var builtIn = func() map[string]machine {
	var list builtInList
	if err := json.Unmarshal(builtInJSON, &list); err != nil {
		panic(fmt.Sprintf("read the built-in list of instance types: %v", err)) // a fault of the program
	}
	out := map[string]machine{}
	for _, m := range list.Machines {
		m.source = "instance type " + m.Type + ", built-in list"
		out[m.Type] = m
	}
	return out
}()

// WriteInstanceTypes writes all instance types that EC2 tells of, in the form of
// the built-in list, one a line.
func WriteInstanceTypes(ctx context.Context, client *ec2.Client, source string, w io.Writer) error {
	var list []machine
	for pages := ec2.NewDescribeInstanceTypesPaginator(client, &ec2.DescribeInstanceTypesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("describe the instance types: %w", err)
		}
		for _, info := range page.InstanceTypes {
			list = append(list, machineOf(info))
		}
	}
	slices.SortFunc(list, func(a, b machine) int { return cmp.Compare(a.Type, b.Type) })
	text := bytes.NewBufferString("{\n")
	head, err := json.Marshal(source)
	if err != nil {
		return fmt.Errorf("write the source: %w", err)
	}
	fmt.Fprintf(text, "  \"source\": %s,\n  \"machines\": [\n", head)
	for i, m := range list {
		line, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("write the instance type %s: %w", m.Type, err)
		}
		fmt.Fprintf(text, "    %s%s\n", line, map[bool]string{true: ",", false: ""}[i < len(list)-1])
	}
	text.WriteString("  ]\n}\n")
	_, err = w.Write(text.Bytes())
	return err
}
