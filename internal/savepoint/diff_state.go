package savepoint

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/pebblestate"
)

// StateChange is what became of a state.
type StateChange struct {
	Name   string `json:"name"`
	Change Change `json:"change"`
	Kind   string `json:"kind"`
	Type   string `json:"type"`
	// Declared says how it was declared before, if in another way.
	Declared string `json:"declared,omitempty"`
	// Schema is that of the second, if the first has another one.
	Schema string `json:"schema,omitempty"`
	// EntriesWas and EntriesIs are how many there are.
	EntriesWas int64 `json:"entries_was"`
	EntriesIs  int64 `json:"entries_is"`
	// Added and Removed are entries that only one of them has, Changed those with another value. Counted only: they were not
	// compared.
	Added   int64 `json:"added"`
	Removed int64 `json:"removed"`
	Changed int64 `json:"changed"`
	Counted bool  `json:"counted_only,omitempty"`
	// Samples are the first few of each.
	Samples []Sample `json:"samples,omitempty"`
}

// Sample is an entry that is not the same in both.
type Sample struct {
	Change    Change `json:"change"`
	Key       Key    `json:"key"`
	Namespace string `json:"namespace,omitempty"`
	Was       string `json:"was,omitempty"`
	Is        string `json:"is,omitempty"`
}

// samples is how many entries of a state are shown for each change.
const samples = 5

// comparison is two states side by side. Neither is ever in memory: both are walked through in order of key.
type comparison struct {
	was, is *pebblestate.View
	// comparable: they have the same number of key groups, and so the same order.
	comparable bool
}

func (c *comparison) operator(ctx context.Context, p pair[checkpoint.Operator]) (OperatorChange, error) {
	out := OperatorChange{Change: p.change(), States: []StateChange{}}
	var was, is []checkpoint.State
	if p.was != nil {
		out.Name, out.Kind, out.WatermarkWas, was = p.was.Name, p.was.Kind, &p.was.Watermark, p.was.States
	}
	if p.is != nil {
		out.Name, out.Kind, out.WatermarkIs, is = p.is.Name, p.is.Kind, &p.is.Watermark, p.is.States
	}
	if out.Change == Same && (p.was.Watermark != p.is.Watermark || p.was.Kind != p.is.Kind) {
		out.Change = Changed
	}
	for _, states := range pairs(was, is, func(s *checkpoint.State) string { return s.Name }) {
		st, err := c.state(ctx, states)
		if err != nil {
			return out, fmt.Errorf("state %s/%s: %w", out.Name, st.Name, err)
		}
		if out.Change == Same && st.Change != Same {
			out.Change = Changed
		}
		out.States = append(out.States, st)
	}
	return out, nil
}

func (c *comparison) state(ctx context.Context, p pair[checkpoint.State]) (StateChange, error) {
	out := StateChange{Change: p.change(), Counted: !c.comparable && p.change() == Same}
	w := walk{StateChange: &out, comparable: c.comparable}
	none := func(func(pebblestate.Entry, error) bool) {}
	was, is := iter.Seq2[pebblestate.Entry, error](none), iter.Seq2[pebblestate.Entry, error](none)
	if p.was != nil {
		out.Name, out.Kind, out.Type = p.was.Name, p.was.Kind, p.was.Type
		was, w.decodeWas = c.was.Entries(ctx, p.was.ID), newDecoder(*p.was)
	}
	if p.is != nil {
		out.Name, out.Kind, out.Type = p.is.Name, p.is.Kind, p.is.Type
		is, w.decodeIs = c.is.Entries(ctx, p.is.ID), newDecoder(*p.is)
	}
	if p.was != nil && p.is != nil {
		a, b := *p.was, *p.is
		if a.Schema != b.Schema {
			out.Schema = b.Schema
		}
		a.ID = b.ID
		if a.Kind != b.Kind || a.Type != b.Type || a.Version != b.Version {
			out.Declared = fmt.Sprintf("%s of %s, version %d", a.Kind, a.Type, a.Version)
		}
		if a != b {
			out.Change = Changed
		}
	}
	if err := w.run(was, is); err != nil {
		return out, err
	}
	if out.Change == Same && (out.Added > 0 || out.Removed > 0 || out.Changed > 0 || out.EntriesWas != out.EntriesIs) {
		out.Change = Changed
	}
	return out, nil
}

// walk goes through two states in order of key.
type walk struct {
	*StateChange
	comparable          bool
	decodeWas, decodeIs decoder
	shown               map[Change]int
}

func (w *walk) run(was, is iter.Seq2[pebblestate.Entry, error]) error {
	w.shown = map[Change]int{}
	nextA, stopA := iter.Pull2(was)
	defer stopA()
	nextB, stopB := iter.Pull2(is)
	defer stopB()
	a, err, moreA := nextA()
	if err != nil {
		return err
	}
	b, err, moreB := nextB()
	for err == nil && (moreA || moreB) {
		order := 0
		switch {
		case !moreB:
			order = -1
		case !moreA:
			order = 1
		default:
			order = a.Compare(&b)
		}
		w.meet(&a, &b, order)
		if order <= 0 {
			w.EntriesWas++
			a, err, moreA = nextA()
		}
		if order >= 0 && err == nil {
			w.EntriesIs++
			b, err, moreB = nextB()
		}
	}
	return err
}

// meet compares two entries; order says that only one of them is there.
func (w *walk) meet(a, b *pebblestate.Entry, order int) {
	if w.Counted {
		return
	}
	switch {
	case order < 0:
		w.Removed++
		w.show(Removed, a, a, nil)
	case order > 0:
		w.Added++
		w.show(Added, b, nil, b)
	case !bytes.Equal(a.Value, b.Value):
		w.StateChange.Changed++
		w.show(Changed, a, a, b)
	}
}

func (w *walk) show(change Change, e, was, is *pebblestate.Entry) {
	if w.shown[change] == samples {
		return
	}
	w.shown[change]++
	s := Sample{Change: change, Key: Key(e.Key)}
	if was != nil {
		t := w.decodeWas.text(was.Namespace, was.Value)
		s.Namespace, s.Was = t.Namespace, t.Value
	}
	if is != nil {
		t := w.decodeIs.text(is.Namespace, is.Value)
		s.Namespace, s.Is = t.Namespace, t.Value
	}
	w.Samples = append(w.Samples, s)
}
