package runtime

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/stream"
)

// BadRecordError marks a record that a decode function refused or a result that could not be encoded or written. Where
// holds what the engine knows of its place.
type BadRecordError struct {
	Where string
	Err   error
}

func (e *BadRecordError) Error() string {
	if e.Where == "" {
		return e.Err.Error()
	}
	return e.Where + ": " + e.Err.Error()
}

func (e *BadRecordError) Unwrap() error { return e.Err }

// Validate reports an unknown policy, or a dead_letter without a topic.
func (b BadRecord) Validate() error {
	switch b.Policy {
	case "", PolicyFail, PolicySkip:
		if b.Topic != "" {
			return fmt.Errorf("a dead-letter topic with policy %q: set on_bad_record to dead_letter", b.Policy)
		}
		return nil
	case PolicyDeadLetter:
		if b.Topic == "" {
			return errors.New("on_bad_record is dead_letter: name the topic too")
		}
		if err := kafka.CheckName(b.Topic); err != nil {
			return fmt.Errorf("dead-letter topic: %w", err)
		}
		return nil
	}
	return fmt.Errorf("unknown policy %q for bad records: want fail, skip or dead_letter", b.Policy)
}

// sample quotes the first bytes of a value.
func sample(b []byte) string {
	if b == nil {
		return "null"
	}
	if len(b) > 60 {
		return strconv.QuoteToASCII(string(b[:60])) + "..."
	}
	return strconv.QuoteToASCII(string(b))
}

// badRecords carries out a policy for one source or sink subtask.
type badRecords struct {
	policy  Policy
	letters sink.Writer // of dead_letter
	count   func()
	step    string
}

// source handles a record that the source's decode function refused.
func (b *badRecords) source(rec *stream.Record, cause error) error {
	where := fmt.Sprintf("topic %s partition %d offset %d: bad record %s", rec.Topic, rec.Partition, rec.Offset, sample(rec.Value))
	return b.handle(rec, where, cause)
}

// sink handles a result that could not be encoded or written.
func (b *badRecords) sink(rec *stream.Record, cause error) error {
	return b.handle(rec, fmt.Sprintf("bad result with key %s", sample(rec.Key)), cause)
}

func (b *badRecords) handle(rec *stream.Record, where string, cause error) error {
	switch b.policy {
	case PolicySkip:
		b.count()
		return nil
	case PolicyDeadLetter:
		b.count()
		letter := *rec
		letter.Headers = append(append([]stream.Header(nil), rec.Headers...),
			stream.Header{Key: "weir.step", Value: []byte(b.step)},
			stream.Header{Key: "weir.error", Value: []byte(cause.Error())},
		)
		if rec.Topic != "" {
			letter.Headers = append(letter.Headers,
				stream.Header{Key: "weir.topic", Value: []byte(rec.Topic)},
				stream.Header{Key: "weir.partition", Value: strconv.AppendInt(nil, int64(rec.Partition), 10)},
				stream.Header{Key: "weir.offset", Value: strconv.AppendInt(nil, rec.Offset, 10)},
				stream.Header{Key: "weir.timestamp", Value: strconv.AppendInt(nil, rec.Timestamp, 10)},
			)
		}
		err := b.letters.Write(&letter)
		var large *sink.TooLargeError
		if errors.As(err, &large) {
			// Not even the dead-letter topic takes it: what is left is where it came from and why.
			letter.Value = nil
			err = b.letters.Write(&letter)
		}
		return err
	}
	return &BadRecordError{Where: where, Err: cause}
}
