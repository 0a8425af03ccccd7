// Package awstest is an AWS that fits in a test: a small HTTP server on
// loopback that speaks the wire protocols of EC2 Auto Scaling, EC2, EKS and SQS to
// the real SDK, as much of them as a node autoscaler uses.
//
//	Spec (Go, YAML or JSON) → New → Cloud → Listen → Server
//	                                  ↑
//	       a clock, stock-outs, faults, hands of people, Play and Hold
//
// In a test:
//
//	clock := awstest.NewClock(time.Now())
//	cloud, err := awstest.New(awstest.Spec{Groups: ...}, clock.Now)
//	server, err := awstest.Listen("127.0.0.1:0", cloud)
//	for name, value := range awstest.Environment(server.URL(), "us-east-1") {
//		t.Setenv(name, value)
//	}
//	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(awstest.HTTPClient()))
//
// A Cloud is the account behind the server: Auto Scaling groups that launch,
// replace and end instances by themselves as its clock goes on, launch
// configurations and templates, images, instance types, EKS node groups. What
// flows in besides requests: time, and what a test does to it (files hand.go,
// life.go, fault.go). What flows out: answers, and a record of every call.
//
// The server answers in AWS's own words, since a provider must tell a limit
// from a conflict by them. Each is kept in words.go with the page that it comes
// from. A parameter or an action that is not simulated is refused with the code
// AwstestNotSimulated, never ignored. Where AWS documents nothing, the server
// does what hurts an autoscaler most; the comments say where.
//
// Serve runs the whole as a child process; control.go has the paths by which
// its parent then looks at it and disturbs it.
//
// It is imported by tests and by the rehearsal, never by the product. It
// imports the standard library and a YAML reader. The conformance suite's back
// door to it is the package door below it.
package awstest
