package source

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/stream"
)

// part is what one fetch brought of one split.
type part struct {
	split *split
	// raw are record batches whose records in [from, next) are still to be handed on, those of aborted apart.
	raw        []byte
	aborted    []kmsg.FetchResponseTopicPartitionAbortedTransaction
	from, next int64
	// count is how many records raw has at most.
	count int
	// atEnd: next is the end of what can be read. quiet: nothing came for the idle timeout. woken: the split was quiet, and
	// there are records now that cannot be read yet. done: next is the stop offset.
	atEnd, quiet, woken, done bool
}

// unpacker turns parts into batches of records. One goroutine uses it.
type unpacker struct {
	max       int // records in a Batch
	committed bool
	codecs    *decompressor
	emit      func(Batch) error
	reader    batchReader

	// out is the batch under way; left is how many records of the part may still come.
	out  Batch
	left int
}

// unpack emits the batches of a part. If the position moves, the last one has Next = part.next.
func (u *unpacker) unpack(p *part) error {
	if p.next == p.from {
		return nil
	}
	u.out = Batch{Split: p.split.index, LeaderEpoch: -1, Next: p.from}
	u.left = p.count
	dead := newAborts(p.aborted)
	for in := p.raw; ; {
		b, rest, ok, err := cutBatch(in)
		if err == nil && ok && b.last >= p.from && (b.base < p.next || b.magic < 2) {
			if b.magic < 2 {
				// Before Kafka 0.11: rare enough to leave to kgo, with all that follows.
				return u.old(p, in)
			}
			err = u.batch(p, &b, dead)
		}
		if err != nil {
			return u.located(p, b.base, err)
		}
		if !ok {
			break
		}
		in = rest
	}
	u.out.Next, u.out.AtEnd = p.next, p.atEnd
	return u.flush()
}

func (u *unpacker) located(p *part, base int64, err error) error {
	if _, ok := err.(emitError); ok {
		return err
	}
	return &CorruptError{Topic: p.split.Topic, Partition: p.split.Partition, Offset: base, Reason: err.Error()}
}

// batch hands on the records of one record batch.
func (u *unpacker) batch(p *part, b *rawBatch, dead aborts) error {
	u.out.LeaderEpoch = b.leaderEpoch()
	if b.control() {
		if len(dead) > 0 {
			payload, err := b.payload(u.codecs)
			if err != nil {
				return err
			}
			if isAbort(payload) {
				dead.marker(b)
			}
		}
		return nil
	}
	if u.committed && dead.covers(b) {
		u.left -= b.count
		return nil
	}
	payload, err := b.payload(u.codecs)
	if err != nil {
		return err
	}
	r := &u.reader
	r.reset(b, payload)
	for range b.count {
		rec := u.next()
		r.read(rec)
		if r.bad {
			return errCutShort
		}
		u.left--
		if rec.Offset < p.from || rec.Offset >= p.next {
			*rec = stream.Record{}
			u.out.Records = u.out.Records[:len(u.out.Records)-1]
			continue
		}
		rec.Topic, rec.Partition = p.split.Topic, p.split.Partition
		u.out.Bytes += int64(len(rec.Key) + len(rec.Value))
		if len(u.out.Records) >= u.max {
			u.out.Next = rec.Offset + 1
			if u.out.Next < p.next { // else the end of the part emits it
				if err := u.flush(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// next returns the place of the next record of the batch under way.
func (u *unpacker) next() *stream.Record {
	if n := len(u.out.Records); n == cap(u.out.Records) {
		more := max(1, min(u.left, u.max-n))
		if n == 0 {
			u.out.Records = recordSlice(more)
		} else {
			u.out.Records = slices.Grow(u.out.Records, more)
		}
	}
	u.out.Records = u.out.Records[:len(u.out.Records)+1]
	return &u.out.Records[len(u.out.Records)-1]
}

// flush emits the batch under way and begins the next.
func (u *unpacker) flush() error {
	out := u.out
	u.out = Batch{Split: out.Split, LeaderEpoch: out.LeaderEpoch, Next: out.Next}
	if err := u.emit(out); err != nil {
		return emitError{err}
	}
	return nil
}

// old reads message formats 0 and 1.
func (u *unpacker) old(p *part, in []byte) error {
	level := kgo.ReadUncommitted()
	if u.committed {
		level = kgo.ReadCommitted()
	}
	got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: max(p.from, u.out.Next), IsolationLevel: level, Topic: p.split.Topic, Partition: p.split.Partition,
	}, &kmsg.FetchResponseTopicPartition{RecordBatches: in, AbortedTransactions: p.aborted}, kgo.DefaultDecompressor(), nil)
	if got.Err != nil {
		return u.located(p, p.from, got.Err)
	}
	for _, k := range got.Records {
		if k.Offset >= p.next {
			break
		}
		if k.Offset < p.from {
			continue
		}
		rec := u.next()
		*rec = stream.Record{Key: k.Key, Value: k.Value, Timestamp: k.Timestamp.UnixMilli(), Topic: p.split.Topic, Partition: p.split.Partition, Offset: k.Offset}
		for _, h := range k.Headers {
			rec.Headers = append(rec.Headers, stream.Header{Key: h.Key, Value: h.Value})
		}
		u.out.LeaderEpoch = k.LeaderEpoch
		u.out.Bytes += int64(len(k.Key) + len(k.Value))
		if len(u.out.Records) >= u.max {
			u.out.Next = k.Offset + 1
			if u.out.Next < p.next {
				if err := u.flush(); err != nil {
					return err
				}
			}
		}
	}
	u.out.Next, u.out.AtEnd = p.next, p.atEnd
	return u.flush()
}

// emitError is an error of whoever takes the batches, not of the data.
type emitError struct{ error }

func (e emitError) Unwrap() error { return e.error }

type decodeError string

func (e decodeError) Error() string { return string(e) }

const errCutShort decodeError = "it ends in the middle of a record"
