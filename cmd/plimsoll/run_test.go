package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// tidy is a cloud that has something to clean up.
type tidy struct {
	provider.Provider
	closed time.Time
	left   time.Duration
	err    error
}

func (c *tidy) Close(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	c.closed, c.left = time.Now(), time.Until(deadline)
	return c.err
}

// TestEndingFitsTheGracePeriod: what is not done by then is killed.
func TestEndingFitsTheGracePeriod(t *testing.T) {
	text, err := os.ReadFile("../../charts/plimsoll/templates/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "terminationGracePeriodSeconds: ")
	seconds, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(seconds)
	if err != nil || time.Duration(n)*time.Second < grace+5*time.Second {
		t.Errorf("the chart gives %q seconds, and ending takes up to %s: %v", seconds, grace, err)
	}
	if write := grace - lastStatus - closing; write+closing/2 < 2*time.Minute {
		t.Errorf("a write is left %s, less than --call-deadline is by default", write+closing/2)
	}
}

// TestTheProviderCleansUpAfterASlowWrite: simulated nodes would stay for ever
// where the process ended without that.
func TestTheProviderCleansUpAfterASlowWrite(t *testing.T) {
	for _, c := range []struct {
		name   string
		takes  time.Duration // the write, from now on
		after  time.Duration // until the clean-up
		cloud  error
		errors []string
	}{
		{"no write", 0, 0, nil, nil},
		{"a slow one", 20 * time.Second, 20 * time.Second, nil, nil},
		{"one without end", time.Hour, closing / 2, nil, []string{"finish the write under way"}},
		{"a clean-up that fails", 0, 0, errors.New("boom"), []string{"clean up the provider", "boom"}},
		{"both", time.Hour, closing / 2, errors.New("boom"), []string{"finish the write under way", "boom"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the process was asked to end
			begun, cloud := time.Now(), &tidy{err: c.cloud}
			err := cleanUp(ctx, func(ctx context.Context) error {
				select {
				case <-time.After(c.takes):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}, cloud)
			if cloud.closed.IsZero() || cloud.closed.Sub(begun) != c.after || cloud.left < closing/2 {
				t.Errorf("%s: cleaned up after %s with %s left, want %s", c.name, cloud.closed.Sub(begun), cloud.left, c.after)
			}
			if (err != nil) != (len(c.errors) > 0) {
				t.Errorf("%s: %v", c.name, err)
			}
			for _, want := range c.errors {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v does not say %q", c.name, err, want)
				}
			}
		})
	}
}
