// Package doctor says what is wrong with the place in which a job is about to run: facts in, findings out. It asks nobody
// and changes nothing; package probe below it collects the facts, and the command doctor prints the findings.
//
// The types to know: [Finding] is one line of the report, with what to do about it; [Report] is all of them. Each file
// has the facts of one subject and the function that judges them: [Brokers], [Access], [Source], [Sink],
// [CheckpointTopic], [Pointer], [Storage], [Disk], [Memory], [Clock], [Transactions], [Readers], [Running].
//
// Everything rests on one invariant: what could not be looked at is said to be unknown, never taken for fine.
package doctor
