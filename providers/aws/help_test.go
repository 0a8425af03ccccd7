package aws

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func asgWithTags(name string, tags map[string]string) asgtypes.AutoScalingGroup {
	g := asgtypes.AutoScalingGroup{
		AutoScalingGroupName: ptr(name), MinSize: ptr(int32(0)), MaxSize: ptr(int32(10)), DesiredCapacity: ptr(int32(0)),
	}
	for key, value := range tags {
		g.Tags = append(g.Tags, asgtypes.TagDescription{Key: ptr(key), Value: ptr(value)})
	}
	return g
}

// clock is time that stands still until a test moves it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is a simulated AWS and the provider over it, as it ships but for the
// clock, and for a client that asks once for each answer: tests count requests.
type world struct {
	*awstest.Cloud
	*Provider
	clock *clock
	log   *logged
}

// logged is what the provider logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func newWorld(t *testing.T, spec awstest.Spec, cfg Config) *world {
	t.Helper()
	w := &world{clock: newClock(), log: &logged{}}
	var err error
	if w.Cloud, err = awstest.New(spec, w.clock.now); err != nil {
		t.Fatal(err)
	}
	serve(t, w.Cloud)
	settings, err := cfg.read()
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithHTTPClient(awstest.HTTPClient()))
	if err != nil {
		t.Fatal(err)
	}
	if w.Provider, err = newProvider(
		sdk, settings, slog.New(slog.NewTextHandler(w.log, nil)), nil, w.clock.now,
	); err != nil {
		t.Fatal(err)
	}
	return w
}

// serve serves a cloud, and lets the SDK find nothing else.
func serve(t *testing.T, c *awstest.Cloud) {
	t.Helper()
	s, err := awstest.Listen("127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for name, value := range awstest.Environment(s.URL(), "us-east-1") {
		t.Setenv(name, value)
	}
}

// useClock puts the provider onto another clock.
func (p *Provider) useClock(now func() time.Time) {
	p.now, p.nodegroups.now, p.learning.now, p.memory.start = now, now, now, now()
	p.sources.configs.now, p.sources.templates.now, p.sources.images.now = now, now, now
	p.sources.requirements.now, p.sources.machines.live.now = now, now
	if p.prices != nil {
		p.prices.now, p.prices.asking.now, p.prices.fixed.now, p.prices.spot.now = now, now, now, now
	}
}

func (w *world) read(t *testing.T) provider.Inventory {
	t.Helper()
	return providertest.Read(t, w.Provider)
}

func (w *world) group(t *testing.T, name string) provider.Group {
	t.Helper()
	return groupIn(t, w.read(t), name)
}

func groupIn(t *testing.T, inv provider.Inventory, name string) provider.Group {
	t.Helper()
	return providertest.GroupIn(t, inv, provider.GroupID(name))
}

func noticesOf(inv provider.Inventory, code string) []provider.Notice {
	return slices.DeleteFunc(slices.Clone(inv.Notices), func(n provider.Notice) bool { return n.Code != code })
}

// otherNotices are those of any code but one.
func otherNotices(inv provider.Inventory, but string) []provider.Notice {
	return slices.DeleteFunc(slices.Clone(inv.Notices), func(n provider.Notice) bool { return n.Code == but })
}
