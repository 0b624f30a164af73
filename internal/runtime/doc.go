// Package runtime runs a job: it decides when, and on which goroutine. Every "what" has a home elsewhere: what an operator
// does is in operators, which checkpoint exists and what may be restored in checkpoint, how output becomes visible in sink,
// where reading begins in source, how state is kept in pebblestate. Package job makes the [Graph] and has checked it.
//
// The types to know: [Job] is a job that runs; [Job.Run] makes one attempt after the other. An attempt (attempt.go) is one
// run between restarts: everything in it is made anew and thrown away at the first error. plan.go divides the graph into
// tasks, chain.go, steps.go and build.go are the steps of one subtask and how they are wired, gate.go is the input of a
// subtask, type.go what crosses an exchange, room.go keeps state within its memory. start.go, aside.go, ahead.go,
// request.go, decide.go, declare.go, owner.go and doubt.go are recovery, check.go says beforehand what a start would do (fit.go), coordinate.go and
// complete.go are the steps of a checkpoint, stop.go and stopping.go what becomes of a request to stop, for the job and for
// its attempt.
//
// The invariant that everything rests on: an attempt never repairs itself. The first error ends all of its goroutines, and
// the next attempt begins from the last committed pointer, by the same path that a new process takes. So there is one way to
// recover, and it is used at every start.
//
// # Goroutines
//
// Those of an attempt are in one group. The first error cancels the attempt's context, which every wait of theirs also
// listens to; attempt.run returns when all have returned, and attempt.close then closes what they used.
//
//	name            how many                      what it does                                        who stops it
//	----            --------                      ------------                                        ------------
//	run             1 a job, the caller's         attempts, restarts, what a fencing means            Stop, end of input,
//	                                                                                                  end of the context
//	in the attempt's group:
//	coordinator     1                             owns the checkpoint.Coordinator: carries out        attempt's context;
//	                                              what it decides, never waits but for its inputs     last checkpoint
//	worker          2                             in order of checkpoint: one persists and            attempt's context
//	                                              prepares, one commits and owns the last pointer
//	  prepare       1 while it persists           waits for the brokers' acknowledgements             checkpoint's deadline
//	  encode        1 while it persists           encodes frozen state into a delta, and stores it    ends by itself
//	cleaner         1                             deletes what the last commit no longer lists;       attempt's context
//	                                              commits offsets of groups on other clusters; asks
//	                                              every 10 s of idleness who has the slots
//	failure watch   1, with keyed state 2         ends the attempt when the sink or Pebble has        attempt's context
//	                                              failed; lets blocked writers go when it ends
//	reader          1 a source subtask            source.Reader.Run: hands on what was fetched        attempt's context;
//	                                                                                                  end of input
//	  fetch         1 a reader and broker         one fetch request at a time                         its reader
//	  leaders       1 a reader                    finds leaders and new partitions                    its reader
//	source subtask  1 a source subtask            decodes, runs the chain behind the source           attempt's context
//	subtask         1 a subtask of other tasks    aligns, runs its chain                              attempt's context
//	base            at most 1                     writes the deltas to Pebble, uploads new files      ends by itself;
//	                                                                                                  attempt's context
//	  fill          1 while a base is written     gives Pebble the changes, links its tables          ends by itself; it may
//	                                                                                                  outlive a full disk's
//	                                                                                                  timeout (Backend.Close)
//	drain           1 a reader, if drained        tells its source subtask that the input has ended   ends by itself;
//	                                                                                                  attempt's context
//	savepoint       1 a savepoint under way       copies files, writes the manifest                   ends by itself; an hour;
//	                                                                                                  attempt's context
//
//	beside the group, of the packages below, ended by attempt.close:
//	encoder         up to 4 (sink)                compresses record batches                           Transactions.Close
//	sender          2 a broker written to (sink)  one produce request at a time                       Transactions.Close
//	  connect       at most 1 a broker (sink)     connects a second time, once much is written        ends by itself;
//	                                                                                                  Transactions.Close
//	retrier         1 (sink)                      batches that wait; leaders that moved               Transactions.Close
//	kgo             some a client                 connections; no consumer, no producer of kgo's      Client.Close
//	Pebble          some a database               flushes, compactions                                Backend.Close
//	open            1 while state is opened       opens Pebble, which waits for a full disk           ends by itself; it may
//	                                                                                                  outlive the attempt
//	keys            at most 1 a database          reads the keys of a restored base                   ends by itself;
//	                                                                                                  Backend.Close
//
// Recovery itself (newAttempt) runs on the goroutine of run, and has short-lived helpers: some that ask the brokers (aside.go), one
// that reads and opens the state of what seems to be the last checkpoint (ahead.go), up to eight beside it that read deltas into
// tables (pebblestate), one a slot for the fencing, up to eight that fetch the files of a base, one a reader that connects for it.
// attempt.close waits for them.
//
// Who makes a channel closes it; those between subtasks (gate.go) are not Go channels and are never closed: the end of the
// input is a watermark, the end of an attempt is its context.
package runtime
