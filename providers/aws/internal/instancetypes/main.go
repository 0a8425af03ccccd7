// Command instancetypes writes the list of instance types that the AWS provider
// falls back on when EC2 does not answer. With -table it is made from types.txt in
// this folder, which names the source of every row. Without, it is what EC2 tells
// in an account of yours, of the types of one region; that needs
// ec2:DescribeInstanceTypes.
//
//	go run ./providers/aws/internal/instancetypes -table > providers/aws/instancetypes.json
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
	write := fromAccount
	if len(os.Args) == 2 && os.Args[1] == "-table" {
		write = fromTable
	}
	if err := write(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "list the instance types:", err)
		os.Exit(1)
	}
}

func fromTable(context.Context) error {
	t, err := readTable(typesText)
	if err != nil {
		return fmt.Errorf("read types.txt: %w", err)
	}
	text, err := t.json()
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(text)
	return err
}

func fromAccount(ctx context.Context) error {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	return aws.WriteInstanceTypes(ctx, ec2.NewFromConfig(cfg), "ec2:DescribeInstanceTypes in "+cfg.Region,
		time.Now().UTC(), os.Stdout)
}
