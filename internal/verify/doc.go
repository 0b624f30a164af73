// Package verify computes a job once more, with a plain loop, and compares the result with what a read_committed reader
// sees.
//
// It decides which range of the input a job's last checkpoint stands for, what the job must have written for it, and what
// of the output is lost, doubled or different. The types to know: [Options] and [Run], [Report], and [Refused], which says
// of which operator the output depends on more than the input.
//
// # The loop
//
// One goroutine takes the records of the range (reader.go), the slowest partition first in event time, and hands each
// through the steps of the graph (loop.go, wire.go), which are the job's own operators and functions. There are no
// tasks, exchanges, barriers, checkpoints or transactions, and nothing is read by package source: what is compared must not
// share the code that it is to find fault with. State lives in the operators' tables; over a budget it goes to a temporary
// Pebble database (state.go), which also holds what was computed and what was read, by key (ledger.go).
//
// # What order means
//
// The oracle is the guarantee of docs/guarantees.md: each record once, in order per key. The order of two records is known
// if they come from one partition by one way. So each event carries its lane (lane.go), a hash of the partition and of the
// exchanges it has passed; a result that a keyed operator made has the lane of that operator and key. Where the records of a
// key come by two lanes the result may depend on how they interleave: such a key is doubtful, and a difference in it is
// not judged. Where a difference would be the rule, which is so for running results, [Run] refuses at once.
//
// # The range
//
// p0 is the last pointer when the verification begins. Then the end of the output is taken, and once everything below it
// is decided, the last pointer again: p1. What stands below the end of the output belongs to checkpoints up to p1, and those
// up to p0 are in it whole. So results of the input up to p0 must be there, and those of the input between p0 and p1 may be
// there; everything else is a fault. If the job stands still, p1 is p0.
package verify
