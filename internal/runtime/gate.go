package runtime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

type messageKind int

const (
	data messageKind = iota
	watermark
	barrier
)

// message is what moves between subtasks.
type message struct {
	kind       messageKind
	data       any // *batch[T] of data
	events     int // in data
	watermark  int64
	idle       bool
	checkpoint int64
}

// channelCapacity bounds what lies between two subtasks, in messages: 2048 events of a busy channel.
const channelCapacity = 8

// firstGathered is how many events a message may hold before anything is known of who takes them.
const firstGathered = 8

// gate is the input of one subtask: a bounded queue per upstream subtask. The aligner says which channels are held back;
// the gate holds them. One goroutine pops, each channel has one that pushes.
type gate struct {
	mu       sync.Mutex
	ctx      context.Context // of the attempt: ends every wait
	channels []*channel
	next     int // where the round begins, so that no channel starves
	ready    chan struct{}
	// gather is how many events a message may hold: fewer the longer each takes, so that what lies in the gate is done within
	// patience. A barrier waits behind it, and with a fixed number a slow operator would let each checkpoint expire.
	gather   atomic.Int32
	patience time.Duration
}

// channel is one queue of a gate.
type channel struct {
	gate    *gate
	index   int
	queue   []message
	blocked bool
	space   chan struct{}
}

func newGate(ctx context.Context, n int, patience time.Duration) *gate {
	g := &gate{ctx: ctx, ready: make(chan struct{}, 1), patience: patience}
	g.gather.Store(firstGathered)
	for i := range n {
		g.channels = append(g.channels, &channel{gate: g, index: i, space: make(chan struct{}, 1)})
	}
	return g
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// push waits for room. Its error is that of the attempt's context.
func (c *channel) push(m message) error {
	for {
		c.gate.mu.Lock()
		if len(c.queue) < channelCapacity {
			c.queue = append(c.queue, m)
			c.gate.mu.Unlock()
			signal(c.gate.ready)
			return nil
		}
		c.gate.mu.Unlock()
		select {
		case <-c.space:
		case <-c.gate.ctx.Done():
			return context.Cause(c.gate.ctx)
		}
	}
}

// tryPop returns the next message of a channel that is not held back.
func (g *gate) tryPop() (channel int, m message, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.channels {
		c := g.channels[(g.next+i)%len(g.channels)]
		if c.blocked || len(c.queue) == 0 {
			continue
		}
		m = c.queue[0]
		copy(c.queue, c.queue[1:])
		c.queue[len(c.queue)-1] = message{}
		c.queue = c.queue[:len(c.queue)-1]
		g.next = (c.index + 1) % len(g.channels)
		signal(c.space)
		return c.index, m, true
	}
	return 0, message{}, false
}

// wait returns when a message may be there, or wake fires, or the attempt ends.
func (g *gate) wait(wake <-chan time.Time) error {
	select {
	case <-g.ready:
		return nil
	case <-wake:
		return nil
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
}

// took tells how long a message of so many events took.
func (g *gate) took(d time.Duration, events int) {
	if events == 0 {
		return
	}
	// Each channel has its queue, and one message more at who pushes.
	inGate := int64(len(g.channels)) * (channelCapacity + 1)
	most := int64(g.patience) / max(1, inGate*int64(d)/int64(events))
	if n := int32(min(max(most, 1), batchSize)); n != g.gather.Load() {
		g.gather.Store(n)
	}
}

// hold holds channels back, or lets them go again.
func (g *gate) hold(blocked bool, channels ...int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range channels {
		g.channels[c].blocked = blocked
	}
}
