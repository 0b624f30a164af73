package proxy

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rule says which requests are hit, and by what.
type Rule struct {
	// Key is the kind of request.
	Key kmsg.Key
	// ClientID, if not empty, is the client's.
	ClientID string
	// Match, if not nil, must hold too. It must not block and must not call the proxy.
	Match func(*Request) bool
	// Skip is how many requests that match pass before the first is hit.
	Skip int
	// Times is how many are hit; 0 means one, -1 all until Remove.
	Times  int
	Action Action
}

// Action is what happens to a request. The zero value does nothing but count.
type Action struct {
	kind  kind
	delay time.Duration
	err   *kerr.Error
}

type kind int

const (
	pass kind = iota
	dropAnswer
	dropRequest
	duplicate
	duplicateLast
	delayRequest
	delayAnswer
	refuse
	answerWith
)

// DropAnswer lets the broker process the request, waits for its answer, and closes the connection instead of handing it on.
func DropAnswer() Action { return Action{kind: dropAnswer} }

// DropRequest closes the connection without handing the request on. Answers to those before it still arrive.
func DropRequest() Action { return Action{kind: dropRequest} }

// Duplicate sends the request to the broker twice, one right after the other, and hands on the first answer.
func Duplicate() Action { return Action{kind: duplicate} }

// DuplicateLast is Duplicate with the second answer handed on.
func DuplicateLast() Action { return Action{kind: duplicateLast} }

// DelayRequest hands the request on after d, also if its client has given up by then. What follows it on its connection
// waits behind it.
func DelayRequest(d time.Duration) Action { return Action{kind: delayRequest, delay: d} }

// DelayAnswer hands the answer on d after it has come. What follows it on its connection waits behind it.
func DelayAnswer(d time.Duration) Action { return Action{kind: delayAnswer, delay: d} }

// Refuse answers with the error in place of the broker, which does not get the request. Requests whose answers the proxy
// cannot make get their connection closed; see [Refusable].
func Refuse(err *kerr.Error) Action { return Action{kind: refuse, err: err} }

// AnswerWith lets the broker process the request and puts the error in place of its answer: a lie.
func AnswerWith(err *kerr.Error) Action { return Action{kind: answerWith, err: err} }

// Armed is a rule in force.
type Armed struct {
	p    *Proxy
	rule Rule
	// Of the proxy's lock: how many requests matched, how many were hit, and what the broker answered to those; fires is
	// closed and made anew at each change.
	seen, fired int
	answers     []kmsg.Response
	fires       chan struct{}
}

// Add puts a rule in force. It stays, and goes on to count, until it is removed, also when it is used up. Of several rules
// that match a request, the first that is not used up hits it; those behind that one do not see it.
func (p *Proxy) Add(r Rule) *Armed {
	if r.Times == 0 {
		r.Times = 1
	}
	a := &Armed{p: p, rule: r, fires: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, a)
	return a
}

// Remove takes the rule out of force. What it has begun, such as a delay, goes on. It may be called again.
func (a *Armed) Remove() {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	a.p.rules = slices.DeleteFunc(a.p.rules, func(other *Armed) bool { return other == a })
}

// RemoveRules takes all rules out of force.
func (p *Proxy) RemoveRules() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Seen is how many requests have matched, hit or not.
func (a *Armed) Seen() int {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	return a.seen
}

// Fired is how many requests were hit. It counts when the request arrives, before the broker has it.
func (a *Armed) Fired() int {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	return a.fired
}

// Answers are the broker's answers to the requests that were hit, in order, whether or not somebody got them. A request
// that was refused or dropped has none; one that was doubled has two. They must not be changed.
func (a *Armed) Answers() []kmsg.Response {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	return slices.Clone(a.answers)
}

// Wait returns when the rule has fired n times, or with the context's error.
func (a *Armed) Wait(ctx context.Context, n int) error {
	return a.wait(ctx, func() bool { return a.fired >= n })
}

// WaitAnswered returns when the broker has given n of Answers, or with the context's error.
func (a *Armed) WaitAnswered(ctx context.Context, n int) error {
	return a.wait(ctx, func() bool { return len(a.answers) >= n })
}

func (a *Armed) wait(ctx context.Context, until func() bool) error {
	for {
		a.p.mu.Lock()
		reached, fires := until(), a.fires
		a.p.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-fires:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answered notes what the broker said to a request that was hit.
func (a *Armed) answered(key kmsg.Key, version int16, frame []byte) {
	r, err := decodeAnswer(key, version, frame)
	if err != nil || r == nil {
		return
	}
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	a.answers = append(a.answers, r)
	a.changed()
}

// changed wakes those who wait. The lock is held.
func (a *Armed) changed() {
	close(a.fires)
	a.fires = make(chan struct{})
}

// decide returns the rule that hits a request, nil if none does.
func (p *Proxy) decide(q *Request) *Armed {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[q.Key]++
	for _, a := range p.rules {
		r := &a.rule
		if r.Key != q.Key || r.ClientID != "" && r.ClientID != q.ClientID {
			continue
		}
		if r.Match != nil {
			if q.decode(); q.Body == nil || !r.Match(q) {
				continue
			}
		}
		a.seen++
		if a.seen <= r.Skip || r.Times >= 0 && a.fired >= r.Times {
			continue
		}
		a.fired++
		a.changed()
		return a
	}
	return nil
}
