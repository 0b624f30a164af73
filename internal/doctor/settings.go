package doctor

import (
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// BrokerSettings are settings of the brokers, by name; Err is why there are none.
type BrokerSettings struct {
	Values map[string]string
	Err    error
	// Brokers is the number of brokers.
	Brokers int
}

// duration is a setting in milliseconds or minutes; ok is false if it is not known.
func (b *BrokerSettings) duration(name string, unit time.Duration) (time.Duration, bool) {
	t := Topic{Settings: b.Values}
	n, ok := t.number(name)
	return time.Duration(n) * unit, ok
}

// Settings judges the brokers' settings against the job's.
func Settings(b *BrokerSettings, o *checkpoint.Options) []Finding {
	l := list{check: "broker settings"}
	const longest = "transaction.max.timeout.ms"
	if b.Err != nil {
		return []Finding{Unknown(l.check, "cluster", b.Err)}
	}
	if most, ok := b.duration(longest, time.Millisecond); ok {
		if err := o.CheckTimeouts(most); err != nil {
			l.add(Error, longest, "lower checkpoint.transaction_timeout (and checkpoint.timeout with it), or raise the brokers' "+longest, "%s", oneLine(err))
		} else {
			l.add(OK, longest, "", "%s; the job asks for %s", most, o.TransactionTimeout)
		}
	}
	if keep, ok := b.duration("transactional.id.expiration.ms", time.Millisecond); ok {
		l.add(OK, "transactional.id.expiration.ms", "", "a job that stands still for more than %s gets new transactional IDs at its next start; nothing is lost by that", about(keep))
	}
	if keep, ok := b.duration("offsets.retention.minutes", time.Minute); ok {
		l.add(OK, "offsets.retention.minutes", "", "a job that stands still for more than %s loses its group's offsets, which only dashboards miss", about(keep))
	}
	t := Topic{Settings: b.Values}
	if n, ok := t.number("transaction.state.log.replication.factor"); ok && n == 1 && b.Brokers > 1 {
		l.add(Warning, "transaction.state.log.replication.factor", "give __transaction_state and __consumer_offsets 3 replicas (kafka-reassign-partitions.sh), and set the factor to 3",
			"it is 1 with %d brokers: with the broker that holds a transaction nobody knows any more whether it was committed", b.Brokers)
	}
	if n, ok := t.number("transaction.state.log.min.isr"); ok && n == 1 && b.Brokers > 2 {
		l.add(Warning, "transaction.state.log.min.isr", "set it to 2", "it is 1 with %d brokers: that a transaction is committed may be known to one broker only", b.Brokers)
	}
	return l.findings
}
