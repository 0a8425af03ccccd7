package aws

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// jsonBlocks are the blocks of JSON of docs/aws.md.
func jsonBlocks(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, rest := range strings.Split(string(text), "```json\n")[1:] {
		block, _, ok := strings.Cut(rest, "```")
		if !ok {
			t.Fatal("a block of docs/aws.md has no end")
		}
		out = append(out, block)
	}
	return out
}

// TestTheDocumentedQueue: what docs/aws.md makes keeps messages for as long as there may be, has no dead-letter queue,
// and its rules deliver what is understood, by a policy that names them.
func TestTheDocumentedQueue(t *testing.T) {
	blocks := jsonBlocks(t)
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(blocks[len(blocks)-1]), &template); err != nil {
		t.Fatal(err)
	}
	type pattern struct {
		Source     []string
		DetailType []string `json:"detail-type"`
		Detail     map[string][]string
	}
	var rules []pattern
	policy := ""
	for name, r := range template.Resources {
		switch r.Type {
		case "AWS::SQS::Queue":
			var queue map[string]any
			if err := json.Unmarshal(r.Properties, &queue); err != nil {
				t.Fatal(err)
			}
			if queue["MessageRetentionPeriod"] != retention.Seconds() || queue["RedrivePolicy"] != nil ||
				queue["FifoQueue"] != nil {
				t.Errorf("the queue: %v", queue)
			}
		case "AWS::SQS::QueuePolicy":
			policy = string(r.Properties)
		case "AWS::Events::Rule":
			var rule struct {
				EventPattern pattern
				Targets      []struct{ Arn map[string][]string }
			}
			if err := json.Unmarshal(r.Properties, &rule); err != nil {
				t.Fatal(err)
			}
			if len(rule.Targets) != 1 || !slices.Equal(rule.Targets[0].Arn["Fn::GetAtt"], []string{"Queue", "Arn"}) {
				t.Errorf("the rule %s goes to %v", name, rule.Targets)
			}
			rules = append(rules, rule.EventPattern)
			defer func() {
				if !strings.Contains(policy, `{"Fn::GetAtt": ["`+name+`", "Arn"]}`) {
					t.Errorf("the queue's policy does not let the rule %s deliver", name)
				}
			}()
		default:
			t.Errorf("%s is a %s", name, r.Type)
		}
	}
	now := newClock().now()
	bodies := []string{spotWarning("i-1", now), rebalance("i-1", now), planned("i-1", "upcoming", "", now),
		planned("i-1", "closed", "", now), stateChange("i-1", "pending", now)}
	for _, state := range append([]string{back}, takes...) {
		bodies = append(bodies, stateChange("i-1", state, now))
	}
	for _, body := range bodies {
		var e struct {
			envelope
			Detail map[string]any `json:"detail"`
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Fatal(err)
		}
		delivered := slices.ContainsFunc(rules, func(r pattern) bool {
			ok := slices.Contains(r.Source, e.Source) && slices.Contains(r.DetailType, e.DetailType)
			for key, values := range r.Detail {
				text, _ := e.Detail[key].(string)
				ok = ok && slices.Contains(values, text)
			}
			return ok
		})
		if understood := wordOf(body, now).about != aboutOther; delivered != understood {
			t.Errorf("delivered: %v, understood: %v: %s", delivered, understood, body)
		}
	}
}
