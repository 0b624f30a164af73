// Package demo shows what the processor does, on one machine with nothing else: a Kafka in memory, the job
// examples/clicks.yaml, and somebody who kills the job again and again.
//
// Three processes of the same program run, so that a kill is a real one: the demonstration itself, which feeds the input,
// reads the output and kills; the broker; and the job, which knows of nothing. The children hold the other end of a pipe
// and end when the demonstration does, however it ends.
//
// The invariant: what is compared at the end is what one read_committed reader saw from the first kill to the last, not what
// the topic looks like afterwards.
package demo
