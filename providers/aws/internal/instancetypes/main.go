// Command instancetypes writes the list of instance types that the AWS provider
// falls back on when EC2 does not answer, from an account of yours: EC2 tells
// only of the types of one region. It needs ec2:DescribeInstanceTypes.
//
//	AWS_REGION=us-east-1 go run ./providers/aws/internal/instancetypes > providers/aws/instancetypes.json
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/plimsoll-dev/plimsoll/providers/aws"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err == nil {
		source := fmt.Sprintf("ec2:DescribeInstanceTypes in %s; %s", cfg.Region, time.Now().UTC().Format(time.DateOnly))
		err = aws.WriteInstanceTypes(ctx, ec2.NewFromConfig(cfg), source, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "list the instance types:", err)
		os.Exit(1)
	}
}
