package sink

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// FencedError says that a slot's producer has been taken over: by another process of the job, or by the brokers because
// the transaction timed out. The last pointer tells which.
type FencedError struct {
	// Transaction is the transactional ID.
	Transaction string
	// Err is the broker's answer.
	Err error
}

// Error does not say by whom: who reads the last pointer does.
func (e *FencedError) Error() string {
	return fmt.Sprintf("transaction %s: fenced (%s)", e.Transaction, code(e.Err))
}

// Unwrap returns the broker's answer.
func (e *FencedError) Unwrap() error { return e.Err }

// UnknownOutcomeError says that a commit was asked for and no answer tells whether it happened. Only recovery can: it
// fences, and reads the last committed pointer.
type UnknownOutcomeError struct {
	// Transaction is the transactional ID.
	Transaction string
	Checkpoint  int64
	// Err is what came instead of an answer. It may be a [*FencedError]: a committed transaction whose slot was taken over at
	// once is answered so too.
	Err error
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("transaction %s: checkpoint %d may or may not be committed: %s", e.Transaction, e.Checkpoint, e.Err)
}

// Unwrap returns what came instead of an answer.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// TooLargeError says that a record does not fit into its topic. It has not been written, and the writer can go on.
type TooLargeError struct {
	Topic     string
	Partition int32
	// Size is that of a batch with only this record, Compressed the same compressed (0 if that was not tried), and Max what
	// the topic takes (max.message.bytes), in bytes.
	Size, Compressed, Max int
}

func (e *TooLargeError) Error() string {
	size := fmt.Sprintf("%d bytes", e.Size)
	if e.Compressed > 0 {
		size += fmt.Sprintf(", %d compressed,", e.Compressed)
	}
	return fmt.Sprintf("topic %s partition %d: a record of %s is more than the topic takes (max.message.bytes %d)", e.Topic, e.Partition, size, e.Max)
}

// isFenced reports whether a broker's answer means that the producer ID or epoch is not ours any more. An unknown mapping
// counts: a new owner whose epochs had run out gets a new producer ID.
func isFenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) ||
		errors.Is(err, kerr.InvalidProducerIDMapping)
}

// inTransaction says which transaction an error is about.
func inTransaction(name string, err error) error {
	if isFenced(err) {
		return &FencedError{name, err}
	}
	return fmt.Errorf("transaction %s: %w", name, err)
}

// code is the short name of a broker's answer, or the text of any other error.
func code(err error) string {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Message
	}
	return err.Error()
}
