package awstest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// This file reads a request: who is asked for what, and the parameters of the
// Query protocol (https://smithy.io/2.0/aws/protocols/aws-query-protocol.html,
// aws-ec2-query-protocol.html), which are flat: Filters.member.1.Name=...

// The services, as the scope of a signature names them.
const (
	autoScaling    = "autoscaling"
	elasticCompute = "ec2"
	kubernetes     = "eks"
	priceList      = "pricing"
	simpleQueue    = "sqs"
)

// query is one request.
type query struct {
	service, action string
	region, account string
	params          url.Values
}

// only refuses parameters that the action does not know here.
func (q *query) only(known ...string) *refusal {
	for key := range q.params {
		name, _, _ := strings.Cut(key, ".")
		if name != "Action" && name != "Version" && !slices.Contains(known, name) {
			return notSimulated("parameter %s of %s", key, q.action)
		}
	}
	return nil
}

// list gives the values of prefix.1, prefix.2 and so on.
func (q *query) list(prefix string) []string {
	var values []string
	for n := 1; q.params.Has(fmt.Sprintf("%s.%d", prefix, n)); n++ {
		values = append(values, q.params.Get(fmt.Sprintf("%s.%d", prefix, n)))
	}
	return values
}

// filter is one filter of a Describe action.
type filter struct {
	name   string
	values []string
}

func (q *query) filters() []filter {
	var all []filter
	for n := 1; q.params.Has(fmt.Sprintf("Filters.member.%d.Name", n)); n++ {
		prefix := fmt.Sprintf("Filters.member.%d.", n)
		all = append(all, filter{q.params.Get(prefix + "Name"), q.list(prefix + "Values.member")})
	}
	return all
}

// size reads how many items a page may have.
func (q *query) size(param string, byDefault, most int) (int, *refusal) {
	text := q.params.Get(param)
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have "+
			"value greater than or equal to 1", text, lowerFirst(param))
	}
	if n > most {
		return 0, tooLarge(n, lowerFirst(param), "value", most)
	}
	return n, nil
}

func (q *query) flag(param string, byDefault bool) (bool, *refusal) {
	switch text := q.params.Get(param); text {
	case "":
		return byDefault, nil
	case "true", "false":
		return text == "true", nil
	default:
		return false, invalid("awstest: %s is %q, which is no boolean", param, text)
	}
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// page gives the items of one page and the token of the next, empty at the end.
// The items are sorted by key. A token says where the page before it ended, so
// that what comes and goes in between shifts nothing; it is good for the same
// question only.
func page[T any](q *query, items []T, key func(T) string, size int) (part []T, next string, ok bool) {
	from := 0
	if token := q.params.Get("NextToken"); token != "" {
		text, err := base64.RawURLEncoding.DecodeString(token)
		after, same := strings.CutPrefix(string(text), q.question())
		if err != nil || !same {
			return nil, "", false
		}
		for from < len(items) && key(items[from]) <= after {
			from++
		}
	}
	items = items[from:]
	if len(items) <= size {
		return items, "", true
	}
	last := key(items[size-1])
	return items[:size], base64.RawURLEncoding.EncodeToString([]byte(q.question() + last)), true
}

// question identifies what is asked, but for the page.
func (q *query) question() string {
	h := sha256.New()
	for _, name := range sortedKeys(q.params) {
		if name != "NextToken" && name != "MaxRecords" && name != "MaxResults" {
			fmt.Fprintf(h, "%s=%q ", name, q.params[name])
		}
	}
	return fmt.Sprintf("%x:", h.Sum(nil)[:8])
}

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }
