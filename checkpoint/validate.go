package checkpoint

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// maxInline keeps a pointer with its inline deltas below the 1 MiB that a broker takes by default.
const maxInline = 512 * KiB

// kafkaName is what a topic name may consist of.
var kafkaName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// Validate reports every mistake, joined. Call it after EnsureDefaults.
func (o *Options) Validate() error {
	var c checks
	c.atLeast("interval", o.Interval, time.Millisecond)
	c.atLeast("timeout", o.Timeout, time.Millisecond)
	c.atLeast("min_pause", o.MinPause, 0)
	c.that(o.MaxConcurrent >= 1 && o.MaxConcurrent <= Slots-1, "max_concurrent: %d is not between 1 and %d", o.MaxConcurrent, Slots-1)
	c.that(o.TolerableFailures == nil || *o.TolerableFailures >= 0, "tolerable_failures: negative")
	c.that(o.Retained >= 1, "retained: %d is less than 1", o.Retained)
	c.that(o.Memory >= 16*MiB, "memory: %s is less than 16MiB", o.Memory)
	c.that(o.BaseAfter >= 1, "base_after: %s is less than 1B", o.BaseAfter)
	c.that(o.InlineThreshold >= 1 && o.InlineThreshold <= maxInline, "inline_threshold: %s is not between 1B and %s", o.InlineThreshold, maxInline)
	c.that(o.Mode == ExactlyOnce || o.Mode == AtLeastOnce, "mode: %q is neither %s nor %s", o.Mode, ExactlyOnce, AtLeastOnce)
	c.that(o.KeyGroups >= 1 && o.KeyGroups <= 32768, "key_groups: %d is not between 1 and 32768", o.KeyGroups)
	c.that(kafkaName.MatchString(o.Prefix), "prefix: %q: only letters, digits, '.', '_' and '-' may be in a topic's name", o.Prefix)
	c.that(o.TopicReplication == -1 || o.TopicReplication >= 1 && o.TopicReplication <= 32767, "topic_replication: %d is neither -1 nor 1 to 32767", o.TopicReplication)
	if err := checkLocation(o.Storage); err != nil {
		c.errs = append(c.errs, fmt.Errorf("storage: %w", err))
	}
	if need := o.longestTransaction(); need >= o.TransactionTimeout {
		c.errs = append(c.errs, o.transactionTooShort(need))
	}
	if err := o.Restart.Validate(); err != nil {
		c.errs = append(c.errs, err)
	}
	return errors.Join(c.errs...)
}

// longestTransaction is how long a transaction can stay open before its checkpoint is committed or its attempt ends
// (rule 17).
//
// The transaction of checkpoint n opens with the first output after barrier n-1, so not before the trigger T(n-1), and is
// committed before T(n) + timeout. With one checkpoint in flight, T(n) is due at the later of T(n-1) + interval and
// end(n-1) + min_pause, where end(n-1) <= T(n-1) + timeout. So it is open for at most
//
//	max(interval, timeout + min_pause) + timeout.
//
// With c in flight, T(n) waits for the interval and for the end of n-c. That is not later than T(n-c) + timeout, and
// T(n-c) <= T(n-1), so the bound is the same (in fact shorter, by (c-1) intervals): more checkpoints in flight make more
// transactions open at once, not one of them longer. min_pause does not come in there, since a pause means one in flight.
func (o *Options) longestTransaction() time.Duration {
	return max(o.Interval, o.Timeout+o.MinPause) + o.Timeout
}

func (o *Options) transactionTooShort(need time.Duration) error {
	return fmt.Errorf("transaction_timeout: %s is too short: a transaction can be open for %s, which is max(interval %s, timeout %s + min_pause %s) + timeout %s: raise transaction_timeout or lower those",
		o.TransactionTimeout, need, o.Interval, o.Timeout, o.MinPause, o.Timeout)
}

// CheckTimeouts checks rule 17 against the broker's transaction.max.timeout.ms. The error is one sentence that names the
// values.
func (o *Options) CheckTimeouts(brokerMax time.Duration) error {
	if need := o.longestTransaction(); need >= o.TransactionTimeout {
		return o.transactionTooShort(need)
	}
	if o.TransactionTimeout > brokerMax {
		return fmt.Errorf("transaction_timeout: %s is more than the broker allows: its transaction.max.timeout.ms is %d (%s)",
			o.TransactionTimeout, brokerMax.Milliseconds(), brokerMax)
	}
	return nil
}

// Concurrency is how many checkpoints may really be in flight: a pause between them means one.
func (o *Options) Concurrency() int {
	if o.MinPause > 0 {
		return 1
	}
	return o.MaxConcurrent
}

// checks gathers mistakes.
type checks struct{ errs []error }

func (c *checks) that(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (c *checks) atLeast(name string, d, least time.Duration) {
	c.that(d >= least, "%s: %s is less than %s", name, d, least)
}
