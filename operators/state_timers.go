package operators

import (
	"fmt"

	"github.com/weirstream/weir/stream"
)

// Timers are times at which something is to happen for a key: event times or processing times, as the operator takes
// them. All of them are held in memory, sorted by time; the store keeps them for a restore only.
type Timers struct {
	cells[struct{}]
	q    timerQueue
	text []byte // the key, the time and the namespace being looked up
}

// timerSpace is the length of a timer's namespace: the time and the caller's number.
const timerSpace = 16

// NewTimers declares timers of the operator and loads those of its key groups. The error is the store's.
func NewTimers(ctx *Context, name string) (*Timers, error) {
	t := new(Timers)
	t.init()
	t.closed = true
	t.q.buckets = make(map[int64]*timerBucket)
	if err := t.declare(ctx, t, StateDesc{Name: name, Kind: "timers", Type: "timer", Version: 1}, noCodec{}); err != nil {
		return nil, err
	}
	err := t.store.ScanState(ctx.Groups, t.id, func(group stream.KeyGroup, key string, space, _ []byte) error {
		if len(space) != timerSpace {
			return fmt.Errorf("a timer of key %q has a namespace of %d bytes instead of %d", key, len(space), timerSpace)
		}
		ctx.SetKey(group, key)
		ts := intOf(space)
		c := t.insert(t.name(ts, intOf(space[8:])), stLive)
		t.live++
		t.q.push(ts, c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("state %q: %w", name, err)
	}
	return t, nil
}

func (t *Timers) name(ts, ns int64) entryName {
	k := &t.ctx.key
	t.text = appendInt(appendInt(append(t.text[:0], k.key...), ts), ns)
	return entryName{borrow(t.text), timerSpace, mixed(mixed(k.hash, ts), ns), k.group}
}

// Add sets a timer of the current key; ns tells apart those of one time. A timer that is set already stays as it is.
func (t *Timers) Add(ts, ns int64) error {
	name := t.name(ts, ns)
	c := t.index.find(name.hash, name.text)
	if c != nil && c.state() == stLive {
		return nil
	}
	old := c
	c = t.set(name, struct{}{})
	if old == c && c.flags&flagTimer != 0 {
		t.q.revive(ts)
	} else {
		t.q.push(ts, c)
	}
	return nil
}

// Delete takes a timer of the current key away, if it is set.
func (t *Timers) Delete(ts, ns int64) error {
	name := t.name(ts, ns)
	c := t.index.find(name.hash, name.text)
	if c == nil || c.state() != stLive {
		return nil
	}
	t.bury(c)
	t.q.drop(ts)
	return nil
}

// Next is the time of the earliest timer, [stream.MaxTime] if there is none.
func (t *Timers) Next() int64 { return t.q.next() }

// Pop takes the earliest timer away if its time is not after upTo; ok is false if there is none. Timers come in order of
// time, then key, then namespace.
func (t *Timers) Pop(upTo int64) (group stream.KeyGroup, key string, ts, ns int64, ok bool) {
	if ts = t.q.next(); ts > upTo || t.live == 0 {
		return 0, "", 0, 0, false
	}
	c := t.q.pop()
	t.bury(c)
	var b [8]byte
	copy(b[:], c.space()[8:])
	return c.group, c.key(), ts, intOf(b[:]), true
}

// Bytes implements [Table].
func (t *Timers) Bytes() int64 {
	return t.cells.Bytes() + int64(t.q.items)*16 + int64(len(t.q.buckets))*96
}

// Evict implements [Table]: timers stay in memory.
func (t *Timers) Evict(bytes int64, _ int) (stuck bool) { return t.Bytes() > bytes }

// noCodec is that of timers, which have no value.
type noCodec struct{}

func (noCodec) Type() string                                  { return "timer" }
func (noCodec) Version() int                                  { return 1 }
func (noCodec) Append(dst []byte, _ struct{}) ([]byte, error) { return dst, nil }
func (noCodec) Decode([]byte) (v struct{}, err error)         { return v, nil }
