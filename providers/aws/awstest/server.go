package awstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server is a Cloud that is served on an address.
type Server struct {
	url    string
	server *http.Server
	ended  chan error
}

// Listen serves a cloud on an address, such as 127.0.0.1:0, until Close.
func Listen(addr string, c *Cloud) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve a simulated AWS: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", c)
	mux.Handle(controlPath, http.StripPrefix(strings.TrimSuffix(controlPath, "/"), c.control()))
	s := &Server{
		url:    "http://" + listener.Addr().String(),
		server: &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute},
		ended:  make(chan error, 1),
	}
	go func() { s.ended <- s.server.Serve(listener) }()
	return s, nil
}

// URL is what AWS_ENDPOINT_URL must be: one address for all services.
func (s *Server) URL() string { return s.url }

// Close ends the server at once, and every request that is under way.
func (s *Server) Close() error {
	err := s.server.Close()
	s.ended <- <-s.ended // a second Close does not wait for ever
	return err
}

// Environment is what a process needs to find a simulated AWS and nothing else:
// its endpoint and region, credentials that mean nothing, and no look at the
// machine's own configuration.
func Environment(url, region string) map[string]string {
	return map[string]string{
		"AWS_ENDPOINT_URL":            url,
		"AWS_REGION":                  region,
		"AWS_ACCESS_KEY_ID":           "AKIAIOSFODNN7EXAMPLE",
		"AWS_SECRET_ACCESS_KEY":       "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"AWS_SESSION_TOKEN":           "",
		"AWS_PROFILE":                 "",
		"AWS_CONFIG_FILE":             "/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"AWS_CA_BUNDLE":               "",
		"AWS_EC2_METADATA_DISABLED":   "true",
	}
}

// Serve is the whole as a process of its own: the spec, in real time, on an
// address, until ctx ends. It is ready as soon as the address answers.
func Serve(ctx context.Context, addr string, spec Spec) error {
	c, err := New(spec, time.Now)
	if err != nil {
		return err
	}
	s, err := Listen(addr, c)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return s.Close()
	case err := <-s.ended:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serve a simulated AWS on %s: %w", addr, err)
	}
}
