package aws

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// machines knows instance types: from EC2, asked by name for those that are
// used and again after a time; else from the built-in list.
type machines struct {
	client *ec2.Client
	static bool
	live   *memo[string, machine]
}

const (
	machineTTL = 6 * time.Hour
	// typesPerCall is how many EC2 takes by name.
	typesPerCall = 100
)

func newMachines(client *ec2.Client, static bool, now func() time.Time) *machines {
	return &machines{client: client, static: static, live: newMemo[string, machine](now, always[string](machineTTL))}
}

// learn asks EC2 for the types that are due. A failure is not the caller's: the
// built-in list may know the types, and of tells which are unknown.
func (m *machines) learn(ctx context.Context, names []string) {
	if m.static {
		return
	}
	due := m.live.due(names)
	slices.Sort(due)
	for batch := range slices.Chunk(due, typesPerCall) {
		m.batch(ctx, batch)
	}
}

func (m *machines) batch(ctx context.Context, names []string) {
	found := map[string]machine{}
	for attempt := 0; len(names) > 0; attempt++ {
		page, err := m.describe(ctx, names)
		if err == nil {
			found = page
			break
		}
		// One name that does not exist spoils the call: ask again without it.
		wrong := unknownTypes(err, names)
		for _, name := range wrong {
			m.live.fail(name, noSuchType{name})
		}
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(wrong, n) })
		if len(wrong) == 0 || attempt > 2 {
			for _, name := range names {
				m.live.fail(name, fmt.Errorf("describe the instance type %q: %w", name, err))
			}
			return
		}
	}
	for _, name := range names {
		if facts, ok := found[name]; ok {
			m.live.put(name, facts)
			continue
		}
		m.live.fail(name, noSuchType{name})
	}
}

// noSuchType is EC2's answer that a type is not there, which is no failure of the
// question.
type noSuchType struct{ name string }

func (e noSuchType) Error() string {
	return fmt.Sprintf("EC2 knows no instance type %q in this region", e.name)
}

func (m *machines) describe(ctx context.Context, names []string) (map[string]machine, error) {
	in := &ec2.DescribeInstanceTypesInput{}
	for _, name := range names {
		in.InstanceTypes = append(in.InstanceTypes, ec2types.InstanceType(name))
	}
	out := map[string]machine{}
	for {
		page, err := m.client.DescribeInstanceTypes(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, info := range page.InstanceTypes {
			out[string(info.InstanceType)] = machineOf(info)
		}
		if aws.ToString(page.NextToken) == "" {
			return out, nil
		}
		in.NextToken = page.NextToken
	}
}

// unknownTypes are the names that EC2 says do not exist: "The following supplied
// instance types do not exist: [m5.lrge, x]".
func unknownTypes(err error, names []string) []string {
	if codeOf(err) != "InvalidInstanceType" {
		return nil
	}
	var out []string
	for _, group := range bracketed.FindAllStringSubmatch(err.Error(), -1) {
		for _, name := range strings.Split(group[1], ",") {
			if name = strings.TrimSpace(name); slices.Contains(names, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

var bracketed = regexp.MustCompile(`\[([^\]]*)\]`)

// unknown reports whether nothing is known of an instance type.
func (m *machines) unknown(name string) bool {
	_, err := m.of(name)
	return err != nil
}

// of is what is known of an instance type.
func (m *machines) of(name string) (machine, error) {
	facts, err := m.live.get(name)
	if facts.Type != "" {
		return facts, nil
	}
	if known, ok := builtIn[name]; ok {
		return known, nil
	}
	if err == nil {
		err = errors.New("the built-in list has no such type")
	}
	return machine{}, fmt.Errorf("instance type %q is not known: %w", name, err)
}
