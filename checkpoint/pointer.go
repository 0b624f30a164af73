package checkpoint

// Pointer is the record in the checkpoint topic that makes a checkpoint exist. It is written inside the transaction that
// carries the checkpoint's output and offsets (docs/formats/pointer.md). Its key is the checkpoint ID.
type Pointer struct {
	Format     int    `cbor:"format" json:"format"`
	Job        string `cbor:"job" json:"job"`
	Shard      int    `cbor:"shard" json:"shard"`
	Shards     int    `cbor:"shards" json:"shards"`
	Checkpoint int64  `cbor:"checkpoint" json:"checkpoint"`
	// Attempt is the UUID of the run that wrote the pointer; Lineage that of the history it belongs to.
	Attempt string `cbor:"attempt" json:"attempt"`
	Lineage string `cbor:"lineage" json:"lineage"`
	Host    string `cbor:"host" json:"host"`
	// Time is milliseconds since the Unix epoch.
	Time int64 `cbor:"time" json:"time"`
	// Request is what a start asked for and has been carried out ("start", "fresh:<id>", "from:<savepoint id>"); it is
	// copied into every later pointer of the lineage, so that a supervisor may repeat its flags at every restart.
	Request string `cbor:"request" json:"request"`
	// From is the directory or URL of the savepoint that the lineage began from, with its state or (Request says which) with
	// its offsets alone; "" if it did not.
	From string `cbor:"from,omitempty" json:"from,omitempty"`
	// First marks an attempt's own first checkpoint.
	First bool `cbor:"first,omitempty" json:"first,omitempty"`
	// Last marks the checkpoint that a job was stopped with: its process ended after it, or went on if the savepoint that it
	// was to become could not be written.
	Last bool `cbor:"last,omitempty" json:"last,omitempty"`
	// Final marks the last checkpoint of a job that has reached the end of its input, or was drained.
	Final bool `cbor:"final,omitempty" json:"final,omitempty"`
	// Drained says that the input went on behind a Final checkpoint: windows and timers fired before their time, as the user
	// asked for, so nothing goes on from its state.
	Drained   bool       `cbor:"drained,omitempty" json:"drained,omitempty"`
	KeyGroups int        `cbor:"key_groups" json:"key_groups"`
	Topics    []Topic    `cbor:"topics" json:"topics"`
	Sources   []Source   `cbor:"sources" json:"sources"`
	Operators []Operator `cbor:"operators" json:"operators"`
	// Base is the Pebble base, nil before there is one; Deltas are the changes since, oldest first.
	Base   *Base   `cbor:"base,omitempty" json:"base,omitempty"`
	Deltas []Delta `cbor:"deltas,omitempty" json:"deltas,omitempty"`
	// Dropped are the numbers of states that were dropped, as the user asked for: base and deltas may still hold entries of
	// them, which nobody reads, and no other state gets their numbers. In ascending order.
	Dropped []uint16 `cbor:"dropped,omitempty" json:"dropped,omitempty"`
	// Drops are the names by which starts of this lineage were told to drop state ("count", "count/sum"; with --again
	// "count#<UUID>"): what is repeated at every restart is dropped once. "incompatible:count" is a name that --on-incompatible
	// had, whether or not something was dropped by it.
	Drops []string `cbor:"drops,omitempty" json:"drops,omitempty"`
	// Savepoint, if set, is the directory (or URL) of the savepoint that this checkpoint is to become (rule 13).
	Savepoint string `cbor:"savepoint,omitempty" json:"savepoint,omitempty"`
	// Unfinished lists savepoints of earlier checkpoints that had no manifest yet when this pointer was written: recovery
	// finishes them, and until then keeps what they need.
	Unfinished []Savepoint `cbor:"unfinished,omitempty" json:"unfinished,omitempty"`
	// Left, if set, is the checkpoint that the lineage left behind when it began: its files stay.
	Left *Left `cbor:"left,omitempty" json:"left,omitempty"`
	// File, if set, names the file that holds the rest of the pointer, which was too large for the topic.
	File *File `cbor:"file,omitempty" json:"file,omitempty"`
}

// Savepoint is a savepoint under way: the checkpoint that it is made of, and the offset of that checkpoint's pointer.
type Savepoint struct {
	Directory  string `cbor:"directory" json:"directory"`
	Checkpoint int64  `cbor:"checkpoint" json:"checkpoint"`
	Offset     int64  `cbor:"offset" json:"offset"`
}

// Topic is a source or sink topic and the ID it had: another ID means it was deleted and made again.
type Topic struct {
	Role string  `cbor:"role" json:"role"` // "source" or "sink"
	Step string  `cbor:"step" json:"step"`
	Name string  `cbor:"name" json:"name"`
	ID   TopicID `cbor:"id" json:"id"`
}

// Source is the state of one source step.
type Source struct {
	Name   string  `cbor:"name" json:"name"`
	Splits []Split `cbor:"splits" json:"splits"`
}

// Split is what one reader reads: a topic partition, where it stands and where it ends.
type Split struct {
	Topic     string  `cbor:"topic" json:"topic"`
	TopicID   TopicID `cbor:"topic_id" json:"topic_id"`
	Partition int32   `cbor:"partition" json:"partition"`
	// Offset is the next offset to read; LeaderEpoch belongs to the record before it (-1: unknown).
	Offset      int64 `cbor:"offset" json:"offset"`
	LeaderEpoch int32 `cbor:"leader_epoch" json:"leader_epoch"`
	// Stop is the offset to end before; -1 for never.
	Stop int64 `cbor:"stop" json:"stop"`
	// Done: the split has reached Stop.
	Done bool `cbor:"done,omitempty" json:"done,omitempty"`
	// MaxTimestamps holds, per event_time step, the greatest event time seen.
	MaxTimestamps map[string]int64 `cbor:"max_timestamps,omitempty" json:"max_timestamps,omitempty"`
}

// Operator lists the states of one operator.
type Operator struct {
	Name   string  `cbor:"name" json:"name"`
	Kind   string  `cbor:"kind" json:"kind"`
	States []State `cbor:"states,omitempty" json:"states,omitempty"`
	// Keys says what the keys of the states are, as the job's YAML defines them: "user string", one for each input, with " | "
	// between. Empty if it is not known: the key of a Go job is a function.
	Keys string `cbor:"keys,omitempty" json:"keys,omitempty"`
	// Watermark is the operator's watermark at the barrier.
	Watermark int64 `cbor:"watermark" json:"watermark"`
}

// State describes one state: its number in keys, and what must fit at a restore.
type State struct {
	ID      uint16 `cbor:"id" json:"id"`
	Name    string `cbor:"name" json:"name"`
	Kind    string `cbor:"kind" json:"kind"`
	Type    string `cbor:"type" json:"type"`
	Version int    `cbor:"version" json:"version"`
	// Schema describes the fields of the values; empty if they are not described.
	Schema string `cbor:"schema,omitempty" json:"schema,omitempty"`
}

// Base is a consistent set of Pebble files.
type Base struct {
	Checkpoint int64  `cbor:"checkpoint" json:"checkpoint"`
	Files      []File `cbor:"files" json:"files"`
}

// File is a file in the checkpoint store.
type File struct {
	// Local is the name that Pebble knows the file by (bases only).
	Local string `cbor:"local,omitempty" json:"local,omitempty"`
	// Name is the file's name in the store; it holds the attempt and the hash.
	Name string `cbor:"name" json:"name"`
	Size int64  `cbor:"size" json:"size"`
	// Hash is the SHA-256 of the content.
	Hash Hash `cbor:"hash" json:"hash"`
}

// Delta is the changes of the checkpoints First to Checkpoint, as a Pebble batch. Exactly one of Inline, File and Offset
// says where it is.
type Delta struct {
	First      int64    `cbor:"first" json:"first"`
	Checkpoint int64    `cbor:"checkpoint" json:"checkpoint"`
	Size       int64    `cbor:"size" json:"size"`
	Hash       [32]byte `cbor:"hash" json:"hash"`
	// Inline is the delta itself, in the pointer that introduced it.
	Inline []byte `cbor:"inline,omitempty" json:"inline,omitempty"`
	File   *File  `cbor:"file,omitempty" json:"file,omitempty"`
	// Offset is that of the pointer record, in the same partition, that has the delta inline; -1 if it is elsewhere.
	Offset int64 `cbor:"offset" json:"offset"`
}
