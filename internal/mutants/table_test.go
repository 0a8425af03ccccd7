package mutants

// table has the behaviours that are broken, one at a time, under the rules of docs/architecture.md (L, P, S), the use
// cases of the registry's design (UC), and what is bounded besides.
var table = []mutant{
	// Intent, unknown ends, old readings (L1 to L4).
	{"L1: a growth is expected only once it is read", "internal/growth/calls.go", unit,
		`g.Expected, g.written = c.To, now
	units :=`, `g.written = now
	units :=`},
	{"L1: a call does not keep its pool busy", "internal/ledger/standing.go", unit,
		`|| (c.Pool != "" && l.groups[gid].Pool == c.Pool)`, ``},
	{"L1: a removal does not keep its group busy", "internal/ledger/state.go", unit,
		`c.Verb == model.Grow || c.Verb == model.Cancel || c.Verb == model.Remove`,
		`c.Verb == model.Grow || c.Verb == model.Cancel`},
	{"L1: writes to one pool run side by side", "internal/act/lane.go", unit,
		`return "pool/" + string(call.Pool)`, `return "pool/" + call.ID`},
	{"L2: a growth of unknown end counts as refused", "internal/growth/calls.go", unit | play | worlds,
		`} else if o.Err != nil && !unknown {`, `} else if o.Err != nil {`},
	{"L2: a removal of unknown end is believed", "internal/growth/calls.go", unit,
		`if g.unsure = true; o.Call.Verb`, `if g.unsure = false; o.Call.Verb`},
	{"L2: a Remove of unknown end counts as refused", "internal/removal/advance.go", unit,
		`{removeDone, removeUnknown,`, `{removeDone, removeRefused,`},
	{"L3: an old read lowers the target", "internal/growth/group.go", unit,
		`(f.Seen.Inventory.AsOf.After(g.written) && !busy)`, `!busy`},
	{"L4: what was written counts as seen at once", "internal/ledger/nodes.go", unit, `return o >= a`, `return o >= a || true`},

	// What a node is, and what is on its way (L5, L6, UC1, UC2, UC7).
	{"L5: a node younger than the picture belongs to no group", "internal/snapshot/snapshot.go", unit,
		`n.Unknown = !ok && b.snap.AsOf.Before(o.Object.CreationTimestamp.Add(time.Second))`,
		`_ = time.Second`},
	{"L6, UC1: what is coming does not count", "internal/snapshot/snapshot.go", unit | play,
		`g.ComingNodes = max(0,`, `g.ComingNodes = min(0,`},
	{"L6: what was given up counts as coming", "internal/snapshot/snapshot.go", unit,
		`-registered-g.GivenUp()`, `-registered`},
	{"UC2: a node that boots counts as unready", "internal/model/nodestate.go", unit,
		`case young:
		return StateYoung, until`, `case young && startup < 0:
		return StateYoung, until`},
	{"UC7: a node on its way out counts as unready", "internal/model/nodestate.go", unit,
		`		HasTaint(n, TaintToBeDeleted):
		return StateBeingDeleted`, `		HasTaint(n, "none"):
		return StateBeingDeleted`},

	// Room that removals have reserved (L7).
	{"L7: pods of open drains have no room reserved", "internal/decide/decide.go", unit, `m.room.PlaceBegun()`, ``},
	{"L7: pods of drafts have no room reserved", "internal/decide/decide.go", unit, `m.room.GatherDrafts(m.wanted)`, ``},
	{"L7: an emptied node takes no pods that wait", "internal/removal/next.go", unit,
		`case v.Wanted && d.Stage == model.Evicting:`, `case false:`},
	{"L7: the taint is kept where pending pods fit", "internal/removal/next.go", unit, `case v.Wanted:`, `case false:`},
	{"services lose pods while no controller works", "internal/removal/failure.go", unit | play,
		`|| !mayMake(d):`, `|| false:`},
	{"a controller that was scaled down keeps its nodes", "internal/decide/reserve/lacking.go", play,
		`m.ending || d.Came || model`, `m.ending || model`},
	{"the pods of a drain may be homeless", "internal/removal/next.go", unit, `return v.Homeless
}`, `return nil
}`},

	// Timers (L8).
	{"L8: the times of others are believed", "internal/growth/wait.go", unit,
		`return model.Latest(model.Earlier(of.Created, in.first), in.least)`, `return of.Created`},
	{"L8: time runs while no process leads", "internal/growth/memory.go", unit,
		`alone > 0 && u.Open()`, `alone < 0 && u.Open()`},
	{"L8: a node is as old as another clock says", "internal/model/nodestate.go", unit,
		`Latest(n.CreationTimestamp.Time, known.Born).Add(startup)`, `n.CreationTimestamp.Add(startup)`},
	{"L8: timers run while no machines can be made", "internal/growth/wait.go", unit,
		`	g.deadline.Stop(now)
	if g.stalls {`, `	if g.stalls {`},
	{"L8: backoff is forgotten at a restart", "internal/growth/memory.go", unit,
		`if r := g.Rests.Of(model.RestFailed); !r.Since.IsZero() {`,
		`if r := g.Rests.Of(model.RestFailed); false {`},
	{"L8: scale-ups are forgotten at a restart", "internal/growth/memory.go", unit,
		`m.Asks = append(m.Asks, g.asksToRemember()...)`, `_ = g.asksToRemember`},
	{"L8: unneeded time is forgotten at a restart", "internal/ledger/memory.go", unit,
		`l.nodes.put(name, model.NodeStanding{UnneededSince: since})`, `_, _ = name, since`},
	{"L8: a new leader does not wait after endings", "internal/growth/progress.go", unit,
		`if first && f.Inherited {`, `if false {`},
	{"L8: a removal found half done is not taken back", "internal/removal/seen.go", unit,
		`if since, isTainted := taintedSince(n); isTainted {`, `if since, isTainted := taintedSince(n); isTainted && false {`},
	{"unregistered time halved", "internal/growth/wait.go", unit | worlds,
		`until := w.Since.Add(provision)`, `until := w.Since.Add(provision / 2)`},
	{"time to become an instance halved", "internal/growth/wait.go", unit,
		`until := deadline.From(a.At).Add(provision)`, `until := deadline.From(a.At).Add(provision / 2)`},
	{"unneeded time ignored", "internal/decide/scaledown/start.go", unit | play | worlds,
		`return since, wait, model.NotUnneededLongEnough`, `return since, 0 * wait, model.NotUnneededLongEnough`},
	{"UC6: unready time ignored", "internal/decide/scaledown/start.go", unit | worlds,
		`return since, wait, model.NotUnreadyLongEnough`, `return since, 0 * wait, model.NotUnreadyLongEnough`},
	{"unneeded time goes on while a node turns unready", "internal/ledger/nodes.go", unit,
		`&& !n.UnneededSince.IsZero() {
			// It has`, `&& false {
			// It has`},
	{"cooldowns off", "internal/decide/scaledown/start.go", unit | play | worlds,
		`!c.since.IsZero() && until.After(now) {`, `until.After(now) && false {`},
	{"no cooldown while a scale-up is under way", "internal/decide/scaledown/start.go", unit,
		`len(b.Growing) > 0 && (!local || here)`, `len(b.Growing) > 1000 && (!local || here)`},

	// The look again, the lease, the age of the picture (L9 to L12).
	{"L9: no last look before a machine ends", "internal/act/remove.go", unit,
		`out.Landed, out.Err = a.lookAgain(ctx, j.call)`, `out.Err = nil`},
	{"L9: no look after the cordon", "internal/act/node.go", unit,
		`if landed, err := a.strangers(ctx, call); err != nil {`,
		`if landed, err := a.strangers(ctx, call); err != nil && landed == nil {`},
	{"L9: a node without its taint goes all the same", "internal/act/look.go", unit,
		`case !model.HasTaint(n, model.TaintToBeDeleted):`, `case false:`},
	{"L10: a stale picture is acted on", "internal/gate/checks.go", unit | play | worlds,
		`if !q.policy.Stale(q.snap.Now, q.snap.AsOf) {`, `if true {`},
	{"L10: calls begin after the lease is lost", "internal/act/act.go", unit,
		`if err := a.may(); err != nil {`, `if err := error(nil); err != nil {`},
	{"L11: a newer read is never decided on", "internal/loop/loop.go", unit,
		`return asOf.Equal(l.snap.AsOf) || !l.awaits`, `return !asOf.IsZero()`},
	{"L12: each nudge is a turn", "internal/loop/loop.go", unit, `idle.Stop()
			continue`, `idle.Stop()`},
	{"L12: a refused pod speaks for itself alone", "internal/snapshot/snapshot.go", unit,
		`q.Refused = q.Refused || p.Flags`, `q.Refused = p.Flags`},

	// The provider's side (P1 to P9), and what the core believes of it.
	{"P1: a write cut off did not happen", "providers/kube/errors.go", unit,
		`e.MayHaveHappened = !refused(err) || ctx.Err() != nil`, `e.MayHaveHappened = false`},
	{"P4: a provider grows above the maximum", "providers/kwok/write.go", unit, `if req.To > g.max {`, `if false {`},
	{"P4: a provider grows from an old target", "providers/kwok/write.go", unit,
		`	live := seen.live(g.name)
	if live != req.From {
		return provider.GrowResult`, `	live := seen.live(g.name)
	if false {
		return provider.GrowResult`},
	{"P6: machines whose ids drifted are ended", "internal/decide/repair/repair.go", unit | play | worlds,
		`if asOld(w.Created, skew, n) && (CouldBe(g, n) || f.astray(g, n)) {`,
		`if asOld(w.Created, skew, n) && (CouldBe(g, n) || f.astray(g, n)) && false {`},
	{"P6: strays do not hold a cancellation", "internal/decide/repair/repair.go", unit | play,
		`n = max(0, n-len(held))`, `n = max(n, 0)`},
	{"P6: an instance that registered meanwhile is ended", "internal/act/look.go", unit,
		`if (call.ProviderID != "" && n.Spec.ProviderID == call.ProviderID) ||`, `if false &&`},
	{"P7: an empty answer is believed", "internal/inventory/inventory.go", unit | play,
		`answer.Others == 0 && len(k.inventory.Groups) > 0 {`, `answer.Others == 0 && false {`},
	{"P7: a missing group is forgotten at once", "internal/inventory/inventory.go", unit | play,
		`if n.answers >= forgetGroupAfter {`, `if n.answers >= 1 {`},
	{"P7: a Ready node is not believed against the cloud", "internal/inventory/inventory.go", unit | play,
		`if ready(&a.instance) {`, `if false {`},
	{"P7: a list cut short counts as whole", "providers/kube/list.go", unit,
		`if answer.GetContinue() != "" {`, `if false {`},

	// Health (S1, S2, UC3, UC8).
	{"S1, UC8: a sick cluster is acted on", "internal/ledger/ledger.go", unit | play | worlds,
		`if !l.rules.TooMany(unready, all) {`, `if true {`},
	{"S1: removals go on in a sick cluster", "internal/decide/halted.go", unit,
		`if step.Verb == model.Untaint {`, `if false {`},
	{"S1: lost Node objects do not count", "internal/model/rules.go", unit,
		`unready, all = ours.Unready+ours.Lost, `, `unready, all = ours.Unready, `},
	{"S2: a sick group grows", "internal/gate/checks.go", unit,
		`func(q question) *model.Verdict { return q.group.Unhealthy }`, `func(question) *model.Verdict { return nil }`},
	{"UC3: duds do not stop their group", "internal/model/rules.go", unit,
		`return duds > 0 && (`, `return duds < 0 && (`},

	// What does not arrive (S4, UC4, UC5).
	{"UC4: a target is never lowered", "internal/decide/repair/repair.go", unit | play, `n = min(n, spare(g, f.pools))`, `n = 0`},
	{"UC4: a target is lowered by one too many", "internal/decide/repair/repair.go", unit | play | worlds,
		`To: g.Expected - n, Reason`, `To: g.Expected - n - 1, Reason`},
	{"ADR 11: a resized group is grown in the same plan", "internal/decide/repair/repair.go", unit,
		`access.Close(other, model`, `_ = other; access.Close(-1, model`},
	{"UC5: what never registered stays", "internal/model/standing.go", unit | play, `return w.Long ||`, `return`},
	{"UC5: all that never registered go at once", "internal/model/rest.go", unit | play,
		`func MostEndings(group int) int { return max(3, group/10) }`,
		`func MostEndings(group int) int { return max(3, group) + 1000 }`},
	{"UC5: below the minimum", "internal/decide/repair/repair.go", unit,
		`if !force && spare(g, f.pools) <= 0 {`, `if force && spare(g, f.pools) < 0 {`},

	// After failures.
	{"no backoff at all", "internal/growth/rests.go", unit | play | worlds,
		`r.Since, r.Until = now, now.Add(r.Length)`, `r.Since, r.Until = now, now`},
	{"backoff does not double", "internal/growth/rests.go", unit,
		`	case !resting:
		r.Length = min(2*r.Length, f.Rules.BackoffMost)`, ``},
	{"backoff doubles without end", "internal/growth/rests.go", unit,
		`r.Length = min(2*r.Length, f.Rules.BackoffMost)`, `r.Length = 2 * r.Length`},
	{"a scale-up that works does not end backoff", "internal/growth/progress.go", unit,
		`g.endBackoff(f, "a scale-up succeeded")`, ``},
	{"a node does not rest after a removal in vain", "internal/decide/scaledown/eligible.go", unit,
		`if !until.After(f.Snapshot.Now) {`, `if true {`},
	{"refused removals do not rest", "internal/growth/rests.go", unit, `if r.Count > 1 {`, `if r.Count > 1000 {`},
	{"L8: the place of a lost machine keeps its old time", "internal/growth/life.go", play,
		`if u.Since.IsZero() || !was.Lost.IsZero() {`, `if u.Since.IsZero() {`},
	{"a node keeps its time while no group has it", "internal/ledger/nodes.go", unit,
		`if !n.UnneededSince.IsZero() && !model.NodeReady(object) {`, `if false {`},
	{"evicted pods move from one unneeded node to the next", "internal/decide/scaledown/candidates.go", unit,
		`c.since = f.sinceMoved(&c)`, ``},
	{"all pods of a service leave at once", "internal/decide/scaledown/start.go", unit, `return b.last(c)`, `return nil`},
	{"pods take the nodes that were bought for others", "internal/schedsim/place.go", unit,
		`return ok && w.has(w.claimed, i) && !w.has(own, i)`, `return false`},
	{"after a brake's hour all is bought at once", "internal/decide/scaleup/trial.go", unit,
		`return max(0, 1+4*helped-bought)`, `return max(0, 100*(1+helped)-bought)`},
	{"growth in vain is repeated", "internal/decide/scaleup/brake.go", unit | play, `if b.stands(old) {`, `if false {`},

	// Limits.
	{"one node above a group's maximum", "internal/decide/scaleup/limits.go", unit,
		`l.room[i] = max(0, g.Max-g.Expected)`, `l.room[i] = max(0, g.Max-g.Expected+1)`},
	{"one node above a pool's maximum", "internal/decide/scaleup/limits.go", unit,
		`l.pools[s.Pools[i].ID] = s.Pools[i].Max`, `l.pools[s.Pools[i].ID] = s.Pools[i].Max + 1`},
	{"one node above the cluster's maximum", "internal/decide/scaleup/limits.go", unit,
		`l.nodes = max(0, p.MaxNodesTotal-l.count)`, `l.nodes = max(0, p.MaxNodesTotal-l.count+1)`},
	{"one node below a group's minimum", "internal/decide/scaledown/minimums.go", unit,
		`l.groups[i] = s.Groups[i].Expected - s.Groups[i].Min`, `l.groups[i] = s.Groups[i].Expected - s.Groups[i].Min + 1`},
	{"one node below a pool's minimum", "internal/decide/scaledown/minimums.go", unit,
		`l.pools[pool.ID] = -pool.Min`, `l.pools[pool.ID] = 1 - pool.Min`},
	{"more removals at a time than allowed", "internal/decide/scaledown/start.go", unit, `case b.parallel < count:`, `case false:`},
	{"more unready nodes end than the rate allows", "internal/decide/scaledown/start.go", unit,
		`if v := b.Rate.Held(n.Group); v != nil {`, `if v := b.Rate.Held(n.Group); v != nil && false {`},

	// Moves (M1 to M8).
	{"M5: what a policy says of moves does not count", "internal/model/due.go", unit,
		`	take(&p.Consolidation, own.Consolidation)
`, ``},
	{"M5: a move may cost more than it saves", "internal/decide/replace/replace.go", unit | play,
		`return saved > tiny*m.Before && saved >= least`, `return saved >= -m.Before && saved >= least-m.Before`},
	{"M3: old nodes of a move go while pods have nodes bought", "internal/decide/scaledown/scaledown.go", unit,
		`if why == nil && !b.hurries(c) {`, `if false {`},
	{"M3: what a move buys holds its old nodes", "internal/growth/group.go", play,
		`if t.Growth = o.Ended; !o.Call.Reason.OfMove() {`, `if t.Growth = o.Ended; true {`},
	{"M6: others take the place of a move in the budgets", "internal/decide/scaledown/scaledown.go", unit,
		`moves := slices.Concat(f.Snapshot.Moves, f.moving)`, `moves := f.moving`},
	{"M6: a budget holds nodes whose machine is about to be taken", "internal/budget/budget.go", unit,
		`if reason == Interrupted || len(l.Reasons) > 0`, `if len(l.Reasons) > 0`},

	// What is kept from turn to turn.
	{"pods that came or went are not counted", "internal/snapshot/kept.go", unit,
		`row.Generation != n.Generation ||`, ``},
	{"classes keep the numbers that they had", "internal/snapshot/kept.go", unit, `if !moved {`, `if true {`},
	{"a node before its second move is not in the log", "internal/schedsim/undo.go", unit,
		`if c.was.epoch < m.before {`, `if false {`},

	// What people see.
	{"the ring forgets nothing", "internal/decisions/book.go", unit, `case len(b.ring)-drop > b.count:`, `case false:`},
	{"large decisions fill the memory", "internal/decisions/book.go", unit, `case b.size > b.bytes:`, `case false:`},
	{"what became of a call is not noted", "internal/decisions/book.go", unit, `d.Calls[i].end(out)`, ``},
	{"the page answers for any host", "internal/ui/guard.go", unit, `if !loopback(r.Host) {`, `if false {`},
	{"scripts may stand in the page", "internal/ui/guard.go", unit, `script-src 'self'`, `script-src 'unsafe-inline'`},
	{"any token is believed", "internal/ui/door.go", unit, `valid := err == nil && review.Status.Authenticated`,
		`valid := err == nil`},
	{"a stranger may send wrong tokens without end", "internal/ui/door.go", unit, `case s.failures >= mostFailures:`, `case false:`},
	{"a token that was taken back is believed", "internal/ui/door.go", unit, `if known && age < believed {`, `if known {`},
	{"questions wait without end", "internal/ui/explain.go", unit, `if d.open == mostOpen {`, `if false {`},
	{"a pod in its node's network shows the page", "cmd/plimsoll/show.go", unit, `case pods.Items[0].Spec.HostNetwork:`, `case false:`},
	{"any user with a token may see all", "internal/ui/guard.go", unit,
		`return answer.Status.Allowed && !answer.Status.Denied, nil`, `return answer != nil, nil`},
	{"tenants see names of others", "internal/ui/api.go", unit, `if n != only && n != "" {`, `if n == only {`},
	{"the page is open where other machines reach it", "cmd/plimsoll/show.go", unit, `s.Allow = ui.Ask(client)`, ``},
	{"the page is open to all of its node", "cmd/plimsoll/show.go", unit,
		`why = exposed(ctx, client)`, `why = nil`},
}
