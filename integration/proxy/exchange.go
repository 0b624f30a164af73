package proxy

import (
	"bufio"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// exchange is a request that has no answer yet.
type exchange struct {
	key         kmsg.Key
	version     int16
	correlation [4]byte
	action      Action
	// rule is where the action comes from, nil if there is none.
	rule *Armed
	// body is the decoded request, where the answer is made by the proxy.
	body kmsg.Request
	// own: the proxy answers; the broker does not have the request.
	own bool
	// swallowed: nobody gets the broker's answer.
	swallowed bool
	// kept: the broker shall have the request even if the client is gone.
	kept bool
}

// request does with a request what the rules say; false means that the connection has ended.
func (c *conn) request(q *Request) bool {
	x := &exchange{key: q.Key, version: q.Version, correlation: q.correlation, rule: c.p.decide(q)}
	if x.rule != nil {
		x.action = x.rule.rule.Action
	}
	a := x.action
	item := parcel{frame: q.frame}
	switch a.kind {
	case refuse, answerWith:
		q.decode()
		x.body = q.Body
		x.own = a.kind == refuse
	case dropRequest:
		x.own = true
	case delayRequest:
		item.delay = a.delay
	}
	if q.silent() {
		return x.own || c.push(c.up, item)
	}
	x.kept = a.kind != pass && !x.own
	c.doomed = a.kind == dropRequest || a.kind == dropAnswer
	exchanges := []*exchange{x}
	if a.kind == duplicate || a.kind == duplicateLast {
		twin := *x
		exchanges = append(exchanges, &twin)
		exchanges[0].swallowed, exchanges[1].swallowed = a.kind == duplicateLast, a.kind == duplicate
	}
	c.mu.Lock()
	c.pending = append(c.pending, exchanges...)
	for _, x := range exchanges {
		if x.kept {
			c.kept++
		}
	}
	c.mu.Unlock()
	if !x.own {
		for range exchanges {
			if !c.push(c.up, item) {
				return false
			}
		}
	}
	return c.answerOwn()
}

// answerOwn answers those requests at the head of the line that the proxy answers itself.
func (c *conn) answerOwn() bool {
	for {
		c.mu.Lock()
		if len(c.pending) == 0 || !c.pending[0].own {
			c.mu.Unlock()
			return true
		}
		x := c.pending[0]
		c.pending = c.pending[1:]
		item := parcel{last: x.action.kind == dropRequest}
		if !item.last {
			item = c.refusal(x)
		}
		// Pushed with the lock, so that two who do this keep the order. Who takes from the queue needs no lock.
		ok := c.push(c.down, item)
		c.mu.Unlock()
		if !ok {
			return false
		}
	}
}

func (c *conn) refusal(x *exchange) parcel {
	if x.body != nil {
		if r := refusal(x.body, x.action.err); r != nil {
			return parcel{frame: encodeAnswer(x.correlation, r)}
		}
	}
	c.p.opts.Logger.Warn("proxy: cannot refuse: closing the connection", "request", x.key.Name(), "version", x.version)
	return parcel{last: true}
}

// fromBroker reads answers until the broker closes the connection.
func (c *conn) fromBroker(broker net.Conn) {
	r := bufio.NewReaderSize(broker, 64<<10)
	for {
		frame, err := readFrame(r)
		if err != nil || len(frame) < 8 {
			break
		}
		x := c.next(frame)
		if x == nil || !c.answer(x, frame) || !c.answerOwn() {
			break
		}
	}
	c.push(c.down, parcel{last: true})
}

// next is the request that the broker has answered, nil if it has answered none.
func (c *conn) next(frame []byte) *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 || [4]byte(frame[4:8]) != c.pending[0].correlation {
		return nil
	}
	return c.pending[0]
}

// answer hands an answer on as the rules say; false means that the connection ends.
func (c *conn) answer(x *exchange, frame []byte) bool {
	if x.rule != nil {
		x.rule.answered(x.key, x.version, frame)
	}
	item := parcel{frame: frame}
	switch x.action.kind {
	case dropAnswer:
		item = parcel{last: true}
	case answerWith:
		item = c.refusal(x)
	case delayAnswer:
		item.delay = x.action.delay
	}
	if !item.last && !x.swallowed && x.action.kind != answerWith {
		var err error
		if item.frame, err = c.p.rewrite(x.key, x.version, frame); err != nil {
			c.p.opts.Logger.Warn("proxy: answer", "request", x.key.Name(), "version", x.version, "error", err)
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = c.pending[1:]
	if x.kept {
		c.kept--
		select {
		case c.unkept <- struct{}{}:
		default:
		}
	}
	return x.swallowed || c.push(c.down, item) && !item.last
}
