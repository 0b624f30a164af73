package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/sink"
)

// leave sees to the checkpoint that the lineage leaves behind, before the attempt's first commit: if the lineage begins with
// it, it keeps the last checkpoint, with all that it needs; if it goes on, it reads what was kept. listed are the files that
// the storage has. What is damaged or gone is not kept, and the log says so. What cannot be read for a moment is kept, with
// every file of other attempts: leftUnread is set then.
func (a *attempt) leave(ctx context.Context, res *checkpoint.Resolution, listed []checkpoint.Stored) error {
	a.last.Left = res.Left
	if res.Leaves != nil {
		kept, err := a.keepLeft(ctx, res.Leaves, listed)
		if kept || err != nil {
			return err
		}
	}
	if a.last.Left == nil {
		return nil
	}
	var err error
	switch a.left, err = checkpoint.LoadLeft(ctx, a.files, a.last.Left); {
	case err == nil:
	case checkpoint.IsGone(err):
		a.logger.Warn("the checkpoint that was left behind is damaged or gone, and stays no longer", "checkpoint", a.last.Left.Checkpoint, "error", err)
		a.last.Left = nil
	default:
		a.logger.Warn("the checkpoint that was left behind cannot be read", "checkpoint", a.last.Left.Checkpoint, "error", err)
		a.leftUnread = true
	}
	return nil
}

// keepLeft keeps the last checkpoint as the one that is left behind. It returns false if something of it is not there.
func (a *attempt) keepLeft(ctx context.Context, p *checkpoint.Pointer, listed []checkpoint.Stored) (bool, error) {
	complete, err := checkpoint.CompleteLeft(ctx, a.files, p, listed, func(ctx context.Context, d checkpoint.Delta) ([]byte, error) { return a.readDelta(ctx, d, a.files) })
	switch {
	case checkpoint.IsGone(err), errors.Is(err, sink.ErrNoRecord):
		a.logger.Warn("the checkpoint that is left behind is damaged, and does not stay", "checkpoint", p.Checkpoint, "error", err)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("checkpoint %d, which is left behind: %w", p.Checkpoint, err)
	}
	left, err := checkpoint.WriteLeft(ctx, a.files, complete, a.id, a.last.Checkpoint)
	if err != nil {
		return false, fmt.Errorf("checkpoint %d, which is left behind: %w", p.Checkpoint, err)
	}
	a.last.Left, a.left = left, complete
	return true, nil
}
