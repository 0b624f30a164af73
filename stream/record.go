package stream

// Header is one header of a Kafka record.
type Header struct {
	Key   string
	Value []byte
}

// Record is a Kafka record, on its way in (all fields set) or out (Topic, Partition and Offset are the sink's business).
type Record struct {
	// Key and Value are nil for Kafka's null, which is not the same as empty.
	Key, Value []byte
	Headers    []Header
	// Timestamp is in milliseconds since the Unix epoch.
	Timestamp int64
	Topic     string
	Partition int32
	Offset    int64
}

// Event is one element of a stream inside a job: a typed value and what travels with it.
type Event[T any] struct {
	Value T
	// Timestamp is the event time in milliseconds since the Unix epoch: the record's timestamp until an event_time step
	// sets another. A result's timestamp becomes the timestamp of the record that is written.
	Timestamp int64
	// Key is the key of the source record and, after a key_by, the encoded key.
	Key     []byte
	Headers []Header
	// Split is the index of the split inside the source subtask that read the record; it has no meaning after an exchange.
	Split int32
	// Group is the key group of Key; it has a meaning only after a key_by.
	Group KeyGroup
	// Hash is [HashOf] of Key, so that it is computed once; 0 if nobody has. Whoever sets another Key sets it too, or to 0.
	Hash uint32
}

// Emit hands an event to whatever comes next. The event is valid only during the call. An error ends the attempt.
type Emit[T any] func(*Event[T]) error

// MinTime and MaxTime are the watermarks "nothing is known yet" and "the input has ended".
const (
	MinTime int64 = -1 << 63
	MaxTime int64 = 1<<63 - 1
)
