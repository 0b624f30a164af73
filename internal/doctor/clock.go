package doctor

import "time"

// Clocks is what bears on this machine's clock. Times are in milliseconds. Kafka's protocol does not tell a broker's time,
// so only bounds are known: what was stamped before we asked must not lie in our future.
type Clocks struct {
	Now int64
	// Brokers is the latest timestamp that a broker has put on a record, and where; only topics with LogAppendTime have
	// such. 0 if there is none.
	Brokers      int64
	BrokersTopic string
	// Records is the latest timestamp that a producer has put on a record that the job reads, and where.
	Records      int64
	RecordsTopic string
	// Pointer is when the last checkpoint was written, by the clock of Host.
	Pointer int64
	Host    string
}

// tolerance is what two clocks that are kept by NTP may differ by, and more.
const tolerance = 2 * time.Second

// Clock judges the clocks. What depends on them: processing-time timers, the age of a checkpoint and lag in metrics; results
// by event time do not, and a transaction's timeout runs on the broker's clock alone.
func Clock(c Clocks) []Finding {
	l := list{check: "clock"}
	ahead := func(at int64) time.Duration { return time.Duration(at-c.Now) * time.Millisecond }
	const remedy = "keep the clocks of all machines by NTP"
	if d := ahead(c.Brokers); c.Brokers > 0 && d > tolerance {
		l.add(Warning, "this machine", remedy, "a broker stamped a record of topic %s %s after this machine's time: one of the two clocks is wrong by at least that", c.BrokersTopic, about(d))
	}
	if d := ahead(c.Pointer); c.Pointer > 0 && d > tolerance {
		l.add(Warning, "this machine", remedy, "the last checkpoint was written by host %s %s after this machine's time", c.Host, about(d))
	}
	if d := ahead(c.Records); c.Records > 0 && d > time.Minute {
		l.add(Warning, "topic "+c.RecordsTopic, "find the producer; a step of event_time would make everything after such a record late", "it has a record of %s after this machine's time", about(d))
	}
	if !l.silent("this machine") {
		return l.findings
	}
	switch {
	case c.Brokers > 0:
		l.add(OK, "this machine", "", "no broker's stamp lies in its future (topic %s has LogAppendTime)", c.BrokersTopic)
	case c.Pointer > 0:
		l.add(OK, "this machine", "", "the last checkpoint does not lie in its future; a broker's clock cannot be asked, and no topic of the job has LogAppendTime")
	default:
		l.add(Note, "this machine", "", "not checked: a broker's clock cannot be asked, and no topic of the job has LogAppendTime; results do not depend on it")
	}
	return l.findings
}
