package checkpoint

import (
	"errors"
	"time"
)

// The restart strategies, with Flink's names and meanings.
const (
	RestartNone        = "none"
	RestartFixedDelay  = "fixed_delay"
	RestartFailureRate = "failure_rate"
	RestartExponential = "exponential_delay"
)

// RestartOptions say whether and when a job that failed starts again. What a restart cannot mend (a bad record,
// authentication, a restore that does not fit, a missing topic) is not restarted by any strategy.
type RestartOptions struct {
	// Strategy is none, fixed_delay, failure_rate or exponential_delay. Default exponential_delay.
	Strategy string `yaml:"strategy"`

	// Attempts is, for fixed_delay, how many restarts there are before the job fails for good, over its whole life; for
	// exponential_delay, how many before the delay has been reset (0: no limit). Default 1 for fixed_delay, else 0.
	Attempts int `yaml:"attempts"`
	// Delay is the time before a restart, for fixed_delay and failure_rate. Default 1s.
	Delay time.Duration `yaml:"delay"`

	// MaxFailures is, for failure_rate, how many failures there may be within failure_interval. Default 1.
	MaxFailures int `yaml:"max_failures"`
	// FailureInterval is the time in which failure_rate counts. Default 1m.
	FailureInterval time.Duration `yaml:"failure_interval"`

	// InitialBackoff is the first delay of exponential_delay. Default 100ms (Flink: 1s; here a recovery takes tens of
	// milliseconds).
	InitialBackoff time.Duration `yaml:"initial_backoff"`
	// MaxBackoff is the longest delay of exponential_delay. Default 1m.
	MaxBackoff time.Duration `yaml:"max_backoff"`
	// BackoffMultiplier is what the delay grows by with each failure. Default 2.
	BackoffMultiplier float64 `yaml:"backoff_multiplier"`
	// ResetBackoffThreshold is how long the job must have run after its last restart for the delay to begin anew. Default 1h.
	ResetBackoffThreshold time.Duration `yaml:"reset_backoff_threshold"`
	// JitterFactor spreads the delay by up to this share of it in both directions, so that jobs that failed together do not
	// come back together. Default 0.1; negative for none.
	JitterFactor float64 `yaml:"jitter_factor"`
}

// EnsureDefaults sets what is zero to its default.
func (o *RestartOptions) EnsureDefaults() {
	set(&o.Strategy, RestartExponential)
	if o.Strategy == RestartFixedDelay {
		set(&o.Attempts, 1)
	}
	set(&o.Delay, time.Second)
	set(&o.MaxFailures, 1)
	set(&o.FailureInterval, time.Minute)
	set(&o.InitialBackoff, 100*time.Millisecond)
	set(&o.MaxBackoff, time.Minute)
	set(&o.BackoffMultiplier, 2)
	set(&o.ResetBackoffThreshold, time.Hour)
	set(&o.JitterFactor, 0.1)
}

// Validate reports every mistake, joined.
func (o *RestartOptions) Validate() error {
	var c checks
	switch o.Strategy {
	case RestartNone, RestartFixedDelay, RestartFailureRate, RestartExponential:
	default:
		c.that(false, "restart: strategy: %q is none of %s, %s, %s, %s", o.Strategy, RestartNone, RestartFixedDelay, RestartFailureRate, RestartExponential)
	}
	c.that(o.Attempts >= 0, "restart: attempts: negative")
	c.atLeast("restart: delay", o.Delay, 0)
	c.that(o.MaxFailures >= 1, "restart: max_failures: %d is less than 1", o.MaxFailures)
	c.atLeast("restart: failure_interval", o.FailureInterval, time.Millisecond)
	c.atLeast("restart: initial_backoff", o.InitialBackoff, time.Millisecond)
	c.that(o.MaxBackoff >= o.InitialBackoff, "restart: max_backoff: %s is less than initial_backoff %s", o.MaxBackoff, o.InitialBackoff)
	c.that(o.BackoffMultiplier >= 1, "restart: backoff_multiplier: %v is less than 1", o.BackoffMultiplier)
	c.atLeast("restart: reset_backoff_threshold", o.ResetBackoffThreshold, time.Millisecond)
	c.that(o.JitterFactor <= 1, "restart: jitter_factor: %v is more than 1", o.JitterFactor)
	return errors.Join(c.errs...)
}
