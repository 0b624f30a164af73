// Package source decides where reading begins and ends, and turns what brokers hold into batches of records.
//
// The types to know: [KafkaOptions] is what a user writes, [Spec] what job.From takes, [Source] one source step of a
// running job, [Reader] the part of it that one subtask runs.
//
// Everything rests on one invariant: a split's position is moved only past offsets whose records have been handed on,
// dropped as aborted or control records, or reported as lost in an error. Nothing here resets an offset: an offset that
// no longer exists, a topic that was made again and a log that was cut are errors with a type of their own.
//
// Records are read with plain fetch requests over a kgo client, not with kgo's consumer, for three things that the
// consumer keeps to itself: the offset after control and aborted records, the end of the log in a fetch that brought no
// record (so that "idle" and "at the end" are known and not guessed), and the record batch, which is decoded in place.
//
// The package commits nothing: the runtime keeps the splits in checkpoints (package checkpoint). Connections and their
// options are internal/kafka's; they come in as a [Dial] function.
package source
