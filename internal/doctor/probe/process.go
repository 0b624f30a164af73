package probe

import (
	"context"
	"net"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/web"
)

// askProcess asks at the job's HTTP address who is there. Its findings come with those of watchProcess, unless no broker
// answers.
func (e *examination) askProcess(ctx context.Context) []doctor.Finding {
	if !e.opts.HTTP.Enabled() {
		return nil
	}
	e.process.Address = web.Reachable(e.opts.HTTP.Address)
	ctx, cancel := context.WithTimeout(ctx, min(e.opts.Timeout, 3*time.Second))
	defer cancel()
	st, err := (&web.Client{Address: e.process.Address}).Status(ctx)
	switch {
	case err == nil && st.Job == e.config.Job:
		e.process.Phase, e.process.Attempt, e.running = string(st.Phase), st.Attempt, true
	case err == nil && st.Job != "":
		e.process.Other = st.Job
	default:
		// Nobody, or something that is not a job.
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", e.opts.HTTP.Address)
		if err != nil {
			e.process.ListenErr = &web.ListenError{Address: e.opts.HTTP.Address, Err: err}
		} else {
			_ = l.Close() // it was never used
		}
	}
	return nil
}

// watchProcess looks whether the job's transactions change by themselves: then a process runs it somewhere.
func (e *examination) watchProcess(ctx context.Context) []doctor.Finding {
	if !e.running {
		e.process.Moves = Moves(ctx, e.home.client, IDs(&e.config.Checkpoint, e.config.Job), Watch(&e.config.Checkpoint))
		e.running = e.process.Moves
	}
	return doctor.Running(e.process)
}

// IDs are the transactional IDs of a job's slots.
func IDs(o *checkpoint.Options, job string) []string {
	ids := make([]string, checkpoint.Slots)
	for i := range ids {
		ids[i] = o.TransactionalID(job, 0, i)
	}
	return ids
}

// Watch is how long a job that has something to do takes at most, usually, from one commit to the next.
func Watch(o *checkpoint.Options) time.Duration {
	return min(max(2*o.Interval, 500*time.Millisecond), 5*time.Second)
}
