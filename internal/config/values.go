package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// minMax is the value of a flag of the form min:max.
type minMax struct{ least, most int64 }

func (l *minMax) String() string { return fmt.Sprintf("%d:%d", l.least, l.most) }
func (l *minMax) Type() string   { return "min:max" }

// Set reads min:max, two whole numbers.
func (l *minMax) Set(s string) error {
	a, b, ok := strings.Cut(s, ":")
	least, err1 := strconv.ParseInt(a, 10, 64)
	most, err2 := strconv.ParseInt(b, 10, 64)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return fmt.Errorf("%q is not of the form min:max, two whole numbers", s)
	case least < 0 || least > most:
		return fmt.Errorf("%q: the minimum must be at least 0 and at most the maximum", s)
	case most > math.MaxInt64/gib:
		return fmt.Errorf("%q: the maximum is above %d", s, math.MaxInt64/gib)
	}
	l.least, l.most = least, most
	return nil
}

// ValueMeant is an error about the value of a flag in words about the flag, with what a person may have meant. Another
// error it is itself.
func ValueMeant(err error) error {
	invalid := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &invalid) {
		return err
	}
	want := wanted(invalid)
	if want == "" {
		return err // the flag's own words
	}
	return &inWords{strings.TrimSuffix(err.Error(), invalid.Unwrap().Error()) + want, err}
}

// valueAlone is an error about the value of a flag in words that do not name the flag.
func valueAlone(err error) error {
	invalid := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("%q: %s", invalid.GetValue(), cmp.Or(wanted(invalid), invalid.Unwrap().Error()))
}

// wanted says what a person may have meant by the value of a flag; empty where the flag has its own words.
func wanted(invalid *pflag.InvalidValueError) string {
	want := map[string]string{
		"int": aWholeNumber, "int32": aWholeNumber, "int64": aWholeNumber,
		"float64": "write a number such as 0.5", "bool": "write true or false", "duration": durationMeant(invalid.GetValue()),
	}[invalid.GetFlag().Value.Type()]
	if want != "" && errors.Is(invalid, strconv.ErrRange) {
		return "it is too large: write a smaller number"
	}
	return want
}

const aWholeNumber = "write a whole number such as 10"

// inWords is an error about the value of a flag in words of our own.
type inWords struct {
	text string
	err  error
}

func (e *inWords) Error() string { return e.text }
func (e *inWords) Unwrap() error { return e.err }

// durationMeant says what a person may have meant by what is no duration.
func durationMeant(value string) string {
	if _, bad := time.ParseDuration(value + "s"); bad == nil {
		return fmt.Sprintf("there is no unit: write %ss for seconds, or %[1]sm for minutes", value)
	}
	for unit, hours := range map[string]float64{"d": 24, "w": 7 * 24} {
		before, ends := strings.CutSuffix(value, unit)
		if n, bad := strconv.ParseFloat(before, 64); ends && bad == nil {
			return fmt.Sprintf("there are no days or weeks, write %vh", hours*n)
		}
	}
	return "write a duration such as 90s, 10m or 1h30m"
}

// check finds everything that is wrong with a configuration, and reads the names of
// expanders on the way.
func (f *Flags) check(c *Config) []error {
	var errs []error
	wrong := func(flag, format string, args ...any) {
		errs = append(errs, flagError{flag: flag, text: fmt.Sprintf(format, args...)})
	}
	switch {
	case c.Cloud.Provider == "" && f.withoutProvider:
	case c.Cloud.Provider == "":
		wrong("cloud-provider", "name one of the providers: %s", f.known())
	case f.entry(c.Cloud.Provider) == nil:
		wrong("cloud-provider", "there is no provider %q; there are: %s", c.Cloud.Provider, f.known())
	}
	c.Policy.ScaleUp.Expanders = f.readExpanders(wrong)
	for flag, d := range map[string]time.Duration{
		"scan-interval": c.Loop.ScanInterval, "nudge-max": c.Loop.NudgeMax, "inventory-deadline": c.Cloud.InventoryDeadline,
		"inventory-max-age": c.Policy.InventoryMaxAge, "call-deadline": c.Policy.CallDeadline,
		"decide-budget":         c.Loop.DecideBudget,
		"max-node-startup-time": c.Policy.Rules.StartupTime, "max-node-provision-time": c.Policy.Rules.ProvisionTime,
		"max-inactivity": c.HTTP.MaxInactivity, "max-failing-time": c.HTTP.MaxFailingTime,
		"max-startup-time": c.HTTP.MaxStartupTime,
	} {
		if d <= 0 {
			wrong(flag, "%s is not a time; it must be above 0", d)
		}
	}
	for flag, d := range map[string]time.Duration{
		"request-timeout": c.Cluster.RequestTimeout,
		"nudge-idle":      c.Loop.NudgeIdle, "new-pod-scale-up-delay": c.Policy.ScaleUp.NewPodDelay,
		"initial-node-group-backoff-duration": c.Policy.Rules.BackoffFirst,
		"max-node-group-backoff-duration":     c.Policy.Rules.BackoffMost,
		"node-group-backoff-reset-timeout":    c.Policy.Rules.BackoffReset,
	} {
		if d < 0 {
			wrong(flag, "%s is below 0", d)
		}
	}
	if c.Loop.NudgeIdle > c.Loop.NudgeMax {
		wrong("nudge-idle", "%s is above --nudge-max, %s", c.Loop.NudgeIdle, c.Loop.NudgeMax)
	}
	if share := c.Policy.Rules.MaxUnreadyShare; !(share >= 0 && share <= 1) {
		wrong("max-total-unready-percentage", "%v is not between 0 and 100", share*100)
	}
	for flag, n := range map[string]int{
		"ok-total-unready-count": c.Policy.Rules.MaxUnready, "max-nodes-total": c.Policy.ScaleUp.MaxNodesTotal,
		"max-nodes-per-scaleup": c.Policy.ScaleUp.MaxNodesPerScaleUp, "kube-client-burst": c.Cluster.Burst,
		"decide-steps": c.Loop.DecideSteps,
	} {
		if n < 0 {
			wrong(flag, "%d is below 0", n)
		}
	}
	for flag, r := range map[string]float64{"memory-difference-ratio": c.Policy.ScaleUp.MemoryRatio,
		"max-free-difference-ratio":        c.Policy.ScaleUp.FreeRatio,
		"max-allocatable-difference-ratio": c.Policy.ScaleUp.AllocRatio} {
		if !(r >= 0 && r <= 1) {
			wrong(flag, "%v is not between 0 and 1", r)
		}
	}
	if qps := float64(c.Cluster.QPS); math.IsNaN(qps) {
		wrong("kube-client-qps", "%v is not a rate", qps)
	}
	if len(c.Policy.ScaleUp.BalanceLabels) > 0 && len(c.Policy.ScaleUp.BalanceIgnore) > 0 {
		wrong("balancing-label", "it cannot be used together with --balancing-ignore-label")
	}
	f.checkScaleDown(&c.Policy.ScaleDown, wrong)
	f.checkMoves(&c.Policy.Moves, wrong)
	if c.Policy.Moves.Return && !c.Policy.ScaleUp.Prefers() {
		wrong("return-to-preferred", "what is preferred is what the priorities say: give priority as the first --expander; "+
			"from dear nodes to cheaper ones it is --consolidation=WhenCheaper")
	}
	f.checkLeader(c.Leader, wrong)
	if _, port, err := net.SplitHostPort(c.HTTP.Address); err != nil {
		wrong("address", "%v (give host:port, or :port)", err)
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		wrong("address", "%q is not a port", port)
	}
	checkPage(c.Page, wrong)
	if t := c.Cluster.ContentType; t != runtime.ContentTypeProtobuf && t != runtime.ContentTypeJSON {
		wrong("kube-api-content-type", "%q is neither %s nor %s", t, runtime.ContentTypeProtobuf, runtime.ContentTypeJSON)
	}
	if strings.ContainsFunc(c.Cluster.UserAgent, unicode.IsControl) {
		wrong("user-agent", "%q has a character that no HTTP header can have", c.Cluster.UserAgent)
	}
	checkKeys(c, wrong)
	if c.Logging.Format != "text" && c.Logging.Format != "json" {
		wrong("logging-format", "%q is neither text nor json", c.Logging.Format)
	}
	checkNames(c, wrong)
	for flag, names := range map[string][]string{
		"allowed-scheduler-names": c.Policy.ScaleUp.Allowed, "bypassed-scheduler-names": c.Policy.ScaleUp.Bypassed,
	} {
		for _, name := range names {
			// The API server accepts more in a pod, but no scheduler has such a name.
			if name == "" || strings.ContainsFunc(name, unicode.IsSpace) {
				wrong(flag, "%q is not the name of a scheduler", name)
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// checkNames finds names that the API server would reject.
func checkNames(c *Config, wrong func(flag, format string, args ...any)) {
	check := func(flag, name string, rule func(string) []string) {
		if name == "" {
			wrong(flag, "it must not be empty")
		} else if no := rule(name); len(no) > 0 {
			wrong(flag, "%q is not a name that the API server accepts: %s", name, no[0])
		}
	}
	check("namespace", c.Cluster.Namespace, validation.IsDNS1123Label)
	if lease := c.Leader.Namespace; lease != "" && lease != c.Cluster.Namespace {
		check("leader-elect-resource-namespace", lease, validation.IsDNS1123Label)
	}
	check("leader-elect-resource-name", c.Leader.Name, validation.IsDNS1123Subdomain)
	check("status-config-map-name", c.Report.StatusConfigMap, validation.IsDNS1123Subdomain)
}

// CheckAsking is an error if the API server would reject a name in the configuration, or cannot be asked like this.
func CheckAsking(c Config) error {
	var errs []error
	checkNames(&c, func(flag, format string, args ...any) {
		errs = append(errs, flagError{flag: flag, text: fmt.Sprintf(format, args...)})
	})
	if c.Cluster.RequestTimeout < 0 {
		errs = append(errs, flagError{flag: "request-timeout", text: fmt.Sprintf("%s is below 0", c.Cluster.RequestTimeout)})
	}
	return errors.Join(errs...)
}

// checkKeys finds what cannot be the key of a taint or a label, and would silently match
// nothing. --ignore-taint is another name of --startup-taint.
func checkKeys(c *Config, wrong func(flag, format string, args ...any)) {
	passing := &c.Policy.Rules.Passing
	for flag, keys := range map[string][]string{
		"startup-taint": passing.Startup, "status-taint": passing.Status, "balancing-label": c.Policy.ScaleUp.BalanceLabels,
		"balancing-ignore-label": c.Policy.ScaleUp.BalanceIgnore,
	} {
		for _, key := range keys {
			if no := validation.IsQualifiedName(key); len(no) > 0 {
				wrong(flag, "%q is not a key (give the key alone, without value and effect): %s", key, no[0])
			}
		}
	}
	for _, prefix := range passing.StartupPrefixes {
		if prefix == "" || strings.ContainsAny(prefix, "=: ") {
			wrong("startup-taint-prefix", "%q is not what a key begins with", prefix)
		}
	}
}

// readExpanders reads the names of expanders, and finds what is wrong with them.
func (f *Flags) readExpanders(wrong func(flag, format string, args ...any)) []model.Expander {
	var out []model.Expander
	for _, name := range strings.Split(f.expanders, ",") {
		e, ok := model.ExpanderNamed(name)
		switch {
		case !ok:
			wrong("expander", "there is no expander %q; there are: %s", name, strings.Join(model.ExpanderNames(), ", "))
			continue
		case slices.Contains(out, e):
			wrong("expander", "%q is there twice", name)
		}
		out = append(out, e)
	}
	return out
}

func (f *Flags) checkLeader(l LeaderElection, wrong func(flag, format string, args ...any)) {
	if f.lock != "leases" {
		wrong("leader-elect-resource-lock", "%q is not supported, leases is", f.lock)
	}
	if !l.Enabled {
		return
	}
	switch {
	case l.RetryPeriod <= 0:
		wrong("leader-elect-retry-period", "%s must be above 0", l.RetryPeriod)
	case float64(l.RenewDeadline) <= 1.2*float64(l.RetryPeriod):
		wrong("leader-elect-renew-deadline", "%s must be above 1.2 times --leader-elect-retry-period, %s",
			l.RenewDeadline, l.RetryPeriod)
	case l.LeaseDuration <= l.RenewDeadline:
		wrong("leader-elect-lease-duration", "%s must be above --leader-elect-renew-deadline, %s",
			l.LeaseDuration, l.RenewDeadline)
	}
}

func checkPage(p Page, wrong func(flag, format string, args ...any)) {
	if p.Address != "" {
		if _, port, err := net.SplitHostPort(p.Address); err != nil {
			wrong("ui-address", "%v (give host:port, or nothing for no page)", err)
		} else if _, err := net.LookupPort("tcp", port); err != nil {
			wrong("ui-address", "%q is not a port", port)
		}
	}
	if (p.CertFile == "") != (p.KeyFile == "") {
		wrong("ui-tls-cert-file", "it needs --ui-tls-private-key-file, and the other way round")
	}
	if p.LogMegabytes < 1 {
		wrong("decision-log-max-size", "%d is not above 0", p.LogMegabytes)
	}
}
