package proxy

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is one connection of a client, and the one to the broker behind it.
type conn struct {
	p      *Proxy
	door   *door
	client net.Conn
	// up and down hold what is to be written to the broker and to the client, in order.
	up, down chan parcel
	// done is closed when the connection ends.
	done chan struct{}
	once sync.Once

	// doomed: what the client still sends is not read by anybody. Only the reader of the client's requests uses it.
	doomed bool

	mu     sync.Mutex
	broker net.Conn
	// pending are the requests without an answer, oldest first. Those at its head always wait for the broker.
	pending []*exchange
	// kept counts those that a rule wants the broker to have, whatever the client does; unkept tells of a change.
	kept   int
	unkept chan struct{}

	// Of the proxy's lock: what is known of the connection, and whether bytes of it were swallowed.
	keys     map[kmsg.Key]bool
	clientID string
	stale    bool
}

// queued is how many requests or answers may wait to be written, on each connection and side.
const queued = 64

// parcel is something to be written, or, as the last one, the end of the connection.
type parcel struct {
	frame []byte
	at    time.Time
	delay time.Duration
	last  bool
}

func newConn(p *Proxy, d *door, client net.Conn) *conn {
	return &conn{
		p: p, door: d, client: client, up: make(chan parcel, queued), down: make(chan parcel, queued), done: make(chan struct{}),
		unkept: make(chan struct{}, 1), keys: map[kmsg.Key]bool{},
	}
}

// run serves the connection until it ends.
func (c *conn) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		<-c.done
		cancel()
	})
	wg.Go(func() { c.toBroker(ctx, &wg) })
	wg.Go(c.toClient)
	c.fromClient()
	c.abort()
	wg.Wait()
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	delete(c.p.conns, c)
	for _, f := range c.p.faults {
		delete(f.met, c)
		delete(f.existing, c)
	}
}

// abort ends the connection. Its goroutines return soon after.
func (c *conn) abort() {
	c.once.Do(func() {
		close(c.done)
		c.client.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.broker != nil {
			c.broker.Close()
		}
	})
}

// reset is abort, and the client sees that the connection was not closed in order.
func (c *conn) reset() {
	if tcp, ok := c.client.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.abort()
}

// look is the proxy's, with its lock.
func (c *conn) look() condition {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.p.look(c)
}

// learn notes what a request tells about its connection, and returns the condition of it.
func (c *conn) learn(q *Request) condition {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.keys[q.Key] = true
	if q.ClientID != "" {
		c.clientID = q.ClientID
	}
	return c.p.look(c)
}

// fromClient reads requests until the client is gone, and longer if a rule wants the broker to have one.
func (c *conn) fromClient() {
	if c.peek().cut {
		c.reset()
		return
	}
	r := bufio.NewReaderSize(c.client, 64<<10)
	for {
		frame, err := readFrame(r)
		if err != nil {
			break
		}
		q, err := parseRequest(frame)
		if err != nil {
			c.p.opts.Logger.Warn("proxy: request", "error", err)
			break
		}
		switch now := c.learn(q); {
		case now.cut:
			c.reset()
			return
		case now.silent || c.doomed:
			continue
		}
		if !c.request(q) {
			return
		}
	}
	for {
		c.mu.Lock()
		kept := c.kept
		c.mu.Unlock()
		if kept == 0 {
			return
		}
		select {
		case <-c.unkept:
		case <-c.done:
			return
		}
	}
}

// push hands a parcel to a writer; false means that the connection has ended.
func (c *conn) push(to chan parcel, item parcel) bool {
	item.at = time.Now()
	select {
	case to <- item:
		return true
	case <-c.done:
		return false
	}
}

// toBroker writes requests to the broker, to which it connects for the first.
func (c *conn) toBroker(ctx context.Context, wg *sync.WaitGroup) {
	for {
		var item parcel
		select {
		case item = <-c.up:
		case <-c.done:
			return
		}
		if !c.hold(item) {
			return
		}
		if c.broker == nil {
			broker, err := c.p.dial(ctx, c.door)
			if err != nil {
				c.abort()
				return
			}
			c.mu.Lock()
			c.broker = broker
			c.mu.Unlock()
			select {
			case <-c.done:
				broker.Close()
				return
			default:
			}
			wg.Go(func() { c.fromBroker(broker) })
		}
		if c.write(c.broker, toBroker, item.frame) != nil {
			// The broker has closed the connection: whoever reads from it tells the client, after what it said before.
			c.drain(c.up)
			return
		}
	}
}

// toClient writes answers to the client.
func (c *conn) toClient() {
	for {
		var item parcel
		select {
		case item = <-c.down:
		case <-c.done:
			return
		}
		if !c.hold(item) {
			return
		}
		if item.last {
			c.abort()
			return
		}
		if c.write(c.client, toClient, item.frame) != nil {
			// The client is gone, which fromClient sees; the broker may still have to get something.
			c.drain(c.down)
			return
		}
	}
}

// drain throws away what is written until the connection ends.
func (c *conn) drain(from chan parcel) {
	for {
		select {
		case item := <-from:
			if item.last {
				c.abort()
			}
		case <-c.done:
			return
		}
	}
}

// hold waits until a parcel is due; false means that the connection has ended.
func (c *conn) hold(item parcel) bool {
	for {
		now := c.peek()
		wait := time.Until(item.at.Add(item.delay + now.latency/2))
		if wait <= 0 {
			return true
		}
		if !c.wait(wait, now.changed) {
			return false
		}
	}
}

// peek is look with nothing in hand that could be lost.
func (c *conn) peek() condition {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	stale := c.stale
	now := c.p.look(c)
	c.stale = stale
	return now
}

// wait waits for the time or for a change; false means that the connection has ended.
func (c *conn) wait(d time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-c.done:
		return false
	}
	return true
}

// write writes a frame as the link allows. On a silent link the frame is lost, which is no error.
func (c *conn) write(to net.Conn, s side, frame []byte) error {
	for len(frame) > 0 {
		now := c.look()
		if now.silent {
			return nil
		}
		n := portion(now.limits, len(frame))
		if len(now.limits) > 0 && !c.wait(c.p.reserve(now.limits, s, n), now.changed) {
			return net.ErrClosed
		}
		if _, err := to.Write(frame[:n]); err != nil {
			return err
		}
		frame = frame[n:]
	}
	return nil
}
