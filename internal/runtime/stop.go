package runtime

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/weirstream/weir/checkpoint"
)

// StopRequest asks a job for a last checkpoint. If it cannot be taken, or the savepoint cannot be written, the job goes on.
type StopRequest struct {
	// ID tells one request from another, so that one that is sent twice is carried out once. Empty for one that is made up.
	ID string `json:"id"`
	// Savepoint is the directory or URL of the savepoint that the last checkpoint is to become, "" for none.
	Savepoint string `json:"savepoint"`
	// Drain ends every source as if its input ended here: all windows and event-time timers fire, and the job cannot be continued.
	Drain bool `json:"drain"`
}

// StopPhase is how far a request to stop has come. The last two are outcomes, and nothing follows on them.
type StopPhase string

const (
	// StopUnderWay: neither is known yet.
	StopUnderWay StopPhase = "stopping"
	// StopFailed: the job goes on running.
	StopFailed StopPhase = "running"
	// StopDone: the job has ended.
	StopDone StopPhase = "stopped"
)

// StopStatus is what became of a request to stop.
type StopStatus struct {
	ID    string    `json:"id"`
	Phase StopPhase `json:"phase"`
	// Savepoint is where the savepoint is asked for. Of a job that has stopped it is there, whole, or this is empty.
	Savepoint string `json:"savepoint,omitempty"`
	Drain     bool   `json:"drain,omitempty"`
	// Checkpoint is the last one of a job that has stopped.
	Checkpoint int64 `json:"checkpoint,omitempty"`
	// Error is why the job still runs, or what of the request was not done although the job has ended.
	Error string `json:"error,omitempty"`
}

// StopConflictError refuses a request that asks for something else than the one that is under way.
type StopConflictError struct{ UnderWay StopStatus }

func (e *StopConflictError) Error() string {
	how := "without a savepoint"
	if e.UnderWay.Savepoint != "" {
		how = "with savepoint " + e.UnderWay.Savepoint
	}
	if e.UnderWay.Drain {
		how += ", drained"
	}
	return "the job is stopping already, " + how
}

// errNotBegun refuses what needs a job that has come so far as to take checkpoints.
var errNotBegun = errors.New("the job has not begun yet: stop it without a savepoint and without draining, or ask again when it runs")

// stopping is a request to stop, from its coming to its outcome. The job's mutex guards all of it.
type stopping struct {
	StopStatus
	// insist says that the process has to end, whatever becomes of the last checkpoint: somebody sent a signal.
	insist bool
	// tried says that the attempt which runs was made or told to carry it out; if it ends otherwise, the request has failed, but
	// for a plain one, which is tried once more (again).
	tried, again bool
	// committed says that the last checkpoint is. whole says that the savepoint's manifest is written; cause, why it will not be.
	committed, whole bool
	cause            error
	// failing, if set, is why the job goes on. Whoever asked hears so when a checkpoint is committed that is not the last: until
	// then the last pointer says that the job has stopped, and is to become the savepoint.
	failing error
	done    chan struct{} // closed with the outcome
}

// Stop asks for a last checkpoint, after which Run returns nil. Without one Run returns an error: it returns in any case.
func (j *Job) Stop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked == nil || j.asked.Phase == StopFailed {
		j.begin(StopRequest{ID: uuid.NewString()})
	}
	j.asked.insist = true
	signal(j.stops)
}

// RequestStop asks for a last checkpoint, and whatever else the request says. One that repeats the ID of an earlier one gets
// that one's status; one that comes while another is under way joins it, or is refused if it asks for more.
func (j *Job) RequestStop(r StopRequest) (StopStatus, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	st, joins, err := j.joins(r)
	if joins || err != nil {
		return st, err
	}
	if r.Savepoint != "" {
		j.mu.Unlock()
		err := tryPlace(context.Background(), r.Savepoint)
		j.mu.Lock()
		if err != nil {
			return StopStatus{}, err
		}
		if st, joins, err := j.joins(r); joins || err != nil { // somebody may have asked meanwhile
			return st, err
		}
	}
	if r.ID == "" {
		r.ID = uuid.NewString()
	}
	j.begin(r)
	j.asked.insist = !j.ran.Load() // nothing can be lost of a job that has not begun
	signal(j.stops)
	return j.asked.StopStatus, nil
}

// joins reports whether a request is one that there is already, or joins it; an error refuses it. It is called with the mutex held.
func (j *Job) joins(r StopRequest) (st StopStatus, joins bool, err error) {
	old := j.asked
	switch {
	case old != nil && r.ID != "" && r.ID == old.ID:
		return old.StopStatus, true, nil
	case j.over:
		return StopStatus{}, false, errNotRunning
	case old != nil && old.Phase == StopUnderWay:
		if r.Savepoint != "" && r.Savepoint != old.Savepoint || r.Drain && !old.Drain {
			return StopStatus{}, false, &StopConflictError{old.StopStatus}
		}
		return old.StopStatus, true, nil
	case (r.Savepoint != "" || r.Drain) && !j.ran.Load():
		return StopStatus{}, false, errNotBegun
	}
	return StopStatus{}, false, nil
}

// begin is called with the mutex held.
func (j *Job) begin(r StopRequest) {
	j.asked = &stopping{
		StopStatus: StopStatus{ID: r.ID, Phase: StopUnderWay, Savepoint: r.Savepoint, Drain: r.Drain}, done: make(chan struct{}),
	}
}

// StopStatus is that of the latest request to stop, nil if there was none.
func (j *Job) StopStatus() *StopStatus {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked == nil {
		return nil
	}
	s := j.asked.StopStatus
	return &s
}

// WaitStop returns when the latest request to stop has an outcome, or ctx ends, with its status.
func (j *Job) WaitStop(ctx context.Context) *StopStatus {
	j.mu.Lock()
	asked := j.asked
	j.mu.Unlock()
	if asked == nil {
		return nil
	}
	select {
	case <-asked.done:
	case <-ctx.Done():
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := asked.StopStatus
	return &s
}

// insists reports whether the process has to end.
func (j *Job) insists() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.asked != nil && j.asked.Phase == StopUnderWay && j.asked.insist
}

// stopAsked reports whether a request to stop is under way.
func (j *Job) stopAsked() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.asked != nil && j.asked.Phase == StopUnderWay
}

// tryStop returns the request that the attempt which begins or runs is to carry out, nil if there is none.
func (j *Job) tryStop() *stopping {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked == nil || j.asked.Phase != StopUnderWay {
		return nil
	}
	j.asked.tried = true
	return j.asked
}

// savepointSettled notes what became of the savepoint of a stop.
func (j *Job) savepointSettled(s *stopping, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.whole, s.cause = err == nil, err
}

// lastCommitted notes that the pointer says of the job that it has stopped.
func (j *Job) lastCommitted() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked != nil {
		j.asked.committed = true
	}
}

// failing notes that a job goes on, which it says by its next checkpoint. It reports false if the process has to end.
func (j *Job) failing(s *stopping, cause error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.insist {
		return false
	}
	s.failing = cause
	return true
}

// failed returns why a request has failed that nobody was told of yet, nil for one that has not.
func (j *Job) failed(s *stopping) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return s.failing
}

// stopFailed ends a request that the job does not stop for, and reports whether it goes on: not if the process has to end.
func (j *Job) stopFailed(s *stopping, cause error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.insist || s.Phase != StopUnderWay {
		return !s.insist
	}
	j.outcome(s, StopFailed, cause)
	j.cfg.Logger.Warn("not stopped", "job", j.cfg.Job, "error", cause)
	return true
}

// attemptFailed ends a request that the attempt which has ended was to carry out. A plain one is carried out by the next
// attempt, which is made at once: all it needs is a recovery and a last checkpoint. One whose last checkpoint is committed is
// answered by that attempt.
func (j *Job) attemptFailed(cause error) {
	j.mu.Lock()
	s := j.asked
	failed := s != nil && s.Phase == StopUnderWay && s.tried
	switch {
	case !failed || s.again:
	case s.Savepoint == "" && !s.Drain:
		failed, s.again, s.tried = false, true, false
	case s.committed:
		// The next attempt's first checkpoint says that the job runs.
		failed, s.again, s.tried = false, true, false
		if s.failing == nil {
			s.failing = cause
		}
	}
	j.mu.Unlock()
	if failed {
		j.stopFailed(s, cause)
	}
}

// ranOut ends whatever request is under way when Run returns.
func (j *Job) ranOut(err error) {
	checkpointed := j.Status().Checkpoint
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
	s := j.asked
	if s == nil || s.Phase != StopUnderWay {
		return
	}
	var takenOver *checkpoint.TakenOverError
	if errors.As(err, &takenOver) {
		j.outcome(s, StopFailed, err) // in another process
		return
	}
	s.Checkpoint = max(0, checkpointed) // 0, none, is left out
	if err == nil {
		err = cmp.Or(s.cause, s.failing)
	}
	if s.Savepoint != "" && !s.whole {
		if err == nil {
			err = errors.New("the job ended before the savepoint was begun")
		}
		s.Savepoint = ""
	}
	j.outcome(s, StopDone, err)
}

// outcome is called with the mutex held.
func (j *Job) outcome(s *stopping, phase StopPhase, cause error) {
	s.Phase = phase
	if cause != nil {
		s.Error = cause.Error()
	}
	close(s.done)
}
