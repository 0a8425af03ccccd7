package awstest

import (
	"crypto/md5" // of SQS's protocol, for nothing secret
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file is SQS's GetQueueUrl, ReceiveMessage and DeleteMessageBatch in its JSON protocol:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessageBatch.html

// queueTarget is what a request to SQS names in a header.
const queueTarget = "AmazonSQS."

// message is one in a queue. Its handle is that of the last receipt.
type message struct {
	id, body, handle string
	receipts         int
	hidden           time.Time // until then, by the cloud's clock
}

// Send puts a message into a queue, and gives its id.
func (c *Cloud) Send(queue, body string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.spec.Queues, queue) {
		return "", fmt.Errorf("send to the queue %q: there is no such queue", queue)
	}
	m := &message{id: c.uuid(), body: body}
	c.mail[queue] = append(c.mail[queue], m)
	return m.id, nil
}

// Messages are the bodies of all messages in a queue, those too that are hidden.
func (c *Cloud) Messages(queue string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, m := range c.mail[queue] {
		out = append(out, m.body)
	}
	return out
}

// RefuseDeletes lets the next n entries of DeleteMessageBatch fail.
func (c *Cloud) RefuseDeletes(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuseDeletes = n
}

// readQueue reads a request to SQS: its members are parameters by their names.
func (q *query) readQueue(r *http.Request) *refusal {
	q.service, q.params = simpleQueue, url.Values{}
	q.action = strings.TrimPrefix(r.Header.Get("X-Amz-Target"), queueTarget)
	var in struct {
		QueueName, QueueUrl                                     string
		MaxNumberOfMessages, WaitTimeSeconds, VisibilityTimeout *int

		Entries []struct{ Id, ReceiptHandle string }
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return notSimulated("a request to SQS: %v", err)
	}
	for name, n := range map[string]*int{"MaxNumberOfMessages": in.MaxNumberOfMessages,
		"WaitTimeSeconds": in.WaitTimeSeconds, "VisibilityTimeout": in.VisibilityTimeout} {
		if n != nil {
			q.params.Set(name, strconv.Itoa(*n))
		}
	}
	q.params.Set("QueueUrl", in.QueueUrl)
	q.params.Set("QueueName", in.QueueName)
	for i, e := range in.Entries {
		q.params.Set(fmt.Sprintf("Entries.%d.Id", i+1), e.Id)
		q.params.Set(fmt.Sprintf("Entries.%d.ReceiptHandle", i+1), e.ReceiptHandle)
	}
	return nil
}

// queryCodes are the codes of errors as SQS names them in a header, where they are others than in the body.
var queryCodes = map[string]string{
	"QueueDoesNotExist":            "AWS.SimpleQueueService.NonExistentQueue",
	"TooManyEntriesInBatchRequest": "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
}

// queueOf finds the queue of a request, by its URL or its name.
func (c *Cloud) queueOf(q *query) (string, *refusal) {
	name := q.params.Get("QueueName")
	if name == "" {
		u := q.params.Get("QueueUrl")
		name = u[strings.LastIndex(u, "/")+1:]
	}
	if !slices.Contains(c.spec.Queues, name) {
		return "", &refusal{http.StatusBadRequest, "QueueDoesNotExist",
			"The specified queue does not exist."}
	}
	return name, nil
}

type queueURLResult struct{ QueueUrl string }

func (c *Cloud) getQueueURL(q *query) (any, *refusal) {
	name, refused := c.queueOf(q)
	if refused != nil {
		return nil, refused
	}
	return queueURLResult{fmt.Sprintf("https://sqs.%s.amazonaws.com/%s/%s", q.region, q.account, name)}, nil
}

type messageResult struct{ MessageId, ReceiptHandle, MD5OfBody, Body string }

type receiveResult struct {
	Messages []messageResult `json:",omitempty"`
}

func (q *query) number(param string) int {
	n, _ := strconv.Atoi(q.params.Get(param)) // readQueue wrote it
	return n
}

func (c *Cloud) receiveMessage(q *query) (any, *refusal) {
	name, refused := c.queueOf(q)
	if refused != nil {
		return nil, refused
	}
	var out receiveResult
	now := c.now()
	for _, m := range c.mail[name] {
		if len(out.Messages) < max(1, q.number("MaxNumberOfMessages")) && !now.Before(m.hidden) {
			m.receipts++
			m.handle = fmt.Sprintf("%s#%d", m.id, m.receipts)
			m.hidden = now.Add(time.Duration(q.number("VisibilityTimeout")) * time.Second)
			sum := md5.Sum([]byte(m.body))
			out.Messages = append(out.Messages, messageResult{m.id, m.handle, hex.EncodeToString(sum[:]), m.body})
		}
	}
	return out, nil
}

// await lets a long poll wait for a message that may be seen, in real time.
func (c *Cloud) await(r *http.Request, q *query) {
	if q.action != "ReceiveMessage" {
		return
	}
	over := time.NewTimer(time.Duration(q.number("WaitTimeSeconds")) * time.Second)
	defer over.Stop()
	look := time.NewTicker(5 * latency)
	defer look.Stop()
	for !c.hasMail(q) {
		select {
		case <-r.Context().Done():
			return
		case <-over.C:
			return
		case <-look.C:
		}
	}
}

func (c *Cloud) hasMail(q *query) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, refused := c.queueOf(q)
	now := c.now()
	return refused != nil ||
		slices.ContainsFunc(c.mail[name], func(m *message) bool { return !now.Before(m.hidden) })
}

type deleteResult struct {
	Successful []deletedEntry
	Failed     []failedEntry
}

type deletedEntry struct{ Id string }

type failedEntry struct {
	Id, Code, Message string
	SenderFault       bool
}

// deleteMessages takes the handle of the last receipt alone: SQS promises nothing of older ones.
func (c *Cloud) deleteMessages(q *query) (any, *refusal) {
	name, refused := c.queueOf(q)
	if refused != nil {
		return nil, refused
	}
	out := deleteResult{[]deletedEntry{}, []failedEntry{}}
	n := 1
	for ; q.params.Has(fmt.Sprintf("Entries.%d.Id", n)); n++ {
		id, handle := q.params.Get(fmt.Sprintf("Entries.%d.Id", n)), q.params.Get(fmt.Sprintf("Entries.%d.ReceiptHandle", n))
		if c.refuseDeletes > 0 {
			c.refuseDeletes--
			out.Failed = append(out.Failed, failedEntry{id, "InternalError", "awstest: not now", false})
			continue
		}
		of, _, _ := strings.Cut(handle, "#")
		i := slices.IndexFunc(c.mail[name], func(m *message) bool { return m.id == of })
		if i >= 0 && c.mail[name][i].handle != handle {
			out.Failed = append(out.Failed, failedEntry{id, "ReceiptHandleIsInvalid",
				"The input receipt handle is not a valid receipt handle.", true})
			continue
		}
		if i >= 0 {
			c.mail[name] = slices.Delete(c.mail[name], i, i+1)
		}
		out.Successful = append(out.Successful, deletedEntry{id})
	}
	if n == 1 || n > 11 {
		return nil, &refusal{http.StatusBadRequest, "TooManyEntriesInBatchRequest",
			"awstest: a batch has 1 to 10 entries"}
	}
	return out, nil
}
