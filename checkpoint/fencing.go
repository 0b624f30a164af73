package checkpoint

import (
	"fmt"
	"time"
)

// Fenced is what an attempt knows once the broker has fenced one of its producers. That alone does not mean that another
// process runs the job: the broker fences too when a transaction times out (rule 7). Last is read after the fencing, with
// the wait of rule 5.
type Fenced struct {
	Job string
	// Attempt is the own attempt; FirstCommitted says whether its first checkpoint is known to be committed.
	Attempt        string
	FirstCommitted bool
	// Began is the last committed checkpoint when the attempt began, 0 if there was none.
	Began int64
	// Last is the last committed pointer, nil if there is none.
	Last *Pointer
	// Taken says that a producer without an open transaction was fenced too: no timeout does that, so another process is
	// recovering. Watched is how long this one has waited for the other's first checkpoint.
	Taken   bool
	Watched time.Duration
	// Tries counts the recoveries in a row that were fenced before their first checkpoint.
	Tries int
	// Random is a number in [0, 1), for the jitter.
	Random float64
}

// FencedAction is what a fenced attempt does.
type FencedAction int

const (
	// FencedStop: another attempt runs the job. End with the error, and do not fence back.
	FencedStop FencedAction = iota
	// FencedRecover: a transaction timed out. Recover at once.
	FencedRecover
	// FencedPause: another process recovers at the same time, and neither has committed yet. Recover after the pause.
	FencedPause
	// FencedWatch: another process is recovering and has not committed yet. Fence nobody, read the last pointer again after
	// the pause, and decide again.
	FencedWatch
)

// Fencing is the decision of [DecideFenced].
type Fencing struct {
	Action FencedAction
	Pause  time.Duration
	Err    *TakenOverError // of FencedStop
	Reason string
}

// The pause before a recovery that met another one: half to one and a half of it, doubled with each try. It is several
// times what a recovery takes (16-95 ms on a real broker), so that one of two is through before the other comes again.
const (
	fencedPause    = 250 * time.Millisecond
	fencedPauseMax = 4 * time.Second
)

// WatchFor is how long a process that was taken over waits for the other one's first checkpoint. A restore may have to
// download its state; if the other process dies meanwhile, this one goes on after the wait.
const WatchFor = 30 * time.Second

// watchPause is how often it looks.
const watchPause = 100 * time.Millisecond

// DecideFenced says what an attempt does that was fenced.
func DecideFenced(f Fenced) Fencing {
	// IDs are dense: a pointer that is not above the own first checkpoint is of an attempt before, also if it is the last to be
	// seen. The own ones are committed then, but their markers are not written yet, or a transaction is open below them.
	first := f.Began
	if f.FirstCommitted {
		first++
	}
	own := f.Last != nil && f.Last.Attempt == f.Attempt
	switch {
	case f.Last != nil && !own && f.Last.Checkpoint > first:
		err := &TakenOverError{Job: f.Job, Attempt: f.Last.Attempt, Host: f.Last.Host, Checkpoint: f.Last.Checkpoint}
		return Fencing{Action: FencedStop, Err: err, Reason: err.Error()}
	case !own && !f.FirstCommitted:
		// Below.
	case f.Taken && f.Watched < WatchFor:
		return Fencing{Action: FencedWatch, Pause: watchPause, Reason: "another process is recovering this job"}
	case f.Taken:
		return Fencing{Action: FencedRecover, Reason: fmt.Sprintf("another process has fenced this one and committed nothing for %s", WatchFor)}
	case own:
		// Also when the answer of the own first commit was lost.
		return Fencing{Action: FencedRecover, Reason: fmt.Sprintf("checkpoint %d is this attempt's own: a transaction timed out, or what became of a commit is not known", f.Last.Checkpoint)}
	case f.Last != nil:
		return Fencing{Action: FencedRecover, Reason: fmt.Sprintf("this attempt's own checkpoints, after %d, are not to be seen yet", f.Last.Checkpoint)}
	default:
		// If the own pointer is gone, recovery finds out and says so (rule 11).
		return Fencing{Action: FencedRecover, Reason: "the checkpoint topic shows no pointer"}
	}
	pause := min(fencedPause<<min(f.Tries, 10), fencedPauseMax)
	pause = time.Duration(float64(pause) * (0.5 + f.Random))
	return Fencing{Action: FencedPause, Pause: pause, Reason: "another process recovers at the same time"}
}

// ExitTakenOver is the exit code of a process that ends because another one runs its job now. A supervisor should not
// start it again.
const ExitTakenOver = 3

// TakenOverError means that another process runs the job. It is not restarted: that process would be fenced in turn.
type TakenOverError struct {
	Job string
	// Attempt and Host are those of the last committed pointer.
	Attempt, Host string
	Checkpoint    int64
}

func (e *TakenOverError) Error() string {
	return fmt.Sprintf("fenced: another process (attempt %s on host %s) runs this job now: checkpoint %d is its own", short(e.Attempt), e.Host, e.Checkpoint)
}

// ExitCode is the process's exit code.
func (e *TakenOverError) ExitCode() int { return ExitTakenOver }

// short returns the first block of a UUID, enough to tell attempts apart in a message.
func short(uuid string) string {
	if len(uuid) > 8 {
		return uuid[:8]
	}
	return uuid
}
