package awstest

import (
	"io"
	"net/http"
)

// HTTPClient is a client to give to the SDK (config.WithHTTPClient) where a test
// counts requests: with the SDK's own, one in a thousand large answers from a
// server as near as this one is lost (see latency) and asked for again.
func HTTPClient() *http.Client {
	return &http.Client{Transport: plainBodies{http.DefaultTransport.(*http.Transport).Clone()}}
}

// plainBodies hides a request body's WriteTo, which the SDK has wrong.
type plainBodies struct{ *http.Transport }

func (p plainBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		own := *r // a RoundTripper must not change its request
		own.Body = struct{ io.ReadCloser }{r.Body}
		r = &own
	}
	return p.Transport.RoundTrip(r)
}
