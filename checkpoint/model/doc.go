// Package model checks the protocol of checkpoints: it goes through every order in which processes, brokers and faults can
// take their steps, within bounds, and looks for one in which a promise is broken. It holds no part of the engine.
//
// What is decided is not modelled but asked: a start asks [checkpoint.Resolve], a fenced process asks
// [checkpoint.DecideFenced], a running one asks a [checkpoint.Coordinator], and slots come from [checkpoint.Slot]. What the
// brokers do (transactions, epochs, markers, the last stable offset) and what the engine does between two decisions is
// written here once more, small: docs/model.md says what was left away.
//
// The types to know: [Config], the bounds, and the [Departure] that is planted; [Explore], the search; [Result], what it
// found, with the shortest way there told in words. Inside: state (state.go) is everything there is, broker.go and
// recovery.go, running.go, fenced.go are the steps, moves.go puts them together with the faults, and the properties are in
// broker.go, where a commit is decided, and in alone.go.
//
// The invariant that everything rests on: a step is what one request does at the broker, together with what its sender
// does on the answer. Between the two the sender only waits, so nobody can tell them apart from one step; an answer that does
// not come is a step of its own kind.
package model
