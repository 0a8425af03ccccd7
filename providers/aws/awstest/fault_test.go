package awstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func twoGroups() awstest.Spec {
	return awstest.Spec{
		Timing:          awstest.Timing{End: time.Hour},
		LaunchTemplates: templates,
		Groups:          []awstest.Group{small("g", 0, 9, 3), small("other", 0, 9, 3)},
	}
}

func TestRefusalsAreInTheServicesWords(t *testing.T) {
	r := newRig(t, twoGroups())
	scaling := func() error { return r.setDesired("g", 5) }
	machines := func() error {
		_, err := r.ec2.DescribeInstanceTypes(r.Context(), &ec2.DescribeInstanceTypesInput{})
		return err
	}
	for _, c := range []struct {
		mishap  awstest.Mishap
		call    func() error
		code    string
		message string
	}{
		{awstest.Throttled, scaling, "Throttling", "Rate exceeded"},
		{awstest.Throttled, machines, "RequestLimitExceeded", "Request limit exceeded."},
		{awstest.Denied, scaling, "AccessDenied", "User: arn:aws:sts::123456789012:assumed-role/awstest/session is not " +
			"authorized to perform: autoscaling:SetDesiredCapacity because no identity-based policy allows the " +
			"autoscaling:SetDesiredCapacity action"},
		{awstest.Denied, machines, "UnauthorizedOperation", "You are not authorized to perform this operation. User: " +
			"arn:aws:sts::123456789012:assumed-role/awstest/session is not authorized to perform: ec2:DescribeInstanceTypes " +
			"because no identity-based policy allows the ec2:DescribeInstanceTypes action"},
		{awstest.ExpiredToken, scaling, "ExpiredToken", "The security token included in the request is expired"},
		{awstest.ExpiredToken, machines, "RequestExpired", "Request has expired."},
		{awstest.BadCredentials, scaling, "InvalidClientTokenId", "The security token included in the request is invalid."},
		{awstest.BadCredentials, machines, "AuthFailure", "AWS was not able to validate the provided access credentials"},
		{awstest.ServerError, scaling, "InternalFailure", ""},
		{awstest.ServerError, machines, "InternalError", ""},
		{awstest.Unavailable, scaling, "ServiceUnavailable", ""},
		{awstest.Unavailable, machines, "Unavailable", ""},
		{awstest.Busy, scaling, "ScalingActivityInProgress", ""},
	} {
		r.cloud.Arm(awstest.Fault{Mishap: c.mishap})
		refused(t, c.call(), c.code, c.message)
		r.cloud.ClearFaults()
	}
	if g, _ := r.cloud.Group("g"); g.Desired != 3 {
		t.Errorf("refusals left the desired capacity at %d", g.Desired)
	}
}

func TestTheSDKRetriesWhatPasses(t *testing.T) {
	r := newRig(t, twoGroups())
	for _, mishap := range []awstest.Mishap{awstest.Throttled, awstest.ServerError, awstest.Unavailable, awstest.Cut} {
		r.cloud.ForgetCalls()
		r.cloud.Arm(awstest.Fault{Action: "DescribeAutoScalingGroups", Mishap: mishap, Times: 2})
		r.group("g")
		if n := r.cloud.Count("DescribeAutoScalingGroups"); n != 3 {
			t.Errorf("%s twice: %d requests", mishap, n)
		}
	}
}

func TestAFaultMeetsWhatItNames(t *testing.T) {
	r := newRig(t, twoGroups())
	g, _ := r.cloud.Group("g")
	r.cloud.Arm(awstest.Fault{On: "g", Mishap: awstest.Denied})
	refused(t, r.setDesired("g", 4), "AccessDenied", "")
	refused(t, r.terminate(g.Live()[0], true), "AccessDenied", "")
	if err := r.setDesired("other", 4); err != nil {
		t.Error(err)
	}
	if _, err := r.asg.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{}); err != nil {
		t.Errorf("a listing that names no group: %v", err)
	}
	_, err := r.asg.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"other", "g"}})
	refused(t, err, "AccessDenied", "")

	r.cloud.ClearFaults()
	r.cloud.Arm(awstest.Fault{On: "nodes", Mishap: awstest.Denied})
	_, err = r.ec2.DescribeLaunchTemplateVersions(t.Context(),
		&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("nodes")})
	refused(t, err, "UnauthorizedOperation", "")
}

func TestAHangEndsAtTheDeadline(t *testing.T) {
	for _, after := range []bool{false, true} {
		r := newRig(t, twoGroups())
		met := make(chan bool, 1)
		r.cloud.Arm(awstest.Fault{
			Action: "SetDesiredCapacity", Mishap: awstest.Hang, After: after, Met: func() { met <- true },
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := r.asg.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
				AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(5),
			})
			ended <- err
		}()
		<-met
		want := 3
		if after {
			want = 5
		}
		if g := r.group("g"); int(*g.DesiredCapacity) != want { // and nothing else is held up
			t.Errorf("after %v: the desired capacity is %d", after, *g.DesiredCapacity)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("after %v: the hanging call gives %v", after, err)
		}
	}
	r := newRig(t, twoGroups())
	r.cloud.Arm(awstest.Fault{Mishap: awstest.Hang})
	_, err := r.asg.DescribeAutoScalingGroups(within(t), &autoscaling.DescribeAutoScalingGroupsInput{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a hanging read gives %v", err)
	}
	r.cloud.ClearFaults()
	r.cloud.Arm(awstest.Fault{Delay: time.Hour})
	_, err = r.asg.DescribeAutoScalingGroups(within(t), &autoscaling.DescribeAutoScalingGroupsInput{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a late answer gives %v", err)
	}
	r.cloud.ClearFaults()
	r.cloud.Arm(awstest.Fault{Delay: time.Millisecond})
	r.group("g")
}

func TestAConnectionCutAfterTheEffect(t *testing.T) {
	for _, mishap := range []awstest.Mishap{awstest.Cut, awstest.ServerError} {
		r := newRig(t, twoGroups())
		r.cloud.Arm(awstest.Fault{Action: "TerminateInstanceInAutoScalingGroup", Mishap: mishap, After: true, Times: 1})
		g, _ := r.cloud.Group("g")
		if err := r.terminate(g.Live()[0], true); err != nil {
			t.Fatal(err)
		}
		// The SDK asked again, and AWS did it again: this is why a provider's own
		// removals must not be retried blindly.
		if now, _ := r.cloud.Group("g"); now.Desired != 1 || len(now.Live()) != 1 {
			t.Errorf("%s: one removal whose answer was lost: desired %d, live %v", mishap, now.Desired, now.Live())
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	r := newRig(t, twoGroups())
	describe := func() (int, error) {
		out, err := r.asg.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
		if err != nil {
			return 0, err
		}
		return len(out.AutoScalingGroups), nil
	}
	for _, mishap := range []awstest.Mishap{awstest.Garbled, awstest.Truncated} {
		r.cloud.Arm(awstest.Fault{Mishap: mishap, Times: 1})
		_, err := describe()
		if _, ok := errors.AsType[*smithy.DeserializationError](err); !ok {
			t.Errorf("%s: %v", mishap, err)
		}
	}
	// The SDK takes both of these for a success with no groups.
	for _, mishap := range []awstest.Mishap{awstest.EmptyBody, awstest.EmptyList} {
		r.cloud.Arm(awstest.Fault{Mishap: mishap, Times: 1})
		if n, err := describe(); n != 0 || err != nil {
			t.Errorf("%s: %d groups, %v", mishap, n, err)
		}
	}
	if n, err := describe(); n != 2 || err != nil {
		t.Errorf("at last: %d groups, %v", n, err)
	}
}

func TestHooksRunBeforeAndAfterTheEffect(t *testing.T) {
	r := newRig(t, twoGroups())
	var seen []int
	note := func() {
		g, _ := r.cloud.Group("g")
		seen = append(seen, g.Desired)
	}
	r.cloud.Arm(awstest.Fault{Action: "SetDesiredCapacity", Times: 1, Met: note})
	r.cloud.Arm(awstest.Fault{Action: "SetDesiredCapacity", Times: 1, Met: note, After: true})
	for _, n := range []int{5, 7} {
		if err := r.setDesired("g", n); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]int{3, 7}, seen); diff != "" {
		t.Errorf("before the first write, after the second:\n%s", diff)
	}
}

func TestCallsAreCounted(t *testing.T) {
	r := newRig(t, twoGroups())
	hung, release := make(chan bool), make(chan bool)
	r.cloud.Arm(awstest.Fault{Action: "DescribeAutoScalingGroups", Met: func() { hung <- true; <-release }, Times: 3})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := r.asg.DescribeAutoScalingGroups(r.Context(), &autoscaling.DescribeAutoScalingGroupsInput{
				MaxRecords: aws.Int32(7),
			}); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		<-hung
	}
	close(release)
	wg.Wait()
	if err := r.setDesired("g", 4); err != nil {
		t.Fatal(err)
	}
	if all, reads, peak := r.cloud.Count(), r.cloud.Count("DescribeAutoScalingGroups"),
		r.cloud.Peak("DescribeAutoScalingGroups"); all != 4 || reads != 3 || peak != 3 {
		t.Errorf("%d calls, %d reads, %d at once", all, reads, peak)
	}
	if first := r.cloud.Calls()[0]; first.Service != "autoscaling" || first.Params.Get("MaxRecords") != "7" ||
		!first.At.Equal(dawn) {
		t.Errorf("the first call is %+v", first)
	}
	r.cloud.ForgetCalls()
	if r.cloud.Count() != 0 || r.cloud.Peak("DescribeAutoScalingGroups") != 0 {
		t.Error("forgotten calls are counted")
	}
}

func TestARequestMustBeSignedForTheService(t *testing.T) {
	r := newRig(t, twoGroups())
	post := func(authorization, version string) string {
		t.Helper()
		form := url.Values{"Action": {"DescribeAutoScalingGroups"}, "Version": {version}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Authorization", authorization)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text := make([]byte, 400)
		n, _ := res.Body.Read(text)
		_, code, _ := strings.Cut(string(text[:n]), "<Code>")
		code, _, _ = strings.Cut(code, "<")
		return code
	}
	signed := func(region, service string) string {
		return "AWS4-HMAC-SHA256 Credential=AKID/20261121/" + region + "/" + service +
			"/aws4_request, SignedHeaders=host, Signature=0"
	}
	for _, c := range []struct{ authorization, version, code string }{
		{signed("us-east-1", "autoscaling"), "2011-01-01", ""},
		{"", "2011-01-01", "MissingAuthenticationToken"},
		{"Basic Zm9vOmJhcg==", "2011-01-01", "MissingAuthenticationToken"},
		{signed("us-east-1", "ec2"), "2011-01-01", "SignatureDoesNotMatch"},
		{signed("eu-west-1", "autoscaling"), "2011-01-01", "SignatureDoesNotMatch"},
		{signed("us-east-1", "autoscaling"), "2009-05-15", "AwstestNotSimulated"},
		{signed("us-east-1", "ec2"), "2016-11-15", "AwstestNotSimulated"}, // an action of another service
	} {
		if code := post(c.authorization, c.version); code != c.code {
			t.Errorf("signed %q, version %s: the code is %q, want %q", c.authorization, c.version, code, c.code)
		}
	}
	if n := r.cloud.Count(); n != 1 {
		t.Errorf("%d requests count, and one was good", n)
	}
}

// Each service may have an endpoint of its own, and a region of the environment
// is what requests are signed for.
func TestEndpointsPerService(t *testing.T) {
	r := newRig(t, twoGroups())
	r.connect(map[string]string{
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_AUTO_SCALING": r.url, "AWS_ENDPOINT_URL_EC2": r.url,
		"AWS_ENDPOINT_URL_EKS": r.url,
	})
	r.group("g")
	if _, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{}); err != nil {
		t.Error(err)
	}
	_, err := r.nodegroup("c", "n")
	refused(t, err, "ResourceNotFoundException", "")
	r.connect(map[string]string{"AWS_REGION": "eu-west-1"})
	_, err = r.asg.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
	refused(t, err, "SignatureDoesNotMatch", "Credential should be scoped to a valid region, not 'eu-west-1'.")
}

func TestFaultsSurviveJSON(t *testing.T) {
	fault := awstest.Fault{Action: "SetDesiredCapacity", On: "g", Mishap: awstest.Answer, After: true, Times: 2,
		Delay: 1500 * time.Millisecond, Status: 418, Code: "Teapot", Message: "short and stout"}
	text, err := json.Marshal(fault)
	if err != nil {
		t.Fatal(err)
	}
	var again awstest.Fault
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fault, again); diff != "" {
		t.Errorf("%s: %s", text, diff)
	}
	for _, bad := range []string{`{"mishap": "explode"}`, `{"delay": "soon"}`} {
		if err := json.Unmarshal([]byte(bad), &again); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
