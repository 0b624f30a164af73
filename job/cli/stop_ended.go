package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/savepoint"
)

// ended says how a job ended that answers no more, by its last checkpoint. Without the brokers' address only the answer that
// did not come is known.
func (p *program) ended(c *cli.Context, ask runtime.StopRequest, wantsSavepoint, asJSON bool, unanswered error) error {
	if _, _, _, err := p.whose(c); err != nil {
		return unanswered
	}
	ctx, cancel := context.WithTimeout(c.Context, patient)
	defer cancel()
	j, err := p.connect(ctx, c)
	if err != nil {
		return fmt.Errorf("%w; and of its last checkpoint: %w", unanswered, err)
	}
	defer j.client.Close()
	l, err := j.pointers(ctx, 1)
	if err != nil {
		return fmt.Errorf("%w; and of its last checkpoint: %w", unanswered, err)
	}
	last, err := l.decoded(0)
	if err != nil {
		return err
	}
	if !last.Last {
		// Killed, or it runs where --address does not look.
		return fmt.Errorf("job %s is not running, or not there: its last checkpoint is %d, and no stop came after it: %w", l.job, last.Checkpoint, unanswered)
	}
	var unwhole error
	if last.Savepoint != "" {
		if unwhole = isSavepointOf(ctx, last.Savepoint, last); unwhole != nil && !last.Final {
			// It copies it still and runs on if that fails, or it was killed.
			return fmt.Errorf("whether job %s has stopped is not known: its last checkpoint, %d, is for savepoint %s, which is not whole, or not to be seen from here (%w): it runs and copies it, or it was killed, and the next start goes on with it: %w",
				l.job, last.Checkpoint, last.Savepoint, unwhole, unanswered)
		}
	}
	s := stopped{l.job, runtime.StopStatus{Phase: runtime.StopDone, Drain: last.Drained, Checkpoint: last.Checkpoint}}
	if ask.Savepoint == "" {
		ask.Savepoint = last.Savepoint // any will do
	}
	switch {
	case ask.Drain && !last.Drained:
		s.Error = "it was not drained"
	case !wantsSavepoint:
	case last.Savepoint == "" || last.Savepoint != ask.Savepoint:
		s.Error = "it was stopped without a savepoint"
		if ask.Savepoint != "" {
			s.Error = "it was stopped without a savepoint in " + ask.Savepoint
		}
	default:
		if unwhole != nil {
			s.Error = fmt.Sprintf("its savepoint is not whole, and the next start goes on with it: %v", unwhole)
		} else {
			s.Savepoint = ask.Savepoint
		}
	}
	return p.sayStopped(s, asJSON)
}

// isSavepointOf checks that a directory holds the savepoint of a checkpoint.
func isSavepointOf(ctx context.Context, dir string, p *checkpoint.Pointer) error {
	s, err := savepoint.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	if want := checkpoint.SavepointID(p); s.Manifest.ID != want {
		return fmt.Errorf("%s holds savepoint %s, not %s", dir, s.Manifest.ID, want)
	}
	return nil
}
