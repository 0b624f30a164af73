package checkpoint

import (
	"fmt"
	"time"
)

// Cause is the kind of failure that ended an attempt, as far as a restart depends on it.
type Cause int

const (
	// CauseOther is anything that may be over at the next attempt: a broker that is gone, a full disk.
	CauseOther Cause = iota
	// CauseCheckpoint is a checkpoint that failed or expired (a [*FailedError]).
	CauseCheckpoint
	// CausePermanent is what a restart cannot mend: a bad record, authentication, a restore that does not fit, a missing topic.
	CausePermanent
	// CauseTakenOver is that another process runs the job (a [*TakenOverError]).
	CauseTakenOver
)

// History is what the restart decision remembers of a job's failures in this process. The zero value is a job that has
// not failed.
type History struct {
	// Restarts counts the restarts of fixed_delay, or those of exponential_delay since its delay was reset.
	Restarts int
	// Recent are the times of the last failures, oldest first; only failure_rate keeps them.
	Recent []time.Time
	// Last is the time of the last failure, Backoff the delay that followed it.
	Last    time.Time
	Backoff time.Duration
	// CheckpointFailures counts the attempts in a row that ended for a checkpoint.
	CheckpointFailures int
}

// Completed returns the history after a checkpoint completed that was not the attempt's first.
func (h History) Completed() History {
	h.CheckpointFailures = 0
	return h
}

// Restart is the decision what follows a failure.
type Restart struct {
	// GiveUp means that the job fails for good; otherwise a new attempt begins after Delay.
	GiveUp bool
	Delay  time.Duration
	// Reason is why, for the log: "restart in 200ms (exponential_delay, failure 2)".
	Reason string
	// History is to be handed to the next decision.
	History History
}

// Decide says whether a job whose attempt ended at time now starts again. Random is a number in [0, 1), for the jitter;
// tolerable is Options.TolerableFailures.
func (o *RestartOptions) Decide(h History, cause Cause, tolerable int, now time.Time, random float64) Restart {
	giveUp := func(format string, args ...any) Restart {
		return Restart{GiveUp: true, Reason: fmt.Sprintf(format, args...), History: h}
	}
	switch cause {
	case CauseTakenOver:
		return giveUp("another process runs the job")
	case CausePermanent:
		return giveUp("a restart does not mend it")
	case CauseCheckpoint:
		h.CheckpointFailures++
		if h.CheckpointFailures > tolerable {
			return giveUp("%d attempts in a row ended for a checkpoint; tolerable_failures is %d", h.CheckpointFailures, tolerable)
		}
	}
	switch o.Strategy {
	case RestartNone:
		return giveUp("restart strategy none")
	case RestartFixedDelay:
		if h.Restarts >= o.Attempts {
			return giveUp("restarted %d times already (fixed_delay)", h.Restarts)
		}
		h.Restarts++
		return after(o.Delay, h, fmt.Sprintf("fixed_delay, restart %d of %d", h.Restarts, o.Attempts))
	case RestartFailureRate:
		return o.failureRate(h, now)
	}
	return o.exponential(h, now, random)
}

func (o *RestartOptions) failureRate(h History, now time.Time) Restart {
	recent := make([]time.Time, 0, len(h.Recent)+1)
	for _, t := range h.Recent {
		if now.Sub(t) < o.FailureInterval {
			recent = append(recent, t)
		}
	}
	h.Recent = append(recent, now)
	if n := len(h.Recent); n > o.MaxFailures {
		return Restart{GiveUp: true, History: h, Reason: fmt.Sprintf("%d failures within %s; max_failures is %d (failure_rate)", n, o.FailureInterval, o.MaxFailures)}
	}
	return after(o.Delay, h, fmt.Sprintf("failure_rate, failure %d within %s", len(h.Recent), o.FailureInterval))
}

// exponential follows Flink's ExponentialDelayRestartBackoffTimeStrategy: the delay begins anew if the job has run for
// the threshold since the restart, else it grows; the jitter comes on top and the result stays within the two bounds.
func (o *RestartOptions) exponential(h History, now time.Time, random float64) Restart {
	if h.Last.IsZero() || now.Sub(h.Last) >= o.ResetBackoffThreshold+h.Backoff {
		h.Backoff, h.Restarts = o.InitialBackoff, 0
	} else {
		// The product may not fit a Duration; compare before converting.
		h.Backoff = time.Duration(min(float64(h.Backoff)*o.BackoffMultiplier, float64(o.MaxBackoff)))
	}
	h.Last = now
	h.Restarts++
	if o.Attempts > 0 && h.Restarts > o.Attempts {
		return Restart{GiveUp: true, History: h, Reason: fmt.Sprintf("restarted %d times already (exponential_delay)", o.Attempts)}
	}
	delay := h.Backoff
	if o.JitterFactor > 0 {
		delay += time.Duration(float64(h.Backoff) * o.JitterFactor * (2*random - 1))
	}
	delay = min(max(delay, o.InitialBackoff), o.MaxBackoff)
	return after(delay, h, fmt.Sprintf("exponential_delay, failure %d", h.Restarts))
}

func after(delay time.Duration, h History, why string) Restart {
	return Restart{Delay: delay, History: h, Reason: fmt.Sprintf("restart in %s (%s)", delay.Round(time.Millisecond), why)}
}
