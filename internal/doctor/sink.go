package doctor

import (
	"strings"
	"time"
)

// Sink judges a topic that the job writes. Oldest is the earliest timestamp of a record that the job is about to read, in
// milliseconds, 0 if it is not known: results have the timestamps of the records or windows that they come from.
func Sink(t *Topic, oldest, now int64) []Finding {
	l := list{check: "sink topic"}
	if !t.there(&l) {
		return l.findings
	}
	t.safe(&l, "results that were acknowledged may be lost")
	t.written(&l)
	if strings.Contains(t.Settings["cleanup.policy"], "compact") {
		l.add(Note, t.subject(), "", "cleanup.policy is %s: a result without a key is refused by the broker, and of each key the last result is kept", t.Settings["cleanup.policy"])
	}
	if t.Settings["message.timestamp.type"] != "LogAppendTime" && oldest > 0 {
		age := time.Duration(now-oldest) * time.Millisecond
		if keep := t.retention(); keep > 0 && age > keep {
			l.add(Warning, t.subject(), "set retention.ms=-1 or longer than the age of the records",
				"records that are read next are %s old, and results have their timestamps: retention.ms is %s, so Kafka deletes such results within minutes", about(age), about(keep))
		}
		if ms, ok := t.number("message.timestamp.before.max.ms"); ok && ms < int64(maxDuration/time.Millisecond) && age > time.Duration(ms)*time.Millisecond {
			l.add(Error, t.subject(), "raise message.timestamp.before.max.ms", "records that are read next are %s old, and message.timestamp.before.max.ms is %s: results with their timestamps are refused",
				about(age), about(time.Duration(ms)*time.Millisecond))
		}
	}
	if l.silent(t.subject()) {
		l.add(OK, t.subject(), "", "%s, %s", count(t.Partitions, "partition"), count(t.Replicas, "replica"))
	}
	return l.findings
}
