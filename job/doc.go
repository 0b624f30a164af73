// Package job is what a user writes: a job as a graph of sources, operators and sinks, and the options it runs with.
//
// [New] begins a [Graph]. [From] reads a source into a [Stream], [Via], [KeyBy], [Connect], [Union] and [Side] make streams
// of streams, [To] ends one in a sink. They are package functions, since methods in Go have no type parameters of their
// own. [Graph.Run] runs the job; package job/cli gives a program the commands of the processor for it, and package
// job/yamljob makes the same Graph out of a YAML file. ExampleGraph is the first thing to read.
//
// The invariant that everything rests on: a step's name is the identity of its state. A restart finds the state of the
// operator "count" under that name, whatever stands before or after it; a step that is renamed is refused at a restore
// and never silently begins empty.
//
// Describing a job touches nothing outside the process. Mistakes do not panic and are not returned one by one: they are
// collected and reported together, by [Graph.Validate], before anything is started.
//
// What an operator does is package operators' business, where records come from and go to that of source and sink, and
// goroutines, checkpoints and recovery that of internal/runtime.
package job
