package awstest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// This file is the handler: which service is asked for which action, and how
// answers and errors look in each service's protocol.

// actions are what is simulated. Each runs with the lock held, after all that
// is due has been done.
var actions = map[string]map[string]func(*Cloud, *query) (any, *refusal){
	autoScaling: {
		"DescribeAutoScalingGroups":           (*Cloud).describeGroups,
		"DescribeLaunchConfigurations":        (*Cloud).describeConfigurations,
		"DescribeScalingActivities":           (*Cloud).describeActivities,
		"SetDesiredCapacity":                  (*Cloud).setDesiredCapacity,
		"TerminateInstanceInAutoScalingGroup": (*Cloud).terminateInstance,
	},
	elasticCompute: {
		"DescribeLaunchTemplateVersions":           (*Cloud).describeVersions,
		"DescribeInstanceTypes":                    (*Cloud).describeTypes,
		"DescribeImages":                           (*Cloud).describeImages,
		"DescribeSpotPriceHistory":                 (*Cloud).spotHistory,
		"DescribeCapacityReservations":             (*Cloud).describeReservations,
		"GetInstanceTypesFromInstanceRequirements": (*Cloud).typesFromRequirements,
	},
	kubernetes: {
		"DescribeNodegroup": (*Cloud).describeNodegroup,
	},
	priceList: {
		"GetProducts": (*Cloud).getProducts,
	},
	simpleQueue: {
		"GetQueueUrl":        (*Cloud).getQueueURL,
		"ReceiveMessage":     (*Cloud).receiveMessage,
		"DeleteMessageBatch": (*Cloud).deleteMessages,
	},
}

// versions of the Query services, as their requests name them.
var apiVersions = map[string]string{"2011-01-01": autoScaling, "2016-11-15": elasticCompute}

// scope is the part of a signature that says for whom the request was signed.
var scope = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[^/,]+/\d{8}/([^/,]+)/([^/,]+)/aws4_request,`)

// read tells which service is asked for what: by the path for EKS, by a header for the price list and SQS, by the
// version for the others. The signature's scope must agree; the signature itself is not verified.
func (c *Cloud) read(r *http.Request) (*query, *refusal) {
	c.mu.Lock()
	q := &query{region: c.spec.Region, account: c.spec.Account}
	c.mu.Unlock()
	if path := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/"); path[0] == "clusters" {
		q.service, q.params = kubernetes, url.Values{}
		if r.Method == http.MethodGet && len(path) == 4 && path[2] == "node-groups" {
			q.action = "DescribeNodegroup"
			for i, name := range map[int]string{1: "cluster", 3: "nodegroup"} {
				value, err := url.PathUnescape(path[i])
				if err != nil {
					return q, notSimulated("path %s", r.URL.EscapedPath())
				}
				q.params.Set(name, value)
			}
		}
	} else if strings.HasPrefix(r.Header.Get("X-Amz-Target"), listTarget) {
		if refused := q.readList(r); refused != nil {
			return q, refused
		}
	} else if strings.HasPrefix(r.Header.Get("X-Amz-Target"), queueTarget) {
		if refused := q.readQueue(r); refused != nil {
			return q, refused
		}
	} else {
		if err := r.ParseForm(); err != nil {
			return q, notSimulated("a body that cannot be read: %v", err)
		}
		q.params, q.action = r.PostForm, r.PostForm.Get("Action")
		q.service = apiVersions[q.params.Get("Version")]
	}
	signed := scope.FindStringSubmatch(r.Header.Get("Authorization"))
	switch {
	case q.service == "":
		return q, notSimulated("%s %s with the action %q and the version %q",
			r.Method, r.URL.Path, q.action, q.params.Get("Version"))
	case signed == nil:
		return q, unsigned()
	case signed[1] != q.region && q.service != priceList: // which is served in few regions
		return q, wrongScope("Credential should be scoped to a valid region, not '%s'.", signed[1])
	case signed[2] != q.service:
		return q, wrongScope("Credential should be scoped to correct service: '%s'.", q.service)
	case actions[q.service][q.action] == nil:
		return q, notSimulated("%s %s, action %q of %s", r.Method, r.URL.Path, q.action, q.service)
	}
	return q, nil
}

// latency is that of every answer. No network has none, and the SDK relies on
// it: it closes a request's body as soon as the answer begins, and if Go's
// transport is still at the body's end then, smithy-go v1.28's WriteTo tells it
// io.EOF as a failure and the connection is closed under the answer. Answers of
// more than a buffer's length are then lost and asked for again. HTTPClient has
// no such hole.
const latency = time.Millisecond

// ServeHTTP serves all services.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, refused := c.read(r)
	if refused != nil {
		q.refuse(w, refused)
		return
	}
	mentions, at := c.mentions(q)
	end := c.calls.begin(Call{q.service, q.action, q.params, at})
	defer end()
	time.Sleep(latency)
	fault, met := c.faults.meet(q.action, mentions)
	if !met {
		c.await(r, q)
		q.answer(w, c.carryOut(q))
		return
	}
	c.disturb(w, r, q, fault)
}

// outcome is what an action came to.
type outcome struct {
	result  any
	refused *refusal
}

func (c *Cloud) carryOut(q *query) outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	result, refused := actions[q.service][q.action](c, q)
	c.advance() // what takes no time has happened when the answer goes out
	return outcome{result, refused}
}

// mentions are the names in a request that a fault may be tied to, and the
// cloud's time.
func (c *Cloud) mentions(q *query) ([]string, time.Time) {
	var names []string
	for _, param := range []string{"AutoScalingGroupName", "InstanceId", "LaunchTemplateId", "LaunchTemplateName"} {
		if name := q.params.Get(param); name != "" {
			names = append(names, name)
		}
	}
	for _, prefix := range []string{
		"AutoScalingGroupNames.member", "InstanceIds.member", "LaunchConfigurationNames.member", "InstanceType", "ImageId",
	} {
		names = append(names, q.list(prefix)...)
	}
	if q.service == kubernetes {
		names = append(names, q.params.Get("cluster")+"/"+q.params.Get("nodegroup"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if g, _ := c.groupOf(name); g != nil {
			names = append(names, g.Name)
		}
	}
	return names, c.now()
}

func (q *query) answer(w http.ResponseWriter, o outcome) {
	if o.refused != nil {
		q.refuse(w, o.refused)
		return
	}
	q.send(w, http.StatusOK, q.body(o.result))
}

// body is an answer in the service's protocol.
func (q *query) body(result any) []byte {
	if q.service == kubernetes || q.service == priceList || q.service == simpleQueue {
		return mustMarshal(json.Marshal(result))
	}
	id := "<%[1]s>" + requestID + "</%[1]s>"
	if q.service == elasticCompute {
		return fmt.Appendf(nil,
			`<?xml version="1.0" encoding="UTF-8"?><%sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">%s%s</%[1]sResponse>`,
			q.action, fmt.Sprintf(id, "requestId"), inner(result))
	}
	return fmt.Appendf(nil,
		`<%[1]sResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><%[1]sResult>%[2]s</%[1]sResult><ResponseMetadata>%[3]s</ResponseMetadata></%[1]sResponse>`,
		q.action, inner(result), fmt.Sprintf(id, "RequestId"))
}

const requestID = "7a62c49f-347e-4fc4-9331-6e8eEXAMPLE"

// inner is a struct's fields as XML, without an element around them.
func inner(result any) []byte {
	if result == nil {
		return nil
	}
	var text bytes.Buffer
	enc := xml.NewEncoder(&text)
	if err := enc.EncodeElement(result, xml.StartElement{Name: xml.Name{Local: "x"}}); err != nil {
		panic(fmt.Sprintf("encode a %T: %v", result, err)) // only values of this package come here
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(text.Bytes(), []byte("<x>")), []byte("</x>"))
}

func mustMarshal(text []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprintf("encode an answer: %v", err)) // only values of this package come here
	}
	return text
}

// refuse answers with an error in the service's form.
func (q *query) refuse(w http.ResponseWriter, e *refusal) {
	escape := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder never fails
		return b.String()
	}
	var body []byte
	switch q.service {
	case kubernetes, priceList:
		w.Header().Set("X-Amzn-Errortype", e.code)
		body = mustMarshal(json.Marshal(map[string]string{"__type": e.code, "message": e.message}))
	case simpleQueue:
		w.Header().Set("X-Amzn-Query-Error", cmp.Or(queryCodes[e.code], e.code)+";Sender")
		body = mustMarshal(json.Marshal(map[string]string{"__type": "com.amazonaws.sqs#" + e.code, "message": e.message}))
	case elasticCompute:
		body = fmt.Appendf(nil,
			`<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>`,
			escape(e.code), escape(e.message), requestID)
	default:
		side := "Sender"
		if e.status >= http.StatusInternalServerError {
			side = "Receiver"
		}
		body = fmt.Appendf(nil,
			`<ErrorResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><Error><Type>%s</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>`,
			side, escape(e.code), escape(e.message), requestID)
	}
	q.send(w, e.status, body)
}

func (q *query) send(w http.ResponseWriter, status int, body []byte) {
	contentType := "text/xml"
	switch q.service {
	case kubernetes:
		contentType = "application/json"
	case priceList:
		contentType = "application/x-amz-json-1.1"
	case simpleQueue:
		contentType = "application/x-amz-json-1.0"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone is not our concern
}
