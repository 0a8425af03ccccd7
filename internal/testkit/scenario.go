package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Scenario is a cluster read from text, one thing per line:
//
//	group general min=0 max=10 cpu=8 memory=32Gi zone=a taint=dedicated=x:NoSchedule pool=p price=0.4
//	pool p min=1 max=5 sizing=Equitable
//	node n1 group=general                 a ready node of the group
//	node n2 group=general notready age=1m one that has just registered
//	node n4 group=general age=1m machine=40m   one that has registered long after its machine was made
//	node n5 group=general interrupted=spot told=5s taken=115s   the cloud says that it takes its machine, and when
//	node n3 group=general cpu=3 zone=b adds=k=v:NoSchedule notready=5m   and how it differs
//	node own cpu=4 memory=16Gi            one that no group has
//	pods web count=30 cpu=1 memory=1Gi    pods that the scheduler has refused
//	pods old count=3 cpu=1 node=n1        pods that run on n1
//	instance i1 group=general age=20m     one without a node; failed=NoCapacity
//	asked general count=2 age=16m for=web   a growth in flight for these pods, without instances
//	asked general count=2 for=web:8,api:3   so many of each; bought=3: one was not granted
//	arrived n1 ready=10s for=web          a node that was bought for these pods
//	braked general for=web node=n1 reason=TemplateMismatch age=5m   a growth that did not help;
//	                                      over=1s: its end was so long ago; trials=1: after so many in vain
//	doubted web since=7m                  the scheduler refuses pods that fit ready nodes
//	daemonset agent cpu=200m memory=100Mi   unmade=3m: no pod could be made for so long
//	budget web namespace=default app=web allowed=1 healthy=3/3 wanted=2   a PodDisruptionBudget
//	unneeded n1 since=5m                  nothing has needed it since then
//	held n1 why=NotEnoughPdb age=5m       what has kept it, and since when
//	failed n1 why=EvictionRefused age=1m rest=10m   its removal failed, and it rests
//	last growth age=5m group=general      or removal, or failure: when it was, in that group; demand: a growth for
//	                                      anything but a move
//	last interruption of=n9 group=spot age=20m   the cloud has taken its machine, or is about to
//	last eviction of=web age=1m           when pods of web were evicted, from whatever node;
//	                                      again=2: and pods that came for those, twice in a row
//	drain n1 stage=Evicting since=1m began=2m occupied evicted=web-3:20s granted   it is on its way out
//
// Groups may also say: whole (all or nothing), threshold=0.7, unneeded-time=5m,
// unreadable (it could be read before), unread (never since the process began),
// zones=a|b|c (the cloud puts a new node where the group has the fewest; scattered:
// anywhere), types=big|small (it picks one). A node of such a group says
// zone=a, type=big; an instance zone=a.
// Nodes may also say: cordoned, disabled (annotated so that it is not removed),
// annotate=key=value,key=value, deleting (it has the taint, and no drain of ours),
// ended (the cloud ends its machine, by no doing of ours),
// tainted=10s, removing, removed (it is empty, and on its way out), unneeded=5m.
//
// Pods may also say: spread=zone[:skew][|host[:skew]], apart=host, together=zone (each about
// pods of the app named by with=, else their own), select=key:value,
// affinity=key:value|value,key:value;key:value, tolerate=key, priority=n, calm (they
// preempt none), port=n, labels=key:value, namespace=name, scheduler=name, said=why_not
// (the scheduler's words), unseen (no scheduler has looked at them), nominated=node (it
// makes room there), gated, claim (they want a dynamic resource). zone and host are short
// for their labels. Every pod has the label app with its name.
//
// A ReplicaSet by their name and namespace has made them, unless it was another
// controller=Kind, controller=Kind.group, or controller=none. What may become of
// them is said by evict=true|false|on-completion, alone=true|4h (do-not-disrupt), local=volume (an emptyDir),
// dsevict=true|false, grace=60s, namespace=kube-system (kubesystem for short), and
// what has by age=2h, ends=30s (being deleted, and 30 s are left; -30s: it should
// have been gone for as long), finished, mirror (a static pod's image), daemon (of
// a DaemonSet).
//
// A drain gives its node the taint of its stage and, when its pods are being
// evicted, our cordon with the annotation that says so (cordon=no: none). The pods
// known when it began are known=web-1,web-2, or known: those on it so far. An
// eviction is pod:first[/last][:granted|busy|refused] with how long ago it was
// first and last asked for; granted, busy or refused as a word of its own is what
// became of the others. web-3 is the third pod of web, kube-system/dns-1 one
// elsewhere. Further words: call=Evict (one on the node is open), unready, why=,
// code=, notbefore=5s, group= (it had this one), moved=5m (pods were, under a leader
// before).
type Scenario struct {
	*Cluster
	Policy model.Policy
	// Standing overrides the ledger's result; Memory is what the ledger begins with.
	Standing model.Standing
	Memory   model.Memory
	askedFor map[string]string // app by ask
	arrived  []arrival
	braked   []brake
	doubted  map[string]time.Time // app → since when
	lasts    []last
	back     map[provider.GroupID][]time.Time // machines that registered late
}

// arrival is a node that was bought for the pods of an app.
type arrival struct {
	model.Arrival
	app string
}

// brake is a group that is held for the pods of an app.
type brake struct {
	model.Brake
	app string
}

// Snapshot is the scenario as seen through the ledger and the snapshot.
func (s *Scenario) Snapshot(p model.Policy) *model.Snapshot {
	seen := s.Observation()
	in := &seen.Inventory
	in.Groups, seen.Settled, seen.SettledUntil = p.Groups.Groups(in.Groups, seen.Now)
	m := s.Memory
	plain := snapshot.New(nil, seen, model.Standing{}, p.Rules)
	// The names of its pods identify an app's class: its labels may not be part of the class.
	class := func(app string) string {
		for _, q := range plain.Pending {
			if strings.HasPrefix(q.Pods[0].Name, app+"-") {
				return plain.Classes[q.Class].Digest()
			}
		}
		for _, n := range plain.Nodes {
			for _, p := range n.Bound {
				for _, b := range n.Batches {
					if c := &plain.Classes[b.Class]; strings.HasPrefix(p.Name, app+"-") && c.Spec == plain.Contents.Specs[p.Spec] {
						return c.Digest()
					}
				}
			}
		}
		return ""
	}
	m.Asks = slices.Clone(m.Asks)
	for i := range m.Asks {
		a := &m.Asks[i]
		for app := range strings.SplitSeq(s.askedFor[a.ID], ",") {
			app, count, counted := strings.Cut(app, ":")
			if app != "" {
				a.For = append(a.For, class(app))
			}
			if n, err := strconv.Atoi(count); counted && err == nil {
				a.Pods = append(a.Pods, n)
			}
		}
	}
	for _, a := range s.arrived {
		a.For = []string{class(a.app)}
		m.Arrivals = append(m.Arrivals, a.Arrival)
	}
	for _, k := range s.braked {
		k.Class = class(k.app)
		for i := range plain.Groups {
			if plain.Groups[i].ID == k.Group {
				k.Template = plain.Contents.Shapes[plain.Groups[i].Shape].Digest()
			}
		}
		m.Brakes = append(m.Brakes, k.Brake)
	}
	doubts := map[string]model.Doubt{}
	for app, since := range s.doubted {
		doubts[class(app)] = model.Doubt{Since: since}
	}
	book := ledger.Restore(p.Rules, m)
	book.Fold(seen, nil)
	standing := book.Standing()
	standing.Doubts = doubts
	for id, g := range s.Standing.Groups {
		was := standing.Groups[id]
		was.Expected, was.Ending = g.Expected, g.Ending
		standing.Groups[id] = was
	}
	for id, times := range s.back {
		g := standing.Groups[id]
		g.Back = times
		standing.Groups[id] = g
	}
	for _, l := range s.lasts {
		l.set(&standing)
	}
	for name, n := range s.Standing.Nodes {
		standing.Nodes[name] = n
	}
	return snapshot.New(nil, seen, standing, p.Rules)
}

// NewScenario makes an empty cluster under the default policy.
func NewScenario() *Scenario {
	return &Scenario{Cluster: New(), Policy: Policy(), askedFor: map[string]string{},
		back: map[provider.GroupID][]time.Time{}, Standing: model.Standing{
			Groups: map[provider.GroupID]model.GroupStanding{}, Nodes: map[string]model.NodeStanding{},
		}}
}

// Add reads lines; an error names the line.
func (s *Scenario) Add(text string) error {
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := s.line(words); err != nil {
			return fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	return nil
}

// asked is a scale-up that an earlier leader has asked for.
func (s *Scenario) asked(a args) {
	n := a.number("count", 1)
	if g := s.find(a.name); g.Template != nil {
		g.Target += n
	}
	s.askedFor["asked/"+a.name] = a.get("for", "")
	s.Memory.Asks = append(s.Memory.Asks, model.Ask{
		ID: "asked/" + a.name, Group: provider.GroupID(a.name), At: s.ago(a, "age"),
		Bought: a.number("bought", n), Units: make([]model.Unit, n),
	})
}

func (s *Scenario) line(words []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	if len(words) < 2 {
		return fmt.Errorf("a kind and a name are wanted")
	}
	a := args{name: words[1], m: map[string]string{}, used: map[string]bool{}}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		a.m[k] = v
	}
	switch words[0] {
	case "group":
		s.group(a)
	case "pool":
		s.Pools = append(s.Pools, provider.Pool{
			ID: provider.PoolID(a.name), Min: a.number("min", 0), Max: a.number("max", 0), Sizing: a.get("sizing", ""),
		})
	case "node":
		s.node(a)
	case "pods":
		s.pods(a)
	case "instance":
		s.instance(a)
	case "asked":
		s.asked(a)
	case "arrived":
		s.arrived = append(s.arrived, arrival{
			model.Arrival{Node: a.name, Group: provider.GroupID(a.get("group", "")), Ready: s.ago(a, "ready")}, a.get("for", ""),
		})
	case "braked":
		k := model.Brake{Group: provider.GroupID(a.name), Node: a.get("node", ""),
			Reason: model.Reason(a.get("reason", string(model.TemplateMismatch))), Since: s.ago(a, "age"),
			Namespace: a.get("namespace", ""), Trials: a.number("trials", 0)}
		if a.has("over") {
			k.Until = s.ago(a, "over")
		}
		s.braked = append(s.braked, brake{k, a.get("for", "")})
	case "doubted":
		if s.doubted == nil {
			s.doubted = map[string]time.Time{}
		}
		s.doubted[a.name] = s.ago(a, "since")
	case "daemonset":
		s.DaemonSet(a.name, s.pod(a))
		if a.has("unmade") {
			s.daemons[len(s.daemons)-1].Unmade = s.ago(a, "unmade")
		}
	case "budget":
		s.budget(a)
	case "unneeded":
		s.stands(s.known(a.name), func(n *model.NodeStanding) { n.UnneededSince = s.ago(a, "since") })
	case "held":
		s.stands(s.known(a.name), func(n *model.NodeStanding) {
			n.Held, n.HeldSince = model.Reason(a.get("why", "")), s.ago(a, "age")
		})
	case "failed":
		s.stands(s.known(a.name), func(n *model.NodeStanding) {
			n.Failed = model.Failure{At: s.ago(a, "age"), Why: a.get("why", ""), Rest: a.duration("rest")}
		})
	case "drain":
		s.drain(a)
	case "move":
		s.move(a)
	case "last":
		s.last(a)
	case "expected":
		id := provider.GroupID(a.name)
		s.Standing.Groups[id] = model.GroupStanding{Expected: a.number("target", 0), Ending: a.number("ending", 0)}
	default:
		return fmt.Errorf("%q is none of group, pool, node, pods, instance, asked, arrived, braked, doubted, daemonset, "+
			"budget, unneeded, held, failed, drain, move, last, expected", words[0])
	}
	for k := range a.m {
		if !a.used[k] {
			return fmt.Errorf("%s does not take %q", words[0], k)
		}
	}
	return nil
}
