package operators

import "github.com/weirstream/weir/stream"

// StateStore is what lies below the live maps: the state of the checkpoint that the attempt restored, and clean entries
// that were evicted. It is implemented by pebblestate. Reads come from the subtask's goroutine.
type StateStore interface {
	// StateID returns the number that stands for a state of this operator in keys: the restored one, or a new one. A state
	// that was restored with another description is an error.
	StateID(operator string, desc StateDesc) (uint16, error)
	// Get returns the entry's value; the bytes are the caller's.
	Get(group stream.KeyGroup, state uint16, key string, namespace []byte) (value []byte, ok bool, err error)
	// Scan calls fn for each entry of one key, in order of namespace. The bytes are valid during the call.
	Scan(group stream.KeyGroup, state uint16, key string, fn func(namespace, value []byte) error) error
	// ScanState calls fn for each entry of a state in a range of key groups.
	ScanState(groups stream.KeyGroupRange, state uint16, fn func(group stream.KeyGroup, key string, namespace, value []byte) error) error
	// Empty reports that the store holds nothing of this state: a miss in the live map is then final.
	Empty(state uint16) bool
	// Applied is the newest checkpoint whose changes are all readable here: entries last changed at or before it may be
	// evicted from the live maps.
	Applied() int64
	// Lacks says what is not found here, now or later, beside what was deleted at or before Applied: the entries that were new
	// after checkpoint since and were deleted at or before checkpoint upTo. What was restored, and every base that has begun, is of
	// checkpoints up to since: 0 if there is none. The next base will be of all up to upTo at least.
	Lacks() (since, upTo int64)
}

// StateDesc describes a state, for the check at restore.
type StateDesc struct {
	Name string
	// Kind is "value", "window", "list", "map", "timers".
	Kind string
	// Type names the codec and the Go or YAML type; Version is the codec's.
	Type    string
	Version int
	// Schema describes the values (package checkpoint), so that their type may grow; empty if the codec does not say.
	Schema string
}

// Table is one declared state as the engine sees it.
type Table interface {
	Desc() StateDesc
	// Freeze takes the changes since the last Freeze and makes them those of the given checkpoint. It is quick whatever
	// their number. It returns nil if there are none. What it returned never changes afterwards.
	Freeze(checkpoint int64) Frozen
	// Entries and Bytes are the size of the live map; Bytes is an estimate.
	Entries() int
	Bytes() int64
	// Evict drops clean entries that the store holds, colder ones first, until the live map has at most the given bytes or
	// there is nothing to drop. It goes on where the last call ended, and looks at so many places of the map at most. It
	// reports whether too much is left and hardly anything can go before the store has more changes.
	Evict(bytes int64, looks int) (stuck bool)
}

// Frozen is a table's changes of one checkpoint.
type Frozen interface {
	// Encode hands every change to w, each key once. It is called on another goroutine than the table's.
	Encode(w ChangeWriter) error
	Len() int
}

// ChangeWriter takes the encoded changes of a checkpoint. It copies what it is given.
type ChangeWriter interface {
	Put(group stream.KeyGroup, state uint16, key string, namespace, value []byte) error
	Delete(group stream.KeyGroup, state uint16, key string, namespace []byte) error
}

// CellWriter is a [ChangeWriter] that is told, before each change, the number of the cell in memory that it is of. As long as a
// cell lives, all changes of its entry have its number, and no other cell of this process ever has it. An entry whose cell
// went and came again has another; so of two changes of one number the later one counts, but nothing follows from two numbers.
type CellWriter interface {
	ChangeWriter
	Cell(number uint64)
}

// Codec turns state values into bytes and back.
type Codec[V any] interface {
	// Type and Version go into the checkpoint; a restore with others is refused. A codec that is also [Described] may have
	// another type at a restore.
	Type() string
	Version() int
	// Append appends the encoded value to dst.
	Append(dst []byte, v V) ([]byte, error)
	Decode(b []byte) (V, error)
}
