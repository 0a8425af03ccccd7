package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// page is the leader's page, as far as a command has reached it.
type page struct {
	base   string // its address, without a slash at the end
	hint   string // what to do where nothing listens there
	client *http.Client
	// patience bounds an answer, 0: nothing does.
	patience time.Duration
	// ended gets why the way to the page has ended; nil where it cannot. end ends it.
	ended <-chan error
	end   func()
}

// credentials are how a page is asked that authenticates: the token of rc, or of a file.
type credentials struct {
	caFile, tokenFile, serverName string
}

// readable is an error where the file of the token is not.
func (c credentials) readable() error {
	if c.tokenFile == "" {
		return nil
	}
	if _, err := os.ReadFile(c.tokenFile); err != nil {
		return fmt.Errorf("--ui-token-file: %w", err)
	}
	return nil
}

// errNoToken is why a page that authenticates cannot be asked.
var errNoToken = errors.New("the page wants a bearer token, and the kubeconfig has none: give a file with one by " +
	"--ui-token-file, such as what kubectl create token NAME prints")

// clientOf is a client of a page that authenticates, by the user of a kubeconfig. A token goes nowhere but to the
// page: not to an address without TLS, and not where the page might lead.
func (c credentials) clientOf(rc *rest.Config) (*http.Client, error) {
	to := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: c.caFile, ServerName: c.serverName}}
	if to.BearerTokenFile = c.tokenFile; c.tokenFile == "" {
		if rc == nil || rc.BearerToken == "" && rc.BearerTokenFile == "" && rc.ExecProvider == nil && rc.AuthProvider == nil {
			return nil, errNoToken
		}
		to.BearerToken, to.BearerTokenFile = rc.BearerToken, rc.BearerTokenFile
		to.ExecProvider, to.AuthProvider, to.AuthConfigPersister = rc.ExecProvider, rc.AuthProvider, rc.AuthConfigPersister
	}
	transport, err := rest.TransportFor(to)
	if err != nil {
		return nil, fmt.Errorf("make a client of the page (--ui-ca-file, --ui-token-file): %w", err)
	}
	return &http.Client{Transport: transport, CheckRedirect: noRedirect}, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// askLeader is what the leader answers to a path.
func (p *page) askLeader(ctx context.Context, path string) (ui.Envelope, error) {
	var answer ui.Envelope
	if err := p.fetch(ctx, path, &answer); err != nil {
		return ui.Envelope{}, err
	}
	if !answer.Leads {
		return ui.Envelope{}, fmt.Errorf("the process at %s does not lead; the leader is %s", p.base,
			cmp.Or(answer.Leader, "not known"))
	}
	return answer, nil
}

// leaderRefusal is what the leader says where it has no answer.
type leaderRefusal struct {
	status int
	why    string
}

func (r leaderRefusal) Error() string { return r.why }

// fetch reads what the leader answers to a path.
func (p *page) fetch(ctx context.Context, path string, into any) error {
	if p.patience > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, p.patience,
			fmt.Errorf("no answer within %s (--request-timeout)", p.patience))
		defer cancel()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	if err != nil {
		return fmt.Errorf("ask the leader: %w", err)
	}
	res, err := p.client.Do(r)
	if err != nil {
		return fmt.Errorf("ask the leader at %s: %w%s", p.base, hinted(withoutURL(err)), p.hint)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return refusalIn(res)
	}
	err = json.NewDecoder(res.Body).Decode(into)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask the leader for %s: %w", path, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("ask the leader for %s: it answers %s with what is not JSON: %w", path, res.Status, err)
	}
	return nil
}

// mostSaid bounds what is read of a refusal.
const mostSaid = 1 << 16

// refusalIn is a refusal, which is JSON unless it comes from a proxy in between.
func refusalIn(res *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(res.Body, mostSaid))
	if err != nil {
		return fmt.Errorf("ask the leader: it answers %s: %w", res.Status, err)
	}
	var failed ui.Failure
	if json.Unmarshal(text, &failed) == nil && failed.Message != "" {
		return leaderRefusal{res.StatusCode, "the leader says that " + failed.Text()}
	}
	said, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return leaderRefusal{res.StatusCode, "the leader's address answers: " + cmp.Or(said, res.Status)}
}

func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// hinted adds to an error of TLS which flag settles it.
func hinted(err error) error {
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return fmt.Errorf("%w; --ui-ca-file names the CA of the page's certificate, which is another one at each start "+
			"unless the autoscaler has --ui-tls-cert-file", err)
	case errors.As(err, new(x509.HostnameError)):
		return fmt.Errorf("%w; --ui-server-name names one that is in the page's certificate", err)
	}
	return err
}
