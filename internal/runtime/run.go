package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// recovered is what the newest attempt found, for the decision that follows a fencing (rule 7).
type recovered struct {
	attempt string
	began   int64
	// committed says that the attempt's own first checkpoint is committed; taken, that another process has fenced it.
	committed, taken bool
}

// Run runs the job: attempt after attempt, until its input has ended, a stop was asked for, or the restart strategy gives
// up. The end of ctx ends it at once, as a crash would. Run returns when everything it started has returned.
func (j *Job) Run(ctx context.Context) error {
	defer close(j.ended)
	err := j.attempts(ctx)
	j.setPhase(Ended)
	j.ranOut(err)
	return err
}

func (j *Job) attempts(ctx context.Context) error {
	r := restarts{}
	for {
		stopping := j.insists()
		j.tryStop() // this attempt is made for it
		err := j.attempt(ctx, !j.ran.Load())
		switch {
		case err == nil, errors.Is(err, errDone), errors.Is(err, errEnded):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case stopping && !j.ran.Load():
			return nil // it had not begun
		case stopping:
			return fmt.Errorf("job %s: stopped without a last checkpoint: %w", j.cfg.Job, err)
		}
		j.note(func(s *Status) { s.Error = err.Error() })
		cause := err
		again, err := j.after(ctx, err, &r)
		if err != nil {
			logger := j.cfg.Logger.With("job", j.cfg.Job, "error", err)
			if again.Reason != "" {
				logger = logger.With("reason", again.Reason)
			}
			logger.Error("job failed")
			return fmt.Errorf("job %s: %w", j.cfg.Job, err)
		}
		j.metrics.Restarts.Add(1)
		j.attemptFailed(cause)
		// A job that is asked to stop makes one more attempt at once, for its last checkpoint.
		j.pause(ctx, again.Delay, j.stopAsked)
	}
}

// restarts is what the decision to start again remembers.
type restarts struct {
	history checkpoint.History
	// tries counts the attempts in a row that were fenced.
	tries int
}

// after decides what follows an attempt that ended with an error: another one, or the end of the job.
func (j *Job) after(ctx context.Context, err error, r *restarts) (checkpoint.Restart, error) {
	ev := checkpoint.RestartEvent{Attempt: j.Status().Attempt, Err: err}
	if j.completed.Swap(false) {
		r.history, r.tries = r.history.Completed(), 0
	}
	cause := causeOf(err)
	least := time.Duration(0)
	if isFenced(err) {
		f := j.fenced(ctx, err, r.tries)
		r.tries++
		switch f.Action {
		case checkpoint.FencedStop:
			ev.Err, ev.GiveUp, ev.Reason = f.Err, true, f.Reason
			j.cfg.Listener.OnRestart(ev)
			if fenced := (*sink.FencedError)(nil); errors.As(err, &fenced) {
				err = fenced // where it happened tells nothing more
			}
			return checkpoint.Restart{}, fmt.Errorf("%w (%w)", f.Err, err)
		case checkpoint.FencedPause:
			// Not a failure of this job: two start at the same time, and one of them will be through.
			ev.Delay, ev.Reason = f.Pause, f.Reason
			j.cfg.Logger.Warn("fenced", "job", j.cfg.Job, "error", err, "reason", f.Reason)
			j.cfg.Listener.OnRestart(ev)
			return checkpoint.Restart{Delay: f.Pause, Reason: f.Reason}, nil
		case checkpoint.FencedWatch: // and asked to stop
			return checkpoint.Restart{}, fmt.Errorf("stopped without a last checkpoint: %s (%w)", f.Reason, err)
		}
		ev.Reason, cause, least = f.Reason, checkpoint.CauseCheckpoint, f.Pause
	} else if !j.ran.Load() {
		// What keeps a job from starting is for whoever started it; a restart strategy is for jobs that have run.
		return checkpoint.Restart{}, err
	}
	d := j.cfg.Checkpoint.Restart.Decide(r.history, cause, *j.cfg.Checkpoint.TolerableFailures, time.Now(), rand.Float64())
	if ev.Reason == "" {
		ev.Reason = d.Reason
	}
	ev.GiveUp = d.GiveUp
	if d.GiveUp {
		j.cfg.Listener.OnRestart(ev)
		return d, err
	}
	r.history = d.History
	d.Delay = max(d.Delay, least)
	ev.Delay = d.Delay
	j.cfg.Logger.Warn("restarting", "job", j.cfg.Job, "error", err, "delay", d.Delay, "reason", ev.Reason)
	j.cfg.Listener.OnRestart(ev)
	return d, nil
}

// attempt makes one attempt and runs it to its end.
func (j *Job) attempt(ctx context.Context, first bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	j.setPhase(Recovering)
	a, err := j.recover(ctx, first)
	if err != nil {
		return err
	}
	defer a.close()
	j.current.Store(a)
	defer j.current.Store(nil)
	j.ran.Store(true)
	j.note(func(s *Status) {
		s.Phase, s.Attempt, s.Lineage, s.Checkpoint, s.CommittedAt = Running, a.id, a.last.Lineage, a.last.Checkpoint, a.now()
	})
	took := time.Since(began)
	a.logger.Info("running", "checkpoint", a.last.Checkpoint, "lineage", a.last.Lineage[:8], "recovery", took)
	a.logger.Debug("recovery", a.laps.took...)
	j.cfg.Listener.OnRestore(checkpoint.RestoreEvent{
		Attempt: a.id, Lineage: a.last.Lineage, Kind: a.kind, Checkpoint: a.restored, Took: took,
	})
	err = a.run()
	if isFenced(err) {
		// Asked while the attempt's producers are still known.
		taken, known, askErr := a.tx.Taken(ctx)
		if askErr != nil {
			a.logger.Warn("whether another process has taken over is not known", "error", askErr)
		}
		r := *j.recovered.Load()
		r.taken = taken || !known
		j.recovered.Store(&r)
	}
	return err
}

// recover makes an attempt. At the first start it waits for a broker if that was asked for. What may come from a node that
// leads no more is asked for again before it is believed.
func (j *Job) recover(ctx context.Context, first bool) (*attempt, error) {
	deadline := time.Now().Add(j.cfg.WaitForBroker)
	for doubts := 0; ; {
		before := j.recovered.Load()
		a, err := j.newAttempt(ctx)
		if err != nil && !isFenced(err) {
			// It has committed nothing, and what it took for the last pointer may be old: next to that, this process's own last
			// pointer would look like somebody else's.
			j.recovered.Store(before)
		}
		pause := time.Second
		var doubt *doubtError
		switch {
		case errors.As(err, &doubt):
			if doubts == len(doubtPauses) {
				return a, doubt.err
			}
			pause = doubtPauses[doubts]
			doubts++
			j.cfg.Logger.Warn("what the brokers say is doubtful: asking again", "job", j.cfg.Job, "error", err)
		case err == nil || !first || !isUnreachable(err) || !time.Now().Before(deadline):
			return a, err
		default:
			j.cfg.Logger.Info("waiting for a broker", "job", j.cfg.Job, "error", err)
		}
		if !j.pause(ctx, pause, j.insists) && first {
			return nil, errDone
		}
		j.setPhase(Recovering)
	}
}

// pause waits, and reports whether the job is to go on. It ends early if a stop is asked for that is reason enough.
func (j *Job) pause(ctx context.Context, d time.Duration, enough func() bool) bool {
	j.setPhase(Waiting)
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		if enough() {
			return false
		}
		select {
		case <-t.C:
			return true
		case <-j.stops:
		case <-ctx.Done():
			return true // the next attempt finds out
		}
	}
}

// fenced reads the last pointer and decides what a fenced attempt does (rule 7). If the pointer cannot be read, the job
// recovers: whatever keeps it from reading keeps it from committing too.
func (j *Job) fenced(ctx context.Context, cause error, tries int) checkpoint.Fencing {
	f := checkpoint.Fenced{Job: j.cfg.Job, Tries: tries, Random: rand.Float64()}
	if r := j.recovered.Load(); r != nil {
		f.Attempt, f.Began, f.FirstCommitted, f.Taken = r.attempt, r.began, r.committed, r.taken
	}
	for began := time.Now(); ; f.Watched = time.Since(began) {
		last, err := j.readLast(ctx)
		if err != nil {
			return checkpoint.Fencing{Action: checkpoint.FencedPause, Pause: time.Second, Reason: err.Error()}
		}
		f.Last = last
		d := checkpoint.DecideFenced(f)
		if d.Action == checkpoint.FencedWatch && f.Watched == 0 {
			j.cfg.Logger.Warn("waiting for the first checkpoint of another process", "job", j.cfg.Job, "at_most", checkpoint.WatchFor, "error", cause)
		}
		if d.Action != checkpoint.FencedWatch || !j.pause(ctx, d.Pause, j.insists) || ctx.Err() != nil {
			return d
		}
	}
}

// stillOurs looks, before a restart fences anybody, whether another process has taken the job over meanwhile. An attempt
// may end for another reason than the fencing: one that was frozen finds its checkpoint expired before it hears of it. What
// is not known yet, the fencing decides.
func (a *attempt) stillOurs(ctx context.Context) error {
	r := a.job.recovered.Load()
	if r == nil {
		return nil
	}
	logged, err := a.log.List(ctx, 1)
	if err != nil || len(logged) == 0 {
		return err
	}
	last, err := checkpoint.DecodePointer(logged[0].Value)
	if err != nil {
		return err
	}
	f := checkpoint.DecideFenced(checkpoint.Fenced{
		Job: a.cfg.Job, Attempt: r.attempt, FirstCommitted: r.committed, Began: r.began, Last: last, Random: rand.Float64(),
	})
	if f.Action == checkpoint.FencedStop {
		return f.Err
	}
	if found, err := a.completed(ctx, &logged[0]); err == nil && found.damage == nil {
		a.readAhead(found.pointer)
		a.ahead.allow()
	}
	return nil
}

// readLast reads the last committed pointer without fencing anybody.
func (j *Job) readLast(ctx context.Context) (*checkpoint.Pointer, error) {
	client, err := kafka.Dial(ctx, j.cfg.Kafka)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	log, err := sink.NewPointerLog(client, j.cfg.logConfig())
	if err != nil {
		return nil, err
	}
	// Without a wait for open transactions: one of them may be this process's own, and a newer attempt has aborted it.
	logged, err := log.List(ctx, 1)
	if err != nil || len(logged) == 0 {
		return nil, err
	}
	return checkpoint.DecodePointer(logged[0].Value)
}

// isFenced reports whether somebody else may have taken the job over: a producer was fenced, or it is not known what
// became of a commit.
func isFenced(err error) bool {
	var fenced *sink.FencedError
	var unknown *sink.UnknownOutcomeError
	return errors.As(err, &fenced) || errors.As(err, &unknown)
}

func isUnreachable(err error) bool {
	var connect *kafka.ConnectError
	return errors.As(err, &connect) && !kafka.IsAuthentication(err)
}

// causeOf says what kind of failure an error is, as far as a restart depends on it.
func causeOf(err error) checkpoint.Cause {
	var (
		failed    *checkpoint.FailedError
		refused   *checkpoint.RefusedError
		takenOver *checkpoint.TakenOverError
		bad       *BadRecordError
		missing   *source.MissingTopicError
		recreated *source.TopicRecreatedError
		loss      *source.DataLossError
		restore   *source.RestoreError
		option    *source.OptionError
		wrong     *OptionError
	)
	switch {
	case errors.As(err, &takenOver):
		return checkpoint.CauseTakenOver
	case errors.As(err, &bad): // the same record would come again
		return checkpoint.CausePermanent
	case errors.As(err, &refused), errors.As(err, &recreated), errors.As(err, &loss), errors.As(err, &restore), errors.As(err, &option): // nothing changes by itself
		return checkpoint.CausePermanent
	case errors.As(err, &missing), errors.Is(err, kafka.ErrNoTopic): // somebody has to create it
		return checkpoint.CausePermanent
	case kafka.IsAuthentication(err), kafka.IsAuthorization(err): // somebody has to change a password or an ACL
		return checkpoint.CausePermanent
	case errors.Is(err, pebblestate.ErrMismatch): // the job has to be changed
		return checkpoint.CausePermanent
	case errors.Is(err, checkpoint.ErrCorrupt), errors.Is(err, pebblestate.ErrCorrupt), lost(err): // it stays damaged
		return checkpoint.CausePermanent
	case errors.As(err, &wrong):
		return checkpoint.CausePermanent
	case errors.As(err, &failed):
		return checkpoint.CauseCheckpoint
	}
	return checkpoint.CauseOther
}

// lost reports that something of a checkpoint is not there any more.
func lost(err error) bool {
	var damaged *checkpoint.DamagedError
	return errors.As(err, &damaged) && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, sink.ErrNoRecord))
}

// OptionError is an option that does not fit what is found at the start. A restart does not mend it.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

func (j *Job) setPhase(p Phase) { j.note(func(s *Status) { s.Phase = p }) }

func (j *Job) note(change func(*Status)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := *j.status.Load()
	change(&s)
	j.status.Store(&s)
}

func (c *Config) logConfig() sink.LogConfig {
	return sink.LogConfig{
		Topic: c.Checkpoint.Topic(c.Job), Partition: 0, Group: c.Checkpoint.GroupID(c.Job), Replication: c.Checkpoint.TopicReplication,
	}
}
