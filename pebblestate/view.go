package pebblestate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/weirstream/weir/stream"
)

// View is the state of a checkpoint to look at: nothing is written to it and no base is made of it. Its deltas are in
// memory and its base is on the local disk, as after [Open].
type View struct{ b *Backend }

// Entry is one entry of a state. Its bytes are valid until the next one is asked for.
type Entry struct {
	Group                 stream.KeyGroup
	Key, Namespace, Value []byte

	name []byte // the key and what follows, as Pebble sorts them
}

// Compare orders entries of one state, and of the same state in two checkpoints, as [View.Entries] gives them.
func (e *Entry) Compare(other *Entry) int {
	return cmp.Or(cmp.Compare(e.Group, other.Group), bytes.Compare(e.name, other.name))
}

// OpenView fetches and verifies the state of a checkpoint, as [Open] does, into opts.Dir. [View.Close] removes that
// directory. Errors wrap [ErrCorrupt] if it is not what was written; nothing is left then.
func OpenView(ctx context.Context, opts Options, restore Restore) (*View, error) {
	opts.EnsureDefaults()
	b, err := openBackend(ctx, opts, restore, true)
	if err != nil {
		if opts.Dir != "" {
			err = errors.Join(err, opts.FS.RemoveAll(opts.Dir))
		}
		return nil, err
	}
	return &View{b}, nil
}

// States lists the states by their numbers.
func (v *View) States() []State { return v.b.States() }

// Entries gives all entries of a state in order of key group, key and namespace. An error is the last that it gives.
func (v *View) Entries(ctx context.Context, state uint16) iter.Seq2[Entry, error] {
	return v.walk(ctx, func(s *scanner, fn func(key, value []byte) error) error {
		if v.b.Empty(state) {
			return nil
		}
		last, err := s.lastGroup()
		for group := 0; group <= last && err == nil; group++ {
			err = s.prefix(appendState(nil, stream.KeyGroup(group), state), fn)
		}
		return err
	})
}

// Key gives the entries of one key in order of namespace, as [View.Entries] does.
func (v *View) Key(ctx context.Context, group stream.KeyGroup, state uint16, key string) iter.Seq2[Entry, error] {
	return v.walk(ctx, func(s *scanner, fn func(key, value []byte) error) error {
		return s.prefix(appendKey(nil, group, state, key, nil), fn)
	})
}

// errEnough ends a scan whose caller wants no more.
var errEnough = errors.New("enough")

func (v *View) walk(ctx context.Context, scan func(*scanner, func(key, value []byte) error) error) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		err := v.b.merged(func(s *scanner) error {
			return scan(s, func(k, value []byte) error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				group, _, key, namespace, err := splitKey(k)
				if err != nil {
					return err
				}
				if !yield(Entry{group, key, namespace, value, k[4:]}, nil) {
					return errEnough
				}
				return nil
			})
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Entry{}, err)
		}
	}
}

// lastGroup is the last key group that has anything, -1 if there is nothing.
func (s *scanner) lastGroup() (int, error) {
	last := -1
	take := func(key []byte) error {
		group, _, _, _, err := splitKey(key)
		last = max(last, int(group))
		return err
	}
	s.it.SetBounds(nil, nil)
	if s.it.Last() {
		if err := take(s.it.Key()); err != nil {
			return last, err
		}
	}
	if s.overlay != nil && s.overlay.len() > 0 {
		if err := take(s.overlay.at(s.overlay.len() - 1).key); err != nil {
			return last, err
		}
	}
	return last, s.failed()
}

// Close closes the state and removes its directory. A second Close does nothing.
func (v *View) Close() error {
	if v.b.closing.Load() {
		return nil
	}
	if err := v.b.Close(); err != nil {
		return err
	}
	if err := v.b.opts.FS.RemoveAll(v.b.opts.Dir); err != nil {
		return fmt.Errorf("removing the state that was looked at: %w", err)
	}
	return nil
}
