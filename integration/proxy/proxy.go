package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Options say what a proxy stands in front of.
type Options struct {
	// Brokers are addresses of the cluster, host:port; one that answers is enough.
	Brokers []string
	// Host is where the proxy listens, and what answers name in place of the brokers' hosts. Default 127.0.0.1.
	Host string
	// Logger gets what goes wrong inside the proxy, not the faults it makes; nil discards.
	Logger *slog.Logger
}

// dialTimeout bounds connecting to a broker, all its addresses together.
const dialTimeout = 10 * time.Second

// Proxy is a running proxy. Its methods are safe for concurrent use.
type Proxy struct {
	opts  Options
	first *door
	wg    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	// doors are the listeners in place of brokers, by node ID.
	doors  map[int32]*door
	conns  map[*conn]struct{}
	rules  []*Armed
	faults []*Fault
	// healed is closed, and made anew, whenever the faults change: whoever waits because of one looks again.
	healed chan struct{}
	counts map[kmsg.Key]int64
}

// door is one listener. Its targets are what it stands for: any of them for the first door, one for a broker's.
type door struct {
	// node is the broker's ID, -1 for the door that clients begin at.
	node     int32
	listener net.Listener
	// targets belongs to the proxy's lock: a broker may come back at another address.
	targets []string
}

// Start listens and returns at once; the brokers need not be up yet. The caller closes the proxy.
func Start(o Options) (*Proxy, error) {
	if len(o.Brokers) == 0 {
		return nil, errors.New("proxy: no brokers")
	}
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{
		opts: o, doors: map[int32]*door{}, conns: map[*conn]struct{}{}, healed: make(chan struct{}), counts: map[kmsg.Key]int64{},
	}
	var err error
	if p.first, err = p.open(-1, o.Brokers); err != nil {
		return nil, err
	}
	return p, nil
}

// Addr is what clients are given as the cluster's address, host:port.
func (p *Proxy) Addr() string { return p.first.listener.Addr().String() }

// Close ends all connections and listeners and returns when every goroutine of the proxy has ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.first.listener.Close()
	for _, d := range p.doors {
		d.listener.Close()
	}
	for c := range p.conns {
		c.abort()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// Count is how many requests of a kind have arrived from clients, whatever became of them.
func (p *Proxy) Count(key kmsg.Key) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[key]
}

// Connections is how many connections of clients are open.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// open makes a door and serves it. The lock is held, or nobody else knows the proxy yet.
func (p *Proxy) open(node int32, targets []string) (*door, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(p.opts.Host, "0"))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	d := &door{node: node, listener: l, targets: targets}
	p.wg.Go(func() { p.serve(d) })
	return d, nil
}

func (p *Proxy) serve(d *door) {
	for {
		client, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of file descriptors, most likely: it may pass.
			p.opts.Logger.Warn("proxy: accept", "error", err)
			timer := time.NewTimer(50 * time.Millisecond)
			<-timer.C
			continue
		}
		c := newConn(p, d, client)
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			client.Close()
			return
		}
		p.conns[c] = struct{}{}
		p.wg.Go(c.run)
		p.mu.Unlock()
	}
}

// place is the proxy's own address for a broker that an answer names. The broker's door is opened at its first mention.
func (p *Proxy) place(node int32, host string, port int32) (string, int32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return "", 0, net.ErrClosed
	}
	target := net.JoinHostPort(host, strconv.Itoa(int(port)))
	d := p.doors[node]
	if d == nil {
		var err error
		if d, err = p.open(node, nil); err != nil {
			return "", 0, err
		}
		p.doors[node] = d
	}
	d.targets = []string{target}
	return p.opts.Host, int32(d.listener.Addr().(*net.TCPAddr).Port), nil
}

// dial connects to what a door stands for.
func (p *Proxy) dial(ctx context.Context, d *door) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	p.mu.Lock()
	targets := d.targets
	p.mu.Unlock()
	var err error
	for _, target := range targets {
		var c net.Conn
		if c, err = new(net.Dialer).DialContext(ctx, "tcp", target); err == nil {
			return c, nil
		}
	}
	return nil, err
}
