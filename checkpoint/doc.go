// Package checkpoint decides which checkpoints exist, when one is taken, and what may be restored. It holds decisions,
// not effects: a decision is a value, made from observations, and a test of it is a transcript. The only I/O is behind
// [Store]. Goroutines, Kafka and Pebble are elsewhere: internal/runtime carries out what is decided here.
//
// The steps of checkpoint n, and who takes part in each:
//
//	          coordinator        source       operator        sink          broker, store
//	trigger      |--- barrier n --->|
//	             |                  |-- barrier -->|
//	align        |                  |              | holds back the channels whose barrier has come (Aligner)
//	snapshot     |<------ ack ------|<---- ack ----|-- barrier -->|
//	             |<----------------------- ack ------------------ |
//	persist      |   frozen state, encoded: a delta ------------------------> inline, or a file (Store)
//	prepare      |   every record of n is acknowledged          |----------->|
//	complete     |   pointer + offsets + EndTxn, after n-1 is committed ----->|   now checkpoint n exists
//	notify       |   what n no longer lists is deleted (Retain) ------------->|
//
// A checkpoint that has sent a barrier completes, or the attempt ends: its output is in a transaction of its own and
// cannot move to the next.
//
// The types to know: [Pointer], the record that makes a checkpoint exist; [Coordinator], when to trigger, commit and give
// up; [Aligner], which channels of a subtask are held back; [Resolve], what a start does; [DecideFenced] and
// [RestartOptions.Decide], what the end of an attempt means; [Store], where files are; [Manifest], a savepoint.
// The first thing to read is testdata/aligner/two_inputs.
//
// The invariant that everything rests on: checkpoint IDs are dense and each is committed in slot n mod 4, by one
// transaction that carries the output, the offsets and the pointer, and only after n-1 is known to be committed. Then
// whatever is read below the last committed pointer belongs together.
package checkpoint
