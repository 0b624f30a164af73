package runtime

// What package verify needs to run the steps of a graph one after the other in one goroutine, without tasks, exchanges and
// barriers. Emits are those of [Type].

// Discard is an emit for output that nobody reads.
func (t *Type) Discard() any { return t.discard }

// FanOut makes one emit of several.
func (t *Type) FanOut(outs []any) any { return t.fanOut(outs) }

// Tap makes an emit that calls before with the key and the timestamp of each event, hands the event on, and calls after,
// also if that failed. An error of before keeps the event back.
func (t *Type) Tap(emit any, before func(key []byte, timestamp int64) error, after func()) any {
	return t.tap(emit, before, after)
}

// ParallelismOf is the number of subtasks of a step in a job of the given parallelism.
func (n *Node) ParallelismOf(job int) int {
	if n.Parallelism == 0 {
		return job
	}
	return n.Parallelism
}

// Role is what a step is called in messages: "source", "operator" or "sink".
func (n *Node) Role() string { return n.role() }
