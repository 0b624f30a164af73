package operators

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// frozen is the changes of one epoch.
type frozen[V any] struct {
	state   uint16
	name    string
	codec   Codec[V]
	epoch   uint64
	n       int
	cells   []*cell[V]
	spare   []*cell[V]  // cells emptied for reuse, once done
	done    atomic.Bool // set when Encode will read no more
	average *atomic.Int64
	read    uint32
}

var errEncodedTwice = errors.New("the changes of a checkpoint can be encoded once")

// Len implements [Frozen].
func (f *frozen[V]) Len() int { return f.n }

// Encode implements [Frozen]. It can be repeated after an error, but not after success: the slots are in use again then.
func (f *frozen[V]) Encode(w ChangeWriter) error {
	if f.done.Load() {
		return fmt.Errorf("state %q: %w", f.name, errEncodedTwice)
	}
	var buf []byte
	var err error
	cw, numbered := w.(CellWriter)
	i, puts, size := f.epoch&1, int64(0), int64(0)
	for some := range slices.Chunk(f.cells, PrefetchMost) {
		for _, c := range some {
			if c != nil {
				f.read += c.size + uint32(c.first(i)) // reads ahead, as Prefetcher does
			}
		}
		for _, c := range some {
			if c == nil || c.st[i] == stAbsent {
				continue
			}
			if numbered {
				cw.Cell(c.number)
			}
			switch c.st[i] {
			case stLive:
				if buf, err = f.codec.Append(buf[:0], c.v[i]); err != nil {
					return fmt.Errorf("state %q: key %q: encoding: %w", f.name, c.key(), err)
				}
				puts, size = puts+1, size+int64(len(buf))
				err = w.Put(c.group, f.state, c.key(), keyBytes(c.space()), buf)
			case stDead:
				err = w.Delete(c.group, f.state, c.key(), keyBytes(c.space()))
			}
			if err != nil {
				return fmt.Errorf("state %q: key %q: %w", f.name, c.key(), err)
			}
		}
	}
	if puts > 0 {
		f.average.Store(size / puts)
	}
	clear(f.cells)
	f.spare, f.cells = f.cells[:0], nil
	f.done.Store(true)
	return nil
}
