package source

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
)

// noBroker is the leader of a split that has to be looked for.
const noBroker int32 = -1

// split is one split of a reader. index and the embedded Split (as it was at the start) do not change; fields marked
// (fetch) belong to the reader's mutex, those marked (run) to the goroutine of Run.
type split struct {
	checkpoint.Split
	index int32
	high  *atomic.Int64 // the source's, for lag
	place *AlignedSplit

	// position is the next offset to fetch, epoch the leader epoch of the record before it. (fetch)
	position int64
	epoch    int32
	// leader is the broker to fetch from, leaderEpoch its epoch. (fetch)
	leader, leaderEpoch int32
	// failures counts fetches that failed in a row, since failedSince; failure is the last error. (fetch)
	failures    int
	failedSince time.Time
	failure     error
	// outOfRange: the last fetch found no such offset; to be looked into before the next. (fetch)
	outOfRange bool
	// lastData is when records came last, on the steady clock in milliseconds; quiet that the end of the log has been reported
	// to be silent since. (fetch)
	lastData int64
	quiet    bool
	// heldSince is when the position reached the last stable offset with records of an open transaction behind it, on the steady
	// clock; -1 if it has not. heldTold says that it was logged. (fetch)
	heldSince int64
	heldTold  bool
	// finished: the stop offset is reached. (fetch)
	finished bool
	// unread is how many parts were fetched and are not handed on. (fetch)
	unread int

	// idle: EventIdle was sent. ended: EventSplitEnd was sent. (run)
	idle, ended bool
}

// fetched applies one partition of a fetch response to the split: it moves the position and says what to hand on, if
// anything. err is set if what came cannot be read; failing is set if the fetch of the split failed.
func (s *split) fetched(p *kmsg.FetchResponseTopicPartition, o *KafkaOptions, now int64) (out part, something bool, err error) {
	if code := kerr.ErrorForCode(p.ErrorCode); code != nil {
		return out, false, code
	}
	s.high.Store(p.HighWatermark)
	end := p.HighWatermark
	if o.committedOnly() && p.LastStableOffset >= 0 {
		end = p.LastStableOffset
	}
	out = part{split: s, raw: p.RecordBatches, aborted: p.AbortedTransactions, from: s.position, next: s.position}
	data := false
	for in := p.RecordBatches; ; {
		b, rest, ok, err := cutBatch(in)
		if err != nil {
			return out, false, &CorruptError{Topic: s.Topic, Partition: s.Partition, Offset: b.base, Reason: err.Error()}
		}
		if !ok {
			break
		}
		if s.Stop >= 0 && b.base >= s.Stop && b.magic >= 2 {
			out.next = s.Stop // nothing comes before the stop any more, even if offsets are missing
			break
		}
		in = rest
		if b.last < out.next {
			continue // a broker may begin with a batch before the offset
		}
		out.next = b.last + 1
		if b.magic < 2 {
			data = true
			continue
		}
		s.epoch = b.leaderEpoch()
		if !b.control() {
			out.count += b.count
			data = data || b.count > 0
		}
	}
	if len(p.RecordBatches) > 0 && out.next == out.from {
		return out, false, errNoProgress
	}
	s.failures, s.failure = 0, nil
	if s.Stop >= 0 && out.next >= s.Stop {
		out.next, s.finished = s.Stop, true
	}
	s.position = out.next
	if data {
		s.lastData, s.quiet = now, false
	}
	out.done = s.finished
	out.atEnd = out.next >= end
	// Records that cannot be read yet are something new all the same: a split that waits for them is not idle, else they would
	// be late when their transaction commits.
	if held := out.atEnd && end < p.HighWatermark; !held {
		s.heldSince = -1
	} else {
		if s.heldSince < 0 {
			s.heldSince = now
		}
		s.lastData, out.woken, s.quiet = now, s.quiet, false
	}
	if out.atEnd && !s.quiet && o.IdleTimeout > 0 && now-s.lastData >= o.IdleTimeout.Milliseconds() {
		s.quiet, out.quiet = true, true
	}
	return out, out.next > out.from || out.quiet || out.woken || out.done, nil
}

// failed notes a failed fetch: the leader is to be looked for before the next.
func (s *split) failed(err error) {
	if s.failures == 0 {
		s.failedSince = time.Now()
	}
	s.failures++
	s.failure, s.leader = err, noBroker
	s.outOfRange = errors.Is(err, kerr.OffsetOutOfRange)
}

// errNoProgress: asking again at once would go on for ever. Kafka always sends one whole batch at or after the offset.
var errNoProgress = errors.New("the broker sent no whole record batch at the offset")

// mends reports whether a partition's error may go away by looking for the leader or the topic again.
func mends(err error) bool {
	return passes(err) || errors.Is(err, errNoProgress) || errors.Is(err, kerr.OffsetOutOfRange) || errors.Is(err, kerr.UnknownTopicID) ||
		errors.Is(err, kerr.InconsistentTopicID) || errors.Is(err, kerr.UnknownTopicOrPartition)
}
