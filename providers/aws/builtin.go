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
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// builtInJSON is the list of the instance types that the program carries, with its
// date and the source of each. The command in internal/instancetypes writes it.
//
//go:embed instancetypes.json
var builtInJSON []byte

type builtInList struct {
	Date     string            `json:"date"`
	Sources  map[string]string `json:"sources"`
	Machines []machine         `json:"machines"`
}

var builtIn, builtInDate = func() (map[string]machine, string) {
	var list builtInList
	if err := json.Unmarshal(builtInJSON, &list); err != nil {
		panic(fmt.Sprintf("read the built-in list of instance types: %v", err)) // a fault of the program
	}
	out := map[string]machine{}
	for _, m := range list.Machines {
		first, _, _ := strings.Cut(m.From, ",")
		m.source = fmt.Sprintf("instance type %s, built-in list of %s (%s)", m.Type, list.Date, list.Sources[first])
		out[m.Type] = m
	}
	return out, list.Date
}()

// WriteInstanceTypes writes all instance types that EC2 lists, in the form of
// the built-in list, one a line.
func WriteInstanceTypes(ctx context.Context, client *ec2.Client, source string, now time.Time, w io.Writer) error {
	var list []machine
	for pages := ec2.NewDescribeInstanceTypesPaginator(client, &ec2.DescribeInstanceTypesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("describe the instance types: %w", err)
		}
		for _, info := range page.InstanceTypes {
			m := machineOf(info)
			m.From = "ec2"
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b machine) int { return cmp.Compare(a.Type, b.Type) })
	text := bytes.NewBufferString("{\n")
	head, err := json.Marshal(source)
	if err != nil {
		return fmt.Errorf("write the source: %w", err)
	}
	fmt.Fprintf(text, "  \"date\": %q,\n  \"sources\": {\"ec2\": %s},\n  \"machines\": [\n",
		now.Format(time.DateOnly), head)
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
