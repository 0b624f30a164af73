// Package operators holds what is done to records: the contract of an operator, the operators of Weir, and the typed
// state that they keep.
//
// It decides what comes out for what goes in, and when: which window an event falls into, when a window fires, what is
// late, what a key remembers. The types to know:
//
//   - [Spec] and [Spec2] describe an operator before there is a subtask of it: what [Filter], [Map], [FlatMap],
//     [EventTime], [Count], [Reduce], [Aggregate], [WindowCount], [WindowReduce], [WindowAggregate], [Process],
//     [Connect] and [IntervalJoin] return, and what job.Via and job.Connect take.
//   - [Operator] is one subtask's instance. It may also be a [WatermarkHandler], a [ClockHandler] or a [Generator].
//   - [Processor] is a user's own keyed operator.
//   - [Context] is what the engine gives an operator, and what states are declared on.
//   - [Table] is a state as the engine sees it; [StateStore] is what lies below it.
//
// The invariant everything rests on: what an operator emits is a function of its state and its input alone, in the order in
// which that came, and all it remembers lies in its tables and in its watermark. So an operator that is restored and
// reads on cannot be told from one that never stopped: but for the order among keys in which tumbling and hopping windows
// that end together fire, if more than 256 do. Timers fire in order of their time, then of key, and before the watermark
// that made them due goes on. Only Now and processing-time timers look at a clock.
//
// A value handed to a state is not changed any more: a checkpoint that is being written in the background may still read
// it. To change a slice, a map or what a pointer leads to, put a changed copy. A string of a record shares the bytes of
// its whole batch (package stream): who puts it into a state clones it (strings.Clone), or the batch stays in memory.
//
// Times are milliseconds since the Unix epoch. A running result has the timestamp and headers of the event that led to
// it, a window's result the last millisecond of its window and no headers; both have the event's key, so that they can be
// written keyed.
//
// It leaves to others: goroutines, channels, barriers, and when Freeze is called (internal/runtime); which operators
// stand where, and unions (job); how state is kept and restored (pebblestate); what a record's bytes mean (the job's
// decode and encode functions).
package operators
