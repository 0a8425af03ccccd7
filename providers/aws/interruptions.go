package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// interruptions are what a queue says of machines that AWS is about to take. A message stays in the queue until its
// machines have gone, so that the process that leads next hears of it, too: what is here is its copy.
type interruptions struct {
	client    *sqs.Client
	queue     string // a name or a URL
	rebalance bool
	now       func() time.Time
	log       *slog.Logger
	counted   func(about string)
	// pause is the first pause after an error; it grows to longestPause.
	pause time.Duration
	most  int // of letters

	heard chan struct{} // there is something new
	spent chan struct{} // there may be something to delete

	mu      sync.Mutex
	begun   bool
	url     string
	letters map[string]*letter // by message id
	foreign int                // of these
	full    bool               // there are messages that are not among them
	marks   map[provider.InstanceID]*provider.Interruption
	reading error // why the queue is not read now
	ending  error // why messages are not deleted now
}

// letter is a message in the queue.
type letter struct {
	word
	handle   string
	received time.Time
	// absent is how many complete reads in a row had none of its machines.
	absent int
	// spent: it is to be deleted.
	spent bool
}

const (
	// pollFor is how long SQS waits for a message, at most, and answerIn how long an answer may take beside that.
	pollFor  = 20 * time.Second
	answerIn = 10 * time.Second
	// hiddenFor is how long a message that was read is not given again. A process that takes over hears of it after that.
	hiddenFor = 30 * time.Second
	// absentReads and absentFor are when a machine is believed to be none of the groups': new ones are listed late.
	absentReads = 3
	absentFor   = time.Minute
	// mostLetters bounds what is remembered. What is beyond that stays in the queue.
	mostLetters   = 10_000
	mostForeign   = 100 // of what is no event, and only logged
	lettersAtOnce = 10  // of SQS
	longestPause  = time.Minute
)

func newInterruptions(sdk aws.Config, s settings, log *slog.Logger, now func() time.Time) *interruptions {
	x := &interruptions{
		client: sqs.NewFromConfig(sdk), queue: s.queue, rebalance: s.rebalance, now: now, log: log,
		counted: func(string) {}, pause: time.Second, most: mostLetters,
		heard: make(chan struct{}, 1), spent: make(chan struct{}, 1),
		letters: map[string]*letter{}, marks: map[provider.InstanceID]*provider.Interruption{},
	}
	if strings.Contains(s.queue, "/") {
		x.url = s.queue
	}
	return x
}

// checkQueue says what is wrong with the name or the URL of a queue.
func checkQueue(queue string) error {
	wrong := func(why string) error { return fmt.Errorf("%s: %s", quotedFlag("aws-interruption-queue", queue), why) }
	name := queue
	switch rest, secure := strings.CutPrefix(queue, "https://"); {
	case queue == "":
		return nil
	case strings.HasPrefix(queue, "arn:"):
		return wrong("it is an ARN; give the queue's name or its URL")
	case strings.Contains(queue, "/"):
		if plain, ok := strings.CutPrefix(queue, "http://"); ok {
			rest, secure = plain, true
		}
		if !secure || strings.Count(rest, "/") < 1 || strings.HasPrefix(rest, "/") {
			return wrong("it is no URL of a queue, such as https://sqs.eu-west-1.amazonaws.com/123456789012/plimsoll")
		}
		name = queue[strings.LastIndex(queue, "/")+1:]
	}
	if strings.HasSuffix(name, ".fifo") {
		return wrong("a FIFO queue holds back what is behind a message, and messages stay until their machines have gone; " +
			"make a standard queue")
	}
	ok := func(r rune) bool {
		return r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if name == "" || len(name) > 80 || strings.ContainsFunc(name, func(r rune) bool { return !ok(r) }) {
		return wrong("a queue's name has 1 to 80 letters, digits, - and _")
	}
	return nil
}

// listening is a provider that reads a queue while it leads.
type listening struct{ *Provider }

var (
	_ provider.Starter  = listening{}
	_ provider.Notifier = listening{}
)

// Start begins to read the queue, until ctx ends. Only the process that leads does: a message that one process has read
// is hidden from the others.
func (p listening) Start(ctx context.Context) error {
	x := p.interruptions
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun {
		return nil
	}
	x.begun = true
	go x.listen(ctx)
	go x.tidy(ctx)
	return nil
}

// Notify calls changed when there is a new message.
func (p listening) Notify(ctx context.Context, changed func()) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.interruptions.heard:
			changed()
		}
	}
}

// listen reads messages until ctx ends.
func (x *interruptions) listen(ctx context.Context) {
	pause := x.pause
	for ctx.Err() == nil {
		useful, err := x.receive(ctx)
		if err == nil && useful {
			pause = x.pause
			continue
		}
		// Where nothing is said to us, as in a queue of others, not much is to be hidden from them.
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		pause = min(2*pause, longestPause)
	}
}

// tidy deletes what is spent until ctx ends: after each read of the cloud, what failed before, too.
func (x *interruptions) tidy(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.spent:
			x.sweep(ctx)
		}
	}
}

// receive waits for messages and notes them. It reports whether there were none or some for us.
func (x *interruptions) receive(ctx context.Context) (useful bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollFor+answerIn)
	defer cancel()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.reading = err
	}()
	url, err := x.address(ctx)
	if err != nil {
		return false, err
	}
	out, err := x.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: lettersAtOnce, WaitTimeSeconds: int32(pollFor / time.Second),
		VisibilityTimeout: int32(hiddenFor / time.Second),
	})
	if err != nil {
		return false, fmt.Errorf("receive messages: %w", err)
	}
	useful = len(out.Messages) == 0
	for _, m := range out.Messages {
		useful = x.note(deref(m.MessageId), deref(m.ReceiptHandle), deref(m.Body)) || useful
	}
	return useful, nil
}

// address is the queue's URL.
func (x *interruptions) address(ctx context.Context) (string, error) {
	x.mu.Lock()
	url := x.url
	x.mu.Unlock()
	if url != "" {
		return url, nil
	}
	out, err := x.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &x.queue})
	if err != nil {
		return "", fmt.Errorf("find the queue %s: %w", x.queue, err)
	}
	if deref(out.QueueUrl) == "" {
		return "", fmt.Errorf("find the queue %s: the answer has no URL", x.queue)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.url = *out.QueueUrl
	return x.url, nil
}

// note remembers a message, and reports whether it is one of EventBridge. One that is given again has a new handle.
func (x *interruptions) note(id, handle, body string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if l, ok := x.letters[id]; ok {
		l.handle = handle
		return l.about != aboutForeign
	}
	now := x.now()
	l := &letter{word: wordOf(body, now), handle: handle, received: now}
	switch {
	case l.about == aboutForeign && x.foreign >= mostForeign:
		return false
	case l.about == aboutForeign:
		x.foreign++
	case len(x.letters) >= x.most && !x.forget():
		x.full = true
		return false
	}
	x.counted(l.about)
	x.letters[id] = l
	if l.about == aboutRebalance && !x.rebalance || l.about == aboutOther || l.about == aboutUnreadable {
		l.spent = true
		if x.ending == nil { // else it is tried after the next read
			poke(x.spent)
		}
	} else if l.about != aboutForeign {
		poke(x.heard)
	}
	switch l.about {
	case aboutForeign:
		l.over = now.Add(closedFor)
		x.log.Warn("a message in the queue of interruptions is no event of EventBridge; it is left there",
			"message", bounded(id), "why", l.why)
	case aboutUnreadable:
		x.log.Warn("a message in the queue of interruptions cannot be understood; it is deleted",
			"message", bounded(id), "why", l.why)
	}
	return l.about != aboutForeign
}

// forget makes room: a message that is to be deleted, and has not been, is given again. It reports whether there was
// one.
func (x *interruptions) forget() bool {
	oldest := ""
	for id, l := range x.letters {
		if l.spent && (oldest == "" || l.received.Before(x.letters[oldest].received) ||
			l.received.Equal(x.letters[oldest].received) && id < oldest) {
			oldest = id
		}
	}
	delete(x.letters, oldest)
	return oldest != ""
}

// tell marks the machines that AWS is about to take, by a complete read that began at a moment, and gives what keeps
// that from being known. Without a queue nothing is known.
func (x *interruptions) tell(groups []provider.Group, all []reading, asOf time.Time) []provider.Notice {
	if x == nil {
		return nil
	}
	there := map[provider.InstanceID]bool{}
	for _, g := range all {
		for _, i := range g.Instances {
			if p := phaseOf(i.LifecycleState); p != gone && p != deleting {
				there[provider.InstanceID(deref(i.InstanceId))] = true
			}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.settle(there, asOf)
	soonest := map[provider.InstanceID]*word{}
	for _, l := range x.letters {
		for _, id := range l.instances {
			if was := soonest[id]; !l.spent && there[id] && (was == nil || l.sooner(was)) {
				soonest[id] = &l.word
			}
		}
	}
	marks := map[provider.InstanceID]*provider.Interruption{}
	for i := range groups {
		for j := range groups[i].Instances {
			in := &groups[i].Instances[j]
			w := soonest[in.ID]
			if w == nil || in.State == provider.Deleting {
				continue
			}
			// The same is told by the same value, so that nothing has changed.
			if in.Interrupted = x.marks[in.ID]; in.Interrupted == nil || *in.Interrupted != w.Interruption {
				in.Interrupted = new(w.Interruption)
				x.log.Info("AWS is about to take an instance", "instance", in.ID, "group", groups[i].ID, "why", w.Kind,
					"since", w.Since, "until", w.Until)
			}
			marks[in.ID] = in.Interrupted
		}
	}
	x.marks = marks
	poke(x.spent)
	return x.troubles()
}

// settle finds out which messages are spent.
func (x *interruptions) settle(there map[provider.InstanceID]bool, asOf time.Time) {
	now := x.now()
	x.full = x.full && len(x.letters) >= x.most
	closed := x.closed()
	over := func(l *letter, id provider.InstanceID) bool {
		end, ended := closed[ending{l.event, id}]
		return l.event != "" && !l.closed && ended && !l.Since.After(end)
	}
	for id, l := range x.letters {
		before := len(l.instances)
		l.instances = slices.DeleteFunc(l.instances, func(i provider.InstanceID) bool { return over(l, i) })
		switch {
		case l.spent:
		case !now.Before(l.over) && l.about == aboutForeign:
			delete(x.letters, id)
			x.foreign--
		case l.about == aboutForeign:
		case !now.Before(l.over), over(l, ""), before > 0 && len(l.instances) == 0 && len(l.done) == 0:
			l.spent = true
		case len(l.done) > 0 && len(l.instances) == 0:
			l.spent = !now.Before(l.Since.Add(closedFor))
		case l.closed, !l.received.Before(asOf): // the read may have begun before the machine did
		case slices.ContainsFunc(l.instances, func(i provider.InstanceID) bool { return there[i] }):
			l.absent = 0
		default:
			l.absent++
			l.spent = l.absent >= absentReads && now.Sub(l.received) >= absentFor
		}
	}
}

// ending is an event that is over: for one instance alone, or for all.
type ending struct {
	event string
	of    provider.InstanceID
}

// closed is when events were last said to be over.
func (x *interruptions) closed() map[ending]time.Time {
	out := map[ending]time.Time{}
	note := func(e ending, at time.Time) {
		if out[e].Before(at) {
			out[e] = at
		}
	}
	for _, l := range x.letters {
		if l.closed {
			note(ending{l.event, ""}, l.Since)
		}
		for _, id := range l.done {
			note(ending{l.event, id}, l.Since)
		}
	}
	return out
}

// sweep deletes what is spent. What SQS does not delete is tried again; where it does not answer, after the next read.
func (x *interruptions) sweep(ctx context.Context) {
	x.mu.Lock()
	handles := map[string]string{}
	for id, l := range x.letters {
		if l.spent {
			handles[id] = l.handle
		}
	}
	url := x.url
	x.mu.Unlock()
	var errs []error
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(handles)), lettersAtOnce) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &url}
		for n, id := range ids {
			in.Entries = append(in.Entries, sqstypes.DeleteMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(n)), ReceiptHandle: aws.String(handles[id])})
		}
		answered, err := x.remove(ctx, in, ids)
		if errs = append(errs, err); !answered {
			break
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ending = nil
	for _, err := range errs {
		x.ending = cmp.Or(x.ending, err)
	}
}

// remove deletes some messages, of which the ids are in the order of the request.
func (x *interruptions) remove(
	ctx context.Context, in *sqs.DeleteMessageBatchInput, ids []string,
) (answered bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	out, err := x.client.DeleteMessageBatch(ctx, in)
	if err != nil {
		return false, fmt.Errorf("delete messages: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, done := range out.Successful {
		if n, err := strconv.Atoi(deref(done.Id)); err == nil && n >= 0 && n < len(ids) {
			delete(x.letters, ids[n])
		}
	}
	if len(out.Failed) > 0 {
		f := out.Failed[0]
		return true, fmt.Errorf("delete messages: %d were not deleted, one because of %s: %s", len(out.Failed),
			bounded(deref(f.Code)), bounded(deref(f.Message)))
	}
	return true, nil
}

// troubles is what keeps the queue from being read, or messages from being deleted.
func (x *interruptions) troubles() []provider.Notice {
	var out []provider.Notice
	tell := func(what string, err error) {
		if err != nil && !errors.Is(err, context.Canceled) {
			out = append(out, notice("", noticeNoInterruptions, "%s", steady(what, err)))
		}
	}
	tell("could not read the queue of interruptions (what AWS is about to take is not known by it meanwhile; messages "+
		"stay in the queue)", x.reading)
	tell("could not delete messages from the queue of interruptions (they are read again, which does no harm)", x.ending)
	if x.full {
		tell("could not remember all that the queue of interruptions says", fmt.Errorf(
			"there are more than %d messages; those beyond stay in the queue, and are read when others are deleted", x.most))
	}
	return out
}

// poke signals once, whether or not something waits for it now.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
