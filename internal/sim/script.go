package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	removals "github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/window"
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// script is a world read from text, one thing per line. What the world is made
// with comes first:
//
//	seed 7
//	flags --scale-down-unneeded-time=5m --max-nodes-total=20    the product's own, and of a budget:
//	      --budget-nodes=1 --budget-rate=2/30m --budget-group=general
//	      --budget-allow=20m                                    in the first 20 minutes of each hour
//	      --prefer=spot,small                                   policies with priorities, the highest first
//	lags watch=10ms..400ms read=1s write=50ms..2s api=10ms..600ms begin=0s restart=20s memory=1s
//
// then what is in it, in the words of testkit.Scenario and a few more:
//
//	pool p min=0 max=5
//	group general min=0 max=10 cpu=4 memory=16Gi zone=a target=3 pool=p
//	      find=5s boot=40s end=30s spread=0.5 zones=a|b register=5s..20s ready=5s..20s
//	group wide ... zones=a|b|c scattered       the cloud puts machines into any of them;
//	                                           without, into that with the fewest
//	group whole ... all-or-nothing
//	group sold ... keeps-requests tells-stock-out  what was asked for cannot be taken
//	                                           back; a hold says that it does not come
//	group harsh ... kills-to-lower             a lowered target ends machines that run
//	group pool ... chooses                     the cloud chooses who goes: all of them or none
//	node own cpu=4 memory=16Gi                 one that no group has
//	daemonset agent cpu=200m memory=100Mi dsevict=true
//	workload web count=30 cpu=1 memory=1Gi
//	         stop=5s..30s start=1s..10s        how long its pods take to end, to be ready
//	budget web min=3                           or max=1; app=name, select=key:value,
//	                                           namespace=name say of which pods
//
// and what happens to it, from an instant on (without one: from the beginning):
//
//	at 2m workload web count=50                at 5m target general 7
//	at 5m refuse web                           the scheduler says no to all its pods; allow
//	at 5m limits general min=1 max=3           at 5m template general cpu=2 memory=8Gi
//	at 5m template general version=2           as before, but those that are there differ from it
//	at 5m zones wide a|b                       there are machines for it in these alone
//	at 5m interrupt any for=2m by=annotation   the cloud tells that it takes its machine (by=cloud: it tells that
//	                                           of the instance; by=taint), and takes it when that time is over
//	at 5m unsound general-00001                it says that something is wrong with it
//	at 5m delete-node general-00001            at 5m cordon general-00001, uncordon ...
//	at 5m kill general-00001                   at 5m drop-group general
//	at 5m crash for=20s                        at 5m crash calls=2 of=Evict
//	at 5m pause for=40s                        the leader's process is stopped
//	at 5m crash writes=1 of=Cordon             when it took effect, before the answer
//	at 5m budget web max=1                     at 5m drop-budget web
//	at 5m annotate general-00001 scale-down-disabled=true
//	at 5m annotate general-00001 delay-deletion/backup=    takes it away
//	at 5m taint general-00001 team=other:NoSchedule, untaint ...
//	at 5m memory garbage                       what the leader remembers is overwritten: garbage,
//	                                           empty, cut
//	at 5m flags --max-nodes-total=9            from the next leader on
//	fault boots=never-register group=general from=2m for=20m share=0.5
//	fault calls=refuse call=Grow error=NoCapacity zone=a from=0s for=10m
//	fault boots=replaced n=10 group=general    none registers; a new one every 10 minutes
//	fault boots=retried n=10 every=5s group=general   not made at first; the cloud goes on
//	                                           trying
//	fault nodes=lost n=15                      Node objects are deleted, machines go on
//	fault api=down, api=slow, api=conflict     the API server as Plimsoll reaches it
//	fault api=stale every=3s                   reads are answered from a state that old
//	fault clock=skewed skew=-16m               the cloud dates what it tells by this clock
//	fault clock=jumps skew=-16m from=5m for=9m the clock where the autoscaler runs is off
//	fault reads=slow every=90s                 reads take up to so much longer
//	fault reads=lies group=general             it is shown as it was, with a fresh date
//	fault reads=partial share=0.3              that share of the instances is not listed
//	fault boots=never-run, boots=wrong-zone    machines that are never ready for a kubelet, or elsewhere
//	fault ids=again                            new machines have the ids and names of those that are gone
//	fault flips n=2 every=3m                   no more than n machines, and then enough again, by turns
//	fault controllers=down                     no pod is made for one that ended
//	fault pods=refused share=0.5               a webhook refuses that share of new pods
//	fault watch=lossy share=0.2 every=5m       changes are missed until all is listed again
//	fault scheduler=down from=5m for=10m       it looks at no pod
//	fault scheduler=late every=2m              it looks at pods up to so much later
//	fault scheduler=picky share=0.5 group=general   a filter of its own is against those nodes
//	fault scheduler=contrary                   it takes the node with the lowest score
//	fault groups=stalled, groups=leaving       the provider holds all of it
//	fault instances=held group=general         and machines without a node
//
// any in place of the name of a node or an instance draws one. A fault's share is the share of
// possible subjects that it affects, every is how often it strikes, n is a number of machines. What
// lists the kinds of faults.
type script struct {
	settings settings
	world    *world
}

// newScript is an empty world with default settings.
func newScript() *script { return &script{settings: defaults(1)} }

// World is the world so far.
func (s *script) World() *world {
	if s.world == nil {
		s.world = New(s.settings)
	}
	return s.world
}

// Add reads lines; a line that begins with a space goes on with the one before.
// An error names the line.
func (s *script) Add(text string) error {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		switch {
		case strings.TrimSpace(line) == "":
		case line[0] == ' ' && len(lines) > 0:
			lines[len(lines)-1] += line
		default:
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		if err := s.line(strings.Fields(line)); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	return nil
}

func (s *script) line(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("a kind and a name are wanted")
	}
	headers := map[string]func([]string) error{"seed": s.seed, "flags": s.flags, "lags": s.lags}
	if set, ok := headers[words[0]]; ok {
		if s.world != nil {
			return fmt.Errorf("%s comes before all that is in the world", words[0])
		}
		return set(words[1:])
	}
	w := s.World()
	switch words[0] {
	case "fault":
		return addFault(w, words[1:])
	case "at":
		at, err := time.ParseDuration(words[1])
		if err != nil || len(words) < 3 || len(words) == 3 && words[2] != "crash" {
			return fmt.Errorf("an instant and what happens are wanted, like: at 2m workload web count=30")
		}
		do, err := happening(w, words[2:])
		if err != nil {
			return err
		}
		w.At(at, func() {
			if deed := What(words[2]); slices.Contains(deeds, deed) || slices.Contains(dueDeeds, deed) {
				w.count(deed, nil)
			}
			w.wrong(do())
		})
		return nil
	case "pool":
		scratch, err := scratchpad(w, words)
		if err != nil {
			return err
		}
		return w.AddPool(scratch.Pools[0])
	case "group":
		return addGroup(w, words)
	case "node":
		scratch, err := scratchpad(w, words)
		if err != nil {
			return err
		}
		w.AddNode(scratch.Observation().Nodes[0].Object)
		return nil
	case "daemonset":
		wish := ""
		rest, err := take(words, map[string]func(string) error{"dsevict": word(&wish)})
		if err != nil {
			return err
		}
		scratch, err := scratchpad(w, rest)
		if err != nil {
			return err
		}
		w.AddDaemonSet(scratch.Observation().DaemonSets[0], wish)
		return nil
	case "workload", "budget":
		do, err := happening(w, words)
		if err != nil {
			return err
		}
		return do()
	}
	return fmt.Errorf("%q is none of seed, flags, lags, pool, group, node, daemonset, workload, budget, at, fault",
		words[0])
}

func (s *script) seed(words []string) error {
	n, err := strconv.ParseUint(words[0], 10, 64)
	s.settings.Seed = n
	return err
}

// flags are the product's own.
func (s *script) flags(words []string) error {
	c, err := parseFlags(words)
	s.settings.Policy, s.settings.Loop, s.settings.Flags = c.Policy, c.Loop, words
	return err
}

// ownCloud is the provider's part of the flags: it has none, and the world makes its cloud itself.
type ownCloud struct{ wiring.Maker }

func (ownCloud) Check(wiring.Host) error { return nil }

// parseFlags has the product's own code parse its flags.
func parseFlags(words []string) (config.Config, error) {
	b, bounded, err := check.ParseBudget(words)
	if err != nil {
		return config.Config{}, err
	}
	var preferred []policy.Policy
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		names, prefers := strings.CutPrefix(w, "--prefer=")
		for _, name := range strings.Split(names, ",") {
			if prefers {
				preferred = append(preferred, policy.Policy{Name: name, Groups: []*regexp.Regexp{policy.Pattern(name)},
					Priority: new(-len(preferred))})
			}
		}
		return prefers || strings.HasPrefix(w, check.BudgetFlag)
	})
	set := pflag.NewFlagSet("flags", pflag.ContinueOnError)
	f := config.Bind(set, []wiring.Entry{{Name: "sim", Bind: func(*pflag.FlagSet) wiring.Maker { return ownCloud{} }}})
	if err := set.Parse(append([]string{"--cloud-provider=sim"}, words...)); err != nil {
		return config.Config{}, err
	}
	c, _, err := f.Config()
	c.Policy.Groups.Policies = append(c.Policy.Groups.Policies, preferred...)
	if err == nil && bounded {
		c.Policy.Budgets, c.Policy.Rules.RateSpan = []removals.Budget{budgetOf(b)}, b.Over
	}
	return c, err
}

// budgetOf is a budget in the product's words.
func budgetOf(b check.Budget) removals.Budget {
	out := removals.Budget{Name: "world"}
	if b.Group != "" {
		out.Of = &policy.Policy{Groups: []*regexp.Regexp{policy.Pattern(b.Group)}}
	}
	if b.Nodes >= 0 {
		out.Nodes = &removals.Amount{Count: b.Nodes}
	}
	if b.Rate >= 0 {
		out.Rate = &removals.Rate{Count: b.Rate, Over: b.Over}
	}
	if b.Allow > 0 {
		w, err := window.Parse(window.Spec{Schedule: "0 * * * *", Duration: b.Allow.String()})
		if err != nil {
			panic(err) // it is written here
		}
		out.Allow = []window.Window{w}
	}
	return out
}

func (s *script) lags(words []string) error {
	l := &s.settings.Lags
	return eachWord(words, map[string]func(string) error{
		"watch": span(&l.Watch), "read": span(&l.Read), "begin": span(&l.Begin), "write": span(&l.Write), "api": span(&l.API),
		"restart": span(&l.Restart), "memory": span(&l.Memory),
	})
}

// eachWord hands each key=value word to the reader of its key.
func eachWord(words []string, known map[string]func(string) error) error {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		set, ok := known[key]
		if !ok {
			return fmt.Errorf("%q is none of %s", key, strings.Join(sortedKeys(known), ", "))
		}
		if err := set(value); err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	return nil
}

func span(to *Span) func(string) error {
	return func(text string) error {
		least, most, ranged := strings.Cut(text, "..")
		if !ranged {
			most = least
		}
		var err1, err2 error
		to.Least, err1 = time.ParseDuration(least)
		to.Most, err2 = time.ParseDuration(most)
		if err1 != nil || err2 != nil || to.Most < to.Least {
			return fmt.Errorf("a duration is wanted, or two of them with .. between")
		}
		return nil
	}
}

func duration(to *time.Duration) func(string) error {
	return func(text string) (err error) {
		*to, err = time.ParseDuration(text)
		return err
	}
}

func number(to *int) func(string) error {
	return func(text string) (err error) {
		*to, err = strconv.Atoi(text)
		return err
	}
}

func fraction(to *float64) func(string) error {
	return func(text string) (err error) {
		*to, err = strconv.ParseFloat(text, 64)
		return err
	}
}

// said reads a word whose presence means yes.
func said(to *bool) func(string) error {
	return func(string) error {
		*to = true
		return nil
	}
}

func word[T ~string](to *T) func(string) error {
	return func(text string) error {
		*to = T(text)
		return nil
	}
}

// scratchpad reads one line of testkit's, with the world's own catalog.
func scratchpad(w *world, words []string) (*testkit.Scenario, error) {
	s := testkit.NewScenario()
	s.Catalog = w.catalog
	return s, s.Add(strings.Join(words, " "))
}

// take splits off the words whose keys are known here.
func take(words []string, known map[string]func(string) error) (rest []string, err error) {
	var own []string
	for _, word := range words {
		key, _, _ := strings.Cut(word, "=")
		if _, ok := known[key]; ok {
			own = append(own, word)
		} else {
			rest = append(rest, word)
		}
	}
	return rest, eachWord(own, known)
}

func addGroup(w *world, words []string) error {
	g := groupSettings{Register: Span{5 * time.Second, 20 * time.Second},
		Ready: Span{5 * time.Second, 20 * time.Second}, Spread: 0.3}
	g.Timing.Find, g.Timing.Boot, g.Timing.End = 3*time.Second, 40*time.Second, 30*time.Second
	whole := false
	rest, err := take(words, map[string]func(string) error{
		"all-or-nothing": said(&whole), "keeps-requests": said(&g.KeepsRequests),
		"tells-stock-out": said(&g.TellsStockOut), "kills-to-lower": said(&g.KillsToLower),
		"find": duration(&g.Timing.Find), "boot": duration(&g.Timing.Boot), "end": duration(&g.Timing.End),
		"spread":   fraction(&g.Spread),
		"register": span(&g.Register), "ready": span(&g.Ready),
		"zones":     func(text string) error { g.Zones = strings.Split(text, "|"); return nil },
		"scattered": said(&g.Scattered),
	})
	if err != nil {
		return err
	}
	scratch, err := scratchpad(w, rest)
	if err != nil {
		return err
	}
	g.Group = scratch.Groups[0]
	g.AllOrNothing = whole
	if g.CloudChooses {
		g.Holds = append(g.Holds, provider.Hold{Op: provider.OpCancel, Reason: string(provider.Unsupported),
			Message: "the cloud would choose who goes"})
	}
	if len(g.Zones) > 0 {
		g.Template.Varies = map[string][]string{corev1.LabelTopologyZone: g.Zones}
		for _, zone := range g.Zones {
			g.Template.Places = append(g.Template.Places,
				provider.Place{Zone: zone, Labels: map[string]string{corev1.LabelTopologyZone: zone}})
		}
		g.Template.Balanced = !g.Scattered
	}
	return w.AddGroup(g)
}

func addFault(w *world, words []string) error {
	var f fault
	what, rest := "", words
	if n := slices.IndexFunc(words, func(word string) bool {
		return isFault(What(word)) || strings.HasPrefix(word, string(stockOut)+"=")
	}); n >= 0 {
		what, rest = words[n], slices.Delete(slices.Clone(words), n, n+1)
	}
	if left, ok := strings.CutPrefix(what, string(stockOut)+"="); ok {
		what = string(stockOut)
		if err := number(&f.N)(left); err != nil {
			return err
		}
	}
	f.What = What(what)
	err := eachWord(rest, map[string]func(string) error{
		"group": word(&f.Group), "zone": word(&f.Zone), "from": duration(&f.From), "for": duration(&f.For),
		"share": fraction(&f.Share), "every": duration(&f.Every), "n": number(&f.N),
		"call": word(&f.Verb), "error": word(&f.Err.Kind), "code": word(&f.Err.Code),
		"retry": duration(&f.Err.RetryAfter), "skew": duration(&f.Skew),
	})
	if err != nil {
		return err
	}
	return w.AddFault(f)
}
