package runtime

import (
	"context"
	"sync"
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
	watermark  int64
	idle       bool
	checkpoint int64
}

// channelCapacity bounds what lies between two subtasks, in messages: 2048 events of a busy channel.
const channelCapacity = 8

// gate is the input of one subtask: a bounded queue per upstream subtask. The aligner says which channels are held back;
// the gate holds them. One goroutine pops, each channel has one that pushes.
type gate struct {
	mu       sync.Mutex
	ctx      context.Context // of the attempt: ends every wait
	channels []*channel
	next     int // where the round begins, so that no channel starves
	ready    chan struct{}
}

// channel is one queue of a gate.
type channel struct {
	gate    *gate
	index   int
	queue   []message
	blocked bool
	space   chan struct{}
}

func newGate(ctx context.Context, n int) *gate {
	g := &gate{ctx: ctx, ready: make(chan struct{}, 1)}
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

// hold holds channels back, or lets them go again.
func (g *gate) hold(blocked bool, channels ...int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range channels {
		g.channels[c].blocked = blocked
	}
}
