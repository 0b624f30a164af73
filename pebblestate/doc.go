// Package pebblestate keeps a shard's keyed state below the live maps: the state of the checkpoint that the attempt
// restored, the changes of the checkpoints since in encoded form, and the Pebble database that a base is made of.
//
//	           AddDelta                     WriteBase
//	changes ------------> deltas (encoded) -----------> Pebble --hard links--> base files
//	restore ------------> overlay ------------^            ^
//	                         |                             |
//	reads (Get, Scan) -------+---- then ------------------+
//
// [Backend] is the one type to begin with, [DeltaWriter] makes a delta and keys.go draws the bytes of a key. What is read
// is the state as of [Backend.Applied] or newer, and a reader asks only for entries that have not changed since, or that
// [Backend.Lacks] says are never found: that is the invariant everything rests on, and the live maps keep it by never letting
// another entry go.
//
// [View] is the same state to look at, entry by entry, for who asks what a savepoint holds. States that a user dropped are
// numbers in [Restore], see dropped.go.
//
// Deltas are not readable, except those of the restore: they are merged into an overlay, with the last value of
// each key, that is asked before Pebble and goes when a base contains it. Pebble gets each key once a base, sorted,
// without a WAL: durable is what the checkpoint says, never the local directory.
//
// The package knows key groups, states and files. Which operator a state belongs to is a name to compare; when to make
// a base, where its files go and which checkpoint exists are the business of others.
//
// Get, Scan, ScanState, Empty, Applied and Lacks may be called by any number of goroutines, while one other at a time calls
// AddDelta, MergeDeltas, BeginBase and WriteBase.
package pebblestate
