// Package operatortest drives one operator without a job: events, watermarks and a clock go in by hand, and what comes out
// is kept. It is for tests of processors as much as for Weir's own operators.
//
//	h := operatortest.New(t, operators.WindowCount[View](operators.Tumbling(time.Minute), operators.WindowOptions[View]{}))
//	h.Process("ann", View{}, 1_000)
//	h.Watermark(60_000)
//	h.Values() // the results since the last call
//
// The types to know: [Harness] for one input, [Harness2] for two, and [Store], the state in memory. Snapshot gives the
// state as a checkpoint would have it, and a harness that is made with [Restore] goes on from there. [CheckRestore] does
// so at every position of a script and compares: what a restart must not change.
//
// The harness calls the operator as the engine does: one goroutine, watermarks that never go back, timers due when the
// clock is moved. Nothing here starts a goroutine or looks at the real clock.
//
// It leaves to others: parallelism, exchanges and barriers (internal/runtime), and Pebble (pebblestate).
package operatortest
