// Package sink makes the output of a job visible, once: all of a checkpoint's records together with the pointer that says
// that the checkpoint exists.
//
// The types to know: a [Writer] takes the records of one subtask; [KafkaTransactions], the implementation of
// [Transactions], owns the four slots of a shard and everything that is on its way to the brokers; [PointerLog] reads the
// checkpoint topic.
//
// The invariant that everything rests on: a record batch, the pointer and the offsets of checkpoint n are sent in the name
// of slot n mod 4 and no other, with the producer ID and epoch that this attempt got itself, and the commit is asked for
// once. So a broker either has all of a checkpoint or nothing, and whoever is fenced has nothing more to say.
//
// The life of one transaction beside that of its checkpoint n, with n+1 already coming:
//
//	checkpoint n          the transaction of slot n mod 4                        on the wire
//	------------          -------------------------------                        -----------
//	(begins with          idle; its producer's epoch is of Fence, or of the
//	barrier n-1)          commit of checkpoint n-4
//	records        ->     opened by the first batch                              Produce (below transaction.version 2
//	                                                                             AddPartitionsToTxn before it)
//	barrier n      ->     the open batches of each writer are queued; what       Produce, Produce ...
//	                      follows is n+1's, goes to slot n+1 mod 4, and is
//	                      queued behind them in each partition
//	prepare        ->     Flush: every batch is acknowledged                     ... answers
//	complete       ->     WritePointer                                           Produce to the checkpoint topic
//	                      CommitOffsets: of sources, and of the pointer          TxnOffsetCommit (below 2
//	                                                                             AddOffsetsToTxn before it)
//	                      Commit                                                 EndTxn, sent once
//	notify         <-     idle again, until checkpoint n+4; the answer may       the epoch for n+4
//	                      bring a new epoch
//
//	something else        the attempt ends. Nothing is aborted here: the next
//	happens               attempt's Fence does that, also for a process that
//	                      is gone.
//
// The path of a record: Write chooses the partition and appends the record to an open batch (format 2) of that partition
// and writer, as bytes. A full batch, or one of some size whose partition is idle, or the first ones of a transaction, is queued; there it gets its sequence
// number. A few goroutines compress and checksum. Two senders for each broker take the heads of the queues of the
// partitions it leads, as many as fit into one request; one batch of a partition at a time is on its way, so a partition's
// log has the batches in the order of its queue. Of the requests that bring partitions into a transaction, one for each broker is on
// its way. Sending one again after a lost answer cannot overtake another. A
// batch whose leader has moved waits with the retrier, which asks for leaders. The first error that sending again does
// not mend ends the attempt: every call and every writer gets it.
//
// It leaves to others when a checkpoint happens and what a pointer says (package checkpoint), and whether to start again
// (internal/runtime).
package sink
