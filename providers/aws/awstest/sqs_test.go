package awstest_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// TestQueue, by the real client: what was received is hidden, is given again with another handle, and only the newest
// handle deletes; a queue that is not there is an error of SQS.
func TestQueue(t *testing.T) {
	clock := awstest.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	cloud, err := awstest.New(awstest.Spec{Queues: []string{"q"}}, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	server, err := awstest.Listen("127.0.0.1:0", cloud)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for name, value := range awstest.Environment(server.URL(), "us-east-1") {
		t.Setenv(name, value)
	}
	ctx := t.Context()
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(awstest.HTTPClient()))
	if err != nil {
		t.Fatal(err)
	}
	client := sqs.NewFromConfig(cfg)
	if _, err := (awstest.Remote{server.URL()}).Send(ctx, "other", json.RawMessage(`{}`)); err == nil {
		t.Error("a message is sent to a queue that is not there")
	}
	if _, err := (awstest.Remote{server.URL()}).Send(ctx, "q", json.RawMessage(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	name := "q"
	found, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	receive := func() []types.Message {
		out, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: found.QueueUrl, VisibilityTimeout: 30})
		if err != nil {
			t.Fatal(err)
		}
		return out.Messages
	}
	first := receive()
	if len(first) != 1 || *first[0].Body != `{"a":1}` || len(receive()) != 0 {
		t.Fatalf("%+v", first)
	}
	clock.Advance(31 * time.Second)
	again := receive()
	if len(again) != 1 || *again[0].MessageId != *first[0].MessageId {
		t.Fatalf("%+v", again)
	}
	remove := func(handle *string) (deleted, failed int) {
		one := "1"
		out, err := client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: found.QueueUrl,
			Entries: []types.DeleteMessageBatchRequestEntry{{Id: &one, ReceiptHandle: handle}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Successful), len(out.Failed)
	}
	if deleted, failed := remove(first[0].ReceiptHandle); deleted != 0 || failed != 1 || len(cloud.Messages("q")) != 1 {
		t.Errorf("an old handle: %d deleted, %d failed", deleted, failed)
	}
	if deleted, failed := remove(again[0].ReceiptHandle); deleted != 1 || failed != 0 || len(cloud.Messages("q")) != 0 {
		t.Errorf("the newest handle: %d deleted, %d failed", deleted, failed)
	}
	name = "other"
	_, err = client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if none := (*types.QueueDoesNotExist)(nil); !errors.As(err, &none) {
		t.Errorf("a queue that is not there: %v", err)
	}
}
