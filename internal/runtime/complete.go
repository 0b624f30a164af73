package runtime

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/sink"
)

// completion is a checkpoint from its trigger to its commit. The coordinator's goroutine fills it and then hands it to
// the workers: to persist and prepare, and then to commit.
type completion struct {
	checkpoint  int64
	snapshots   []*snapshot
	savepoint   string
	last, final bool
	drained     bool // final, as somebody asked for it
	began       time.Time
	deadline    time.Time
	// travel is how long the barriers took through the whole dataflow; behind, that a source had records fetched that are behind its
	// barrier.
	travel time.Duration
	behind bool

	// The workers'. Of delta, the changes, placed says where they are; both are nil if there are none.
	delta                    *pebblestate.DeltaWriter
	placed                   *checkpoint.Delta
	persistTook, prepareTook time.Duration
}

// worker is the goroutine of one kind of slow work.
func (c *coordination) worker(ctx context.Context, work <-chan *completion, do func(context.Context, *completion) error) error {
	for {
		select {
		case f := <-work:
			bounded, cancel := context.WithDeadline(ctx, f.deadline)
			err := do(bounded, f)
			if errors.Is(bounded.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("%w after %s: %w", checkpoint.ErrExpired, c.a.cfg.Checkpoint.Timeout, err)
			}
			cancel()
			if err != nil {
				c.send(failed{f.checkpoint, err})
				<-ctx.Done()
				return context.Cause(ctx)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// prepareAndPersist takes a checkpoint from frozen state to what can be committed.
func (a *attempt) prepareAndPersist(ctx context.Context, c *completion) error {
	if err := a.persist(ctx, c); err != nil {
		return err
	}
	a.coord.send(persisted{c.checkpoint})
	a.coord.send(prepared{c.checkpoint})
	return nil
}

// finish takes a checkpoint from there to a committed transaction.
func (a *attempt) finish(ctx context.Context, c *completion) error {
	began := time.Now()
	p := a.pointer(c)
	stored := checkpoint.PersistEvent{Checkpoint: c.checkpoint}
	if c.delta != nil {
		stored.Bytes = int64(c.delta.Size())
	}
	if err := a.addState(ctx, p, c, &stored); err != nil {
		return a.step("persist", err)
	}
	stored.Took = c.persistTook + time.Since(began)
	began = time.Now()
	size, err := a.commit(ctx, p)
	if err != nil {
		return a.step("complete", err)
	}
	l := a.cfg.Listener
	l.OnPersist(stored)
	l.OnPrepare(checkpoint.PrepareEvent{Checkpoint: c.checkpoint, Took: c.prepareTook})
	l.OnComplete(checkpoint.CompleteEvent{
		Checkpoint: c.checkpoint, Last: c.last, Final: c.final, Took: time.Since(c.began), Commit: time.Since(began), Size: size + sizeOf(p),
	})
	a.committed(p)
	a.startBase(p.Checkpoint)
	if p.Savepoint != "" {
		a.startSavepoint(checkpoint.Savepoint{Directory: p.Savepoint, Checkpoint: p.Checkpoint, Offset: a.lastOffset})
	}
	a.coord.send(committed{c.checkpoint})
	return nil
}

// persist encodes the frozen state and stores it, and waits for the brokers' acknowledgements, side by side.
func (a *attempt) persist(ctx context.Context, c *completion) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		began := time.Now()
		defer func() { c.prepareTook = time.Since(began) }()
		err := a.tx.Flush(ctx, c.checkpoint)
		a.cfg.Fault.At(fault.Flushed)
		return a.step("prepare", err)
	})
	g.Go(func() (err error) {
		began := time.Now()
		defer func() { c.persistTook = time.Since(began) }()
		if c.delta, err = a.encode(c); c.delta != nil && err == nil {
			var d checkpoint.Delta
			d, err = a.place(ctx, c.checkpoint, c.delta.Bytes(), a.inlineRoom())
			c.placed = &d
		}
		return a.step("persist", err)
	})
	return g.Wait()
}

// sizeOf is the size of everything that a pointer lists, in bytes.
func sizeOf(p *checkpoint.Pointer) (n int64) {
	for _, f := range p.AllFiles() {
		n += f.Size
	}
	for _, d := range p.Deltas {
		if d.File == nil {
			n += d.Size
		}
	}
	return n
}

func (a *attempt) step(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// encode turns the frozen changes of all subtasks into one delta; nil if nothing changed.
func (a *attempt) encode(c *completion) (*pebblestate.DeltaWriter, error) {
	if a.backend == nil {
		return nil, nil
	}
	n := 0
	for _, s := range c.snapshots {
		for _, f := range s.frozen {
			n += f.frozen.Len()
		}
	}
	if n == 0 {
		return nil, nil
	}
	w := a.backend.NewDelta()
	for _, s := range c.snapshots {
		for _, f := range s.frozen {
			if err := f.frozen.Encode(w); err != nil {
				return nil, fmt.Errorf("subtask %s: state %s of operator %s: %w", s.subtask, f.state, f.operator, err)
			}
			a.cfg.Fault.At(fault.Encoding)
		}
	}
	a.cfg.Fault.At(fault.Encoded)
	return w, nil
}

// pointer makes the pointer of a checkpoint out of the one before it and what the subtasks reported.
func (a *attempt) pointer(c *completion) *checkpoint.Pointer {
	p := *a.last
	p.Checkpoint, p.Time = c.checkpoint, a.now()
	p.First, p.Last, p.Final, p.Drained, p.Savepoint, p.File = false, c.last, c.final, false, c.savepoint, nil
	a.settleSavepoints()
	p.Unfinished = slices.Clone(a.unfinished)
	p.Sources = nil
	bySource := map[string][]checkpoint.Split{}
	watermarks := map[string]int64{}
	for _, s := range c.snapshots {
		for _, sp := range s.splits {
			bySource[sp.source] = append(bySource[sp.source], sp.split)
			p.Drained = p.Drained || c.drained && !sp.split.Done // else the input has ended by itself
		}
		for op, wm := range s.watermarks {
			if old, ok := watermarks[op]; !ok || wm < old {
				watermarks[op] = wm
			}
		}
	}
	for _, s := range a.last.Sources {
		splits := bySource[s.Name]
		sortSplits(splits)
		p.Sources = append(p.Sources, checkpoint.Source{Name: s.Name, Splits: splits})
	}
	p.Operators = a.describe(watermarks)
	return &p
}

// addState puts the changes into the pointer, after taking over a finished base, or making one of the deltas before them.
func (a *attempt) addState(ctx context.Context, p *checkpoint.Pointer, c *completion, ev *checkpoint.PersistEvent) error {
	if a.backend == nil {
		return nil
	}
	ev.Uploaded, ev.Base = a.takeBase(p)
	if c.placed == nil {
		return nil
	}
	d := *c.placed
	if m := a.decideMerge(append(deltaSizes(p.Deltas), d.Size)); m.Kind == checkpoint.MergeDeltas && a.base == nil && m.From < len(p.Deltas)-1 {
		merged, err := a.backend.MergeDeltas(m.From)
		if err != nil {
			return err
		}
		old := p.Deltas[m.From:]
		one, err := a.place(ctx, p.Checkpoint, merged, a.inlineRoom()-len(d.Inline))
		if err != nil {
			return err
		}
		one.First, one.Checkpoint = old[0].First, old[len(old)-1].Checkpoint
		p.Deltas = append(slices.Clone(p.Deltas[:m.From]), one)
		if one.File != nil {
			ev.Uploaded += one.Size
		}
	}
	if err := a.backend.AddDelta(p.Checkpoint, c.delta); err != nil {
		return err
	}
	if d.File != nil {
		ev.Uploaded += d.Size
	}
	p.Deltas = append(append([]checkpoint.Delta(nil), p.Deltas...), d)
	return nil
}

// pointerHead is more than a pointer record needs beside the deltas in it when the rest is in a file, in bytes.
const pointerHead = 1 << 10

// inlineRoom is how many bytes of deltas a pointer may have inline. The topic may have been made by somebody who allows less
// than a pointer of ours.
func (a *attempt) inlineRoom() int {
	return min(int(a.cfg.Checkpoint.InlineThreshold), a.log.MaxPointerBytes()-pointerHead)
}

// place decides where a delta lives: inline in the pointer of checkpoint id if there is room for it, else in a file that has id in
// its name. It is taken for the changes of that one checkpoint.
func (a *attempt) place(ctx context.Context, id int64, delta []byte, room int) (checkpoint.Delta, error) {
	d := checkpoint.Delta{First: id, Checkpoint: id, Size: int64(len(delta)), Offset: -1}
	if len(delta) <= room {
		d.Inline, d.Hash = delta, sha256.Sum256(delta)
		return d, nil
	}
	file, err := a.files.UploadBytes(ctx, a.fileName(id, "delta"), delta)
	d.File, d.Hash = &file, file.Hash
	return d, err
}

// commit writes the pointer and the offsets into the checkpoint's transaction and commits it.
func (a *attempt) commit(ctx context.Context, p *checkpoint.Pointer) (size int64, err error) {
	packed, err := checkpoint.PackPointer(p, min(checkpoint.MaxPointer, a.log.MaxPointerBytes()))
	if err != nil {
		return 0, fmt.Errorf("checkpoint topic %s: its max.message.bytes is too small: %w", a.log.Topic(), err)
	}
	p.File = nil
	if packed.Rest != nil {
		if _, err := a.files.UploadBytes(ctx, func(checkpoint.Hash) string { return packed.File.Name }, packed.Rest); err != nil {
			return 0, err
		}
		p.File = &packed.File
	}
	value := packed.Record
	offset, err := a.tx.WritePointer(ctx, p.Checkpoint, value)
	if err != nil {
		return 0, err
	}
	a.cfg.Fault.At(fault.PointerWritten)
	if p.First {
		if err := a.lookAgain(ctx, offset); err != nil {
			return 0, err
		}
	}
	if err := a.tx.CommitOffsets(ctx, p.Checkpoint, a.groupOffsets(p)); err != nil {
		return 0, err
	}
	a.cfg.Fault.At(fault.OffsetsWritten)
	if err := a.tx.Commit(ctx, p.Checkpoint); err != nil {
		return 0, err
	}
	a.cfg.Fault.At(fault.Committed)
	// What was inline in this pointer is at its offset for those to come.
	for i := range p.Deltas {
		if p.Deltas[i].Inline != nil {
			p.Deltas[i].Inline, p.Deltas[i].Offset = nil, offset
		}
	}
	a.last, a.lastOffset = p, offset
	return int64(len(value)), nil
}

// groupOffsets are the offsets that go into the transaction: those of sources on the sinks' cluster. That of the
// checkpoint partition (rule 11) is the sink's business.
func (a *attempt) groupOffsets(p *checkpoint.Pointer) []sink.Offset {
	var offsets []sink.Offset
	for _, s := range p.Sources {
		if a.foreign[s.Name] != nil {
			continue
		}
		for _, sp := range s.Splits {
			offsets = append(offsets, sink.Offset{
				Topic: sp.Topic, TopicID: sp.TopicID, Partition: sp.Partition, Offset: sp.Offset, LeaderEpoch: sp.LeaderEpoch,
			})
		}
	}
	return offsets
}
