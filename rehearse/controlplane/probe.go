package controlplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A probe of a component that hangs must not hang with it.
const probeTimeout = 2 * time.Second

// prober asks components over TLS whether they serve.
type prober struct {
	client *http.Client
}

func newProber(s secrets) (prober, error) {
	cert, err := tls.X509KeyPair(s.prober.Cert, s.prober.Key)
	if err != nil {
		return prober{}, fmt.Errorf("load the certificate of the probes: %w", err)
	}
	return prober{client: &http.Client{
		Timeout: probeTimeout,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{
				MinVersion:   tls.VersionTLS12,
				RootCAs:      s.authority.Pool(),
				Certificates: []tls.Certificate{cert},
			},
			// A component that was started again is another server.
			DisableKeepAlives: true,
		},
	}}, nil
}

// get returns a probe that wants a 200 from the URL.
func (p prober) get(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := p.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, 2<<10))
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s: %s", url, response.Status, strings.TrimSpace(string(body)))
		}
		return nil
	}
}
