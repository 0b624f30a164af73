package runtime

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/pebblestate"
)

// baseWork is a base that is being written and uploaded beside the checkpoints.
type baseWork struct {
	checkpoint int64
	done       chan *checkpoint.Base
	uploaded   int64 // bytes
}

// startBase begins a base with everything up to the checkpoint that was just committed, if one is due. At most one is
// under way; an error ends the attempt, since Pebble is then ahead of what the pointers list.
func (a *attempt) startBase(committed int64) {
	if a.backend == nil {
		return
	}
	full := a.soonFull(time.Now())
	if a.base != nil || !a.baseDue() && !(full && a.backend.PendingBytes() > int64(a.cfg.Checkpoint.Memory)/16) {
		return
	}
	a.backend.BeginBase(committed) // now, before another delta is added
	w := &baseWork{checkpoint: committed, done: make(chan *checkpoint.Base, 1)}
	a.base = w
	written := make(chan struct{})
	a.writing.Store(&written)
	known := map[[32]byte]checkpoint.File{}
	if a.last.Base != nil {
		for _, f := range a.last.Base.Files {
			known[f.Hash] = f
		}
	}
	a.group.Go(func() error {
		b, uploaded, err := a.writeBase(a.ctx, committed, known, func() {
			a.writing.Store(nil)
			close(written)
		})
		if err != nil {
			return fmt.Errorf("base of checkpoint %d: %w", committed, err)
		}
		w.uploaded = uploaded
		w.done <- b
		return nil
	})
}

// baseDue reports that there are bytes of deltas enough for a base.
func (a *attempt) baseDue() bool {
	return a.decideMerge(deltaSizes(a.last.Deltas)).Kind == checkpoint.MergeBase
}

func (a *attempt) decideMerge(sizes []int64) checkpoint.Merge {
	var entries, live int64
	a.metrics.Each(func(_ string, _ int, s *StepMetrics) {
		entries += s.StateEntries.Load()
		live += s.StateBytes.Load()
	})
	after := baseAfter(&a.cfg.Checkpoint, a.baseWrote)
	if live <= a.share()/4*3 {
		return checkpoint.DecideMerge(sizes, a.backend.LiveBytes(entries), after)
	}
	// What a merge of much takes for a moment is not there.
	return underPressure(checkpoint.DecideMerge(sizes, math.MaxInt64/8, after), sizes, int64(a.cfg.Checkpoint.Memory)/32)
}

// underPressure turns a merge of more than most bytes into a base: it would need more memory than it merges, and makes no room.
func underPressure(m checkpoint.Merge, sizes []int64, most int64) checkpoint.Merge {
	if m.Kind != checkpoint.MergeDeltas {
		return m
	}
	bytes := int64(0)
	for _, s := range sizes[m.From:] {
		bytes += s
	}
	if bytes > most {
		m.Kind = checkpoint.MergeBase
	}
	return m
}

func deltaSizes(deltas []checkpoint.Delta) []int64 {
	sizes := make([]int64, len(deltas))
	for i, d := range deltas {
		sizes[i] = d.Size
	}
	return sizes
}

// baseAfter is after how many bytes of deltas a base is due, if the last one of the attempt wrote so many: three times as many, so
// that bases write a third of what changed. But the option is what people set for the time of a recovery, and deltas lie in memory
// until they are in a base.
func baseAfter(o *checkpoint.Options, wrote int64) checkpoint.Bytes {
	return max(o.BaseAfter, min(checkpoint.Bytes(3*wrote), 2*o.BaseAfter, o.Memory/8))
}

// soonFull reports whether a subtask's live maps have their part of the budget, or will have it when a base that is begun now is
// written: then there should be entries that may be evicted. It is asked once a checkpoint. Maps that have come to rest below
// their part need nothing. Without many changes since the last base another one would not help: in memory a small entry takes
// about four times as much as in a delta, so that with a sixteenth of the budget half of the share cannot go.
func (a *attempt) soonFull(now time.Time) (full bool) {
	passed := now.Sub(a.looked)
	for _, c := range a.chains() {
		live := c.told()
		if !a.looked.IsZero() {
			full = fills(live, live-c.toldBefore, passed, a.budget) || full
		}
		c.toldBefore = live
	}
	a.looked = now
	return full
}

// fills reports whether maps that have grown by so many bytes in the time that has passed have no more room soon. Those that
// evict have all but a few bytes of their part.
func fills(live, grown int64, passed time.Duration, budget int64) bool {
	soon := float64(live)
	if grown > 0 && passed > 0 {
		soon += float64(grown) * max(2, float64(baseTakes)/float64(passed))
	}
	return soon > float64(budget)/64*63
}

// baseTakes is about what writing a base takes that is written for the sake of memory.
const baseTakes = time.Second

// writeBase applies the deltas to Pebble, calls applied, and uploads the files that no base had before.
func (a *attempt) writeBase(ctx context.Context, upTo int64, known map[[32]byte]checkpoint.File, applied func()) (b *checkpoint.Base, uploaded int64, err error) {
	a.cfg.Fault.At(fault.BaseBegun)
	files, err := a.backend.WriteBase(ctx, upTo)
	applied()
	if err != nil {
		return nil, 0, err
	}
	a.cfg.Fault.At(fault.BaseWritten)
	defer a.backend.Release(files)
	b = &checkpoint.Base{Checkpoint: files.Checkpoint}
	for _, f := range files.Files {
		stored, ok := known[f.Hash]
		if !ok {
			if stored, err = a.upload(ctx, upTo, f); err != nil {
				return nil, 0, err
			}
			uploaded += stored.Size
		}
		stored.Local = f.Name
		b.Files = append(b.Files, stored)
	}
	a.cfg.Fault.At(fault.BaseUploaded)
	return b, uploaded, nil
}

func (a *attempt) upload(ctx context.Context, upTo int64, f pebblestate.BaseFile) (checkpoint.File, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Checkpoint.Timeout)
	defer cancel()
	return a.files.UploadFile(ctx, a.fileName(upTo, "base"), f.Path)
}

// takeBase lets a pointer begin from a base that was finished since the last one.
func (a *attempt) takeBase(p *checkpoint.Pointer) (uploaded int64, taken bool) {
	if a.base == nil {
		return 0, false
	}
	select {
	case b := <-a.base.done:
		p.Base = b
		var rest []checkpoint.Delta
		for _, d := range p.Deltas {
			if d.Checkpoint > b.Checkpoint {
				rest = append(rest, d)
			}
		}
		p.Deltas = rest
		uploaded = a.base.uploaded
		a.base, a.baseWrote = nil, uploaded
		return uploaded, true
	default:
		return 0, false
	}
}
