package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// doubtError is what may be wrong only because a node has answered that leads no more and does not know it: what it says is
// old, and nothing in an answer tells so (docs/decisions/0012). It is asked for again before it is believed.
type doubtError struct{ err error }

func (e *doubtError) Error() string { return e.err.Error() }
func (e *doubtError) Unwrap() error { return e.err }

// doubtPauses are the pauses before what is doubtful is asked for again. Each time the cluster is dialled anew, and another
// node may answer.
var doubtPauses = [...]time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}

// lookAgain makes sure, before the attempt's first commit, that the pointer that it began from was the last. Its own pointer
// is acknowledged, so the node that leads has its offset, and all that is committed before it; a node that leads no more
// has not, whatever it answered before.
func (a *attempt) lookAgain(ctx context.Context, own int64) error {
	missed, err := a.log.Since(ctx, a.readUpTo, own)
	switch {
	case err != nil:
		return &doubtError{fmt.Errorf("whether checkpoint %d was the last one is not known: %w", a.taken, err)}
	case len(missed) > 0:
		newest := missed[len(missed)-1]
		return &doubtError{fmt.Errorf("checkpoint %d was read as the last one, and checkpoint %s is committed at offset %d: a node that leads topic %s no more has answered",
			a.taken, newest.Key, newest.Offset, a.log.Topic())}
	}
	return nil
}

// groupAhead says of a refusal whether it is doubtful: the group may be ahead of a pointer that is not the last.
func (a *attempt) groupAhead(group int64, err error) error {
	var refused *checkpoint.RefusedError
	if group > a.taken && errors.As(err, &refused) {
		return &doubtError{err}
	}
	return err
}

// contradicted is the error, if any, that takes the place of a damaged checkpoint's: the brokers name another checkpoint as the
// last one than they did when the recovery read it, or the group knows of a later one. Then what is damaged may be long
// replaced, and to go back from there would repeat what nobody can tell.
func (a *attempt) contradicted(ctx context.Context, last *checkpoint.Pointer, err error) error {
	now := last.Checkpoint
	if group, groupErr := a.groupCheckpoint(ctx); groupErr == nil {
		now = max(now, group)
	}
	if now == a.taken {
		return nil
	}
	// The damage is not wrapped: it is not known to be that of the last checkpoint, and may be over.
	return &doubtError{fmt.Errorf("checkpoint %d was read as the last one, and now checkpoint %d is said to be: %v", a.taken, now, err)}
}
