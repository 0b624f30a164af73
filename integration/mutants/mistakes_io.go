package main

// mistakesOfSourceAndSink are in what reads from brokers and writes to them.
var mistakesOfSourceAndSink = []mutant{
	{
		Name: "pointer-before-the-last", What: "recovery goes on from the pointer before the last",
		File:    "sink/pointerlog_read.go",
		Old:     "\tpointers, err := l.backwards(ctx, end, 1)\n\tif err != nil || len(pointers) == 0 {\n\t\treturn nil, l.wrap(err)\n\t}\n\treturn &pointers[0], nil",
		New:     "\tpointers, err := l.backwards(ctx, end, 2)\n\tif err != nil || len(pointers) == 0 {\n\t\treturn nil, l.wrap(err)\n\t}\n\treturn &pointers[len(pointers)-1], nil",
		Package: "./sink", Test: "TestTheLastPointerIsFoundBehindAbortedOnes",
	},
	{
		Name: "aborted-pointer-is-read", What: "a pointer of an aborted transaction is taken for the last",
		File: "sink/pointerlog_read.go",
		Old:  "req.IsolationLevel, req.SessionEpoch = 1, -1",
		New:  "req.IsolationLevel, req.SessionEpoch = 0, -1",
		And: []edit{
			{"sink/pointerlog_read.go", "IsolationLevel: kgo.ReadCommitted()", "IsolationLevel: kgo.ReadUncommitted()"},
		},
		Package: "./sink", Test: "TestTheLastPointerIsFoundBehindAbortedOnes",
	},
	{
		Name: "out-of-range-is-a-deletion", What: "a record that a node has not got yet is taken for deleted",
		File:    "sink/pointerlog_read.go",
		Old:     "return err == nil && start > offset",
		New:     "return err == nil && start >= 0",
		Package: "./sink", Test: "TestAnOffsetThatANodeHasNotReachedIsAskedForAgain",
	},
	{
		Name: "empty-answer-is-no-record", What: "a record that a node says nothing of is taken for missing",
		File:    "sink/pointerlog_read.go",
		Old:     "case next > offset:",
		New:     "case next >= offset:",
		Package: "./sink", Test: "TestAnOffsetThatANodeHasNotReachedIsAskedForAgain",
	},
	{
		Name: "flush-does-not-wait", What: "what is not acknowledged counts as written",
		File:    "sink/transactions.go",
		Old:     "\tif t.err != nil || s.checkpoint != checkpoint || s.pending == 0 {",
		New:     "\tif t.err != nil || s.checkpoint != checkpoint || s.pending >= 0 {",
		Package: "./sink", Test: "TestFlushWaitsForEveryAcknowledgement",
	},
	{
		Name: "commit-of-what-is-not-acknowledged", What: "a transaction is committed although batches of it are on their way",
		File:    "sink/commit.go",
		Old:     "\tcase s.pending > 0:\n",
		New:     "\tcase s.pending < 0:\n",
		Package: "./sink", Test: "TestFlushWaitsForEveryAcknowledgement",
	},
	{
		Name: "sequence-skips-one", What: "a producer's sequence leaves a number out",
		File:    "sink/queue.go",
		Old:     "\t\tp.sequence[slot] = seq + n\n",
		New:     "\t\tp.sequence[slot] = seq + n + 1\n",
		Package: "./sink", Test: "TestACommittedReaderSeesEachRecordOnceInOrder",
	},
	{
		Name: "partition-not-added", What: "below transaction.version 2, a partition is added to a slot's first transaction only",
		File:    "sink/fence.go",
		Old:     "\t\tif p.added[slot] == b.checkpoint {\n",
		New:     "\t\tif p.added[slot] > 0 {\n",
		Package: "./sink", Test: "TestACommittedReaderSeesEachRecordOnceInOrder",
	},
	{
		Name: "aborted-records-are-read", What: "the source hands on records of aborted transactions",
		File:    "source/unpack.go",
		Old:     "\tif u.committed && dead.covers(b) {",
		New:     "\tif u.committed && dead.covers(b) && b.control() {",
		Package: "./source", Test: "TestAbortedRecordsAreNotRead",
	},
	{
		Name: "records-of-open-transactions-are-read", What: "the source reads records whose transaction is open",
		File:    "source/fetch.go",
		Old:     "\tif o.committedOnly() {\n\t\treq.IsolationLevel = 1\n\t}\n",
		New:     "",
		Package: "./source", Test: "TestOpenTransactionHoldsTheEndBack",
	},
	{
		Name: "records-before-the-offset-are-read", What: "a record batch is handed on from its beginning, wherever reading begins",
		File:    "source/unpack.go",
		Old:     "\t\tif rec.Offset < p.from || rec.Offset >= p.next {",
		New:     "\t\tif rec.Offset >= p.next {",
		Package: "./source", Test: "TestReadingBeginsInTheMiddleOfARecordBatch",
	},
	{
		Name: "lost-offset-is-skipped", What: "after an offset that is gone, reading goes on where there are records",
		File:    "source/assign.go",
		Old:     "\t\t\tif _, loss := err.(*DataLossError); loss {\n\t\t\t\treturn err\n\t\t\t}\n",
		New:     "\t\t\tif loss, ok := err.(*DataLossError); ok {\n\t\t\t\tat, err = loss.LogEnd, nil\n\t\t\t}\n",
		Package: "./source", Test: "TestExpiredRecordsFailTheReader",
	},
}
