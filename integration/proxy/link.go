package proxy

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Link says which connections a fault is on. The zero value is all of them, also those to come.
type Link struct {
	// Keys, if not empty, are kinds of requests: a connection is meant from the moment on at which it carries one of them, that
	// request included. Clients have connections for producing, for fetching, and for the rest.
	Keys []kmsg.Key
	// ClientID, if not empty, is the client's.
	ClientID string
	// Nodes, if not empty, are the brokers meant; -1 is where clients begin.
	Nodes []int32
	// Existing means only the connections that are open, and meant, when the fault begins.
	Existing bool
}

// Fault is something wrong with a link.
type Fault struct {
	p    *Proxy
	link Link
	// The fault: one of these.
	cut, silent bool
	latency     time.Duration
	rate        int

	// Of the proxy's lock: the connections meant by Existing, those that the fault has met, and how much has been let
	// through in each direction.
	existing map[*conn]bool
	met      map[*conn]bool
	touched  int
	free     [2]time.Time
}

// Cut closes the connections with a reset, and those that come as soon as it is known that they are meant.
func (p *Proxy) Cut(l Link) *Fault { return p.fault(&Fault{link: l, cut: true}) }

// HalfOpen swallows all bytes in both directions; connections stay open and new ones are accepted. Who has missed something
// is closed when the fault is healed, and waits in vain if it never is.
func (p *Proxy) HalfOpen(l Link) *Fault { return p.fault(&Fault{link: l, silent: true}) }

// Latency makes each exchange d longer: half of it on the way there, half on the way back. It limits no throughput.
func (p *Proxy) Latency(l Link, d time.Duration) *Fault { return p.fault(&Fault{link: l, latency: d}) }

// Bandwidth lets bytesPerSecond through in each direction, of all connections together.
func (p *Proxy) Bandwidth(l Link, bytesPerSecond int) *Fault {
	return p.fault(&Fault{link: l, rate: max(1, bytesPerSecond)})
}

func (p *Proxy) fault(f *Fault) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.p, f.met = p, map[*conn]bool{}
	if f.link.Existing {
		f.existing = map[*conn]bool{}
	}
	for c := range p.conns {
		if !f.means(c) {
			continue
		}
		f.meet(c)
		if f.existing != nil {
			f.existing[c] = true
		}
		if f.cut {
			c.reset()
		}
	}
	p.faults = append(p.faults, f)
	p.changed()
	return f
}

// Heal ends the fault: what waits because of it goes on at once. It may be called again.
func (f *Fault) Heal() {
	p := f.p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = slices.DeleteFunc(p.faults, func(other *Fault) bool { return other == f })
	p.changed()
	if !f.silent {
		return
	}
	for c := range p.conns {
		if c.stale && !p.look(c).silent {
			c.reset()
		}
	}
}

// Heal ends all faults.
func (p *Proxy) Heal() {
	p.mu.Lock()
	faults := slices.Clone(p.faults)
	p.mu.Unlock()
	for _, f := range faults {
		f.Heal()
	}
}

// Touched is how many connections the fault has met.
func (f *Fault) Touched() int {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	return f.touched
}

// changed wakes whoever waits because of a fault. The lock is held.
func (p *Proxy) changed() {
	close(p.healed)
	p.healed = make(chan struct{})
}

// means reports whether the fault is on a connection. The lock is held.
func (f *Fault) means(c *conn) bool {
	l := &f.link
	switch {
	case l.ClientID != "" && c.clientID != l.ClientID, len(l.Nodes) > 0 && !slices.Contains(l.Nodes, c.door.node):
		return false
	case len(l.Keys) > 0 && !slices.ContainsFunc(l.Keys, func(k kmsg.Key) bool { return c.keys[k] }):
		return false
	}
	return true
}

func (f *Fault) meet(c *conn) {
	if !f.met[c] {
		f.met[c] = true
		f.touched++
	}
}

// condition is what all faults together do to a connection.
type condition struct {
	cut, silent bool
	latency     time.Duration
	limits      []*Fault
	// changed is closed when this may no longer hold.
	changed <-chan struct{}
}

// look returns the condition of a connection. Whoever asks has bytes in hand: if the link is silent, they are lost, and the
// connection is stale. The lock is held.
func (p *Proxy) look(c *conn) condition {
	now := condition{changed: p.healed}
	for _, f := range p.faults {
		if f.existing != nil && !f.existing[c] || f.existing == nil && !f.means(c) {
			continue
		}
		f.meet(c)
		now.cut = now.cut || f.cut
		now.silent = now.silent || f.silent
		now.latency += f.latency
		if f.rate > 0 {
			now.limits = append(now.limits, f)
		}
	}
	c.stale = c.stale || now.silent
	return now
}

// side is a direction.
type side int

const (
	toBroker side = iota
	toClient
)

// perSecond is in how many pieces a limited link lets a second's bytes through.
const perSecond = 20

// portion is how many of n bytes may go at once through a limited link.
func portion(limits []*Fault, n int) int {
	for _, f := range limits {
		n = min(n, max(1, f.rate/perSecond))
	}
	return n
}

// reserve takes the next free time for n bytes and returns how long it is until they are through.
func (p *Proxy) reserve(limits []*Fault, s side, n int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var wait time.Duration
	for _, f := range limits {
		if f.free[s].Before(now) {
			f.free[s] = now
		}
		f.free[s] = f.free[s].Add(time.Duration(n) * time.Second / time.Duration(f.rate))
		wait = max(wait, f.free[s].Sub(now))
	}
	return wait
}
