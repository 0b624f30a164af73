package main

// mistakesOfState are in what keeps keyed state.
var mistakesOfState = []mutant{
	{
		Name: "merge-keeps-the-first", What: "merging deltas keeps the first value of a key",
		File:    "pebblestate/merge.go",
		Old:     "\tfor d := len(reprs) - 1; d >= 0; d-- {\n",
		New:     "\tfor d := range reprs {\n",
		Package: "./pebblestate", Test: "TestWhatIsRestoredIsWhatWasWritten",
	},
	{
		Name: "merge-keeps-the-first-of-a-delta", What: "of two changes of a key in one delta the first counts",
		File:    "pebblestate/merge.go",
		Old:     "\t\tif old := &t.c.entries[i]; old.delta == delta {\n\t\t\told.at = at\n\t\t}\n\t\treturn nil\n",
		New:     "\t\treturn nil\n",
		Package: "./pebblestate", Test: "TestChangesAreSortedAndTheLastOneCounts",
	},
	{
		Name: "merge-drops-tombstones", What: "merging deltas drops deletions that a base needs",
		File:    "pebblestate/deltas.go",
		Old:     "\t\tif c := table.c.at(i); (!c.deleted || !alone || from > 0) && !b.drops(c.key) {\n",
		New:     "\t\tif c := table.c.at(i); !c.deleted && !b.drops(c.key) {\n",
		Package: "./pebblestate", Test: "TestWhatIsRestoredIsWhatWasWritten",
	},
	{
		Name: "deletion-not-encoded", What: "a deleted entry is not in the delta",
		File:    "operators/state_journal.go",
		Old:     "\t\t\terr = w.Delete(c.group, f.state, c.key(), space)\n",
		New:     "\t\t\terr = nil\n",
		Package: "./operators", Test: "TestTablesAnswerAsPlainMapsDo",
	},
	{
		Name: "change-not-noted", What: "a change of an entry that was changed before is not in the next delta",
		File:    "operators/state_journal.go",
		Old:     "\tif c.epoch == j.epoch {\n\t\treturn c\n\t}\n",
		New:     "\tif c.epoch == j.epoch || c.epoch == j.epoch-1 {\n\t\treturn c\n\t}\n",
		Package: "./operators", Test: "TestTablesAnswerAsPlainMapsDo",
	},
	{
		Name: "snapshot-is-written-to", What: "what comes after a barrier changes the values that its checkpoint encodes",
		File:    "operators/state_journal.go",
		Old:     "\tif j.epoch-2 <= j.safe || c.epoch <= j.safe {\n\t\treturn false\n\t}\n",
		New:     "\tif j.epoch > 0 {\n\t\treturn false\n\t}\n",
		Package: "./operators", Test: "TestTablesAnswerAsPlainMapsDo",
	},
	{
		Name: "evicted-before-it-is-kept", What: "an entry leaves the live map before the store has its last change",
		File:    "operators/state_cells.go",
		Old:     "\t\t\tcase c.epoch > t.applied:\n\t\t\t\treturn false, true\n\t\t\tcase c.flags&flagHot",
		New:     "\t\t\tcase c.flags&flagHot",
		Package: "./operators", Test: "TestTablesAnswerAsPlainMapsDo",
	},
	{
		Name: "timer-lost-on-restore", What: "timers are not restored",
		File:    "operators/state_timers.go",
		Old:     "\t\tt.q.push(ts, c)\n\t\treturn nil\n",
		New:     "\t\t_ = c\n\t\treturn nil\n",
		Package: "./operators", Test: "TestACrashOneTickBeforeFiringLosesNothing|TestARestartChangesNothing",
	},
	{
		Name: "timer-comes-again", What: "a timer that has fired is kept",
		File:    "operators/state_timers.go",
		Old:     "\tc := t.q.pop()\n\tt.bury(c)\n",
		New:     "\tc := t.q.pop()\n",
		Package: "./operators", Test: "TestARestartChangesNothing",
	},
	{
		Name: "base-forgets-the-newest", What: "a base leaves out the changes of its own checkpoint",
		File:    "pebblestate/base.go",
		Old:     "\tfor n < len(b.deltas) && b.deltas[n].Checkpoint <= upTo {",
		New:     "\tfor n < len(b.deltas) && b.deltas[n].Checkpoint < upTo {",
		Package: "./pebblestate", Test: "TestWhatIsRestoredIsWhatWasWritten",
	},
	{
		Name: "merged-delta-half-in-the-base", What: "a base says that it holds a merged delta of which it has nothing",
		File:    "pebblestate/base.go",
		Old:     "\tif n < len(b.deltas) && b.deltas[n].First <= upTo {",
		New:     "\tif n < len(b.deltas) && b.deltas[n].First < 0 {",
		Package: "./pebblestate", Test: "TestAMergedDeltaStaysOutOfABaseBeforeItsEnd",
	},
	{
		Name: "state-of-an-aborted-attempt", What: "an attempt goes on with what a failed one left in the working directory (C44)",
		File: "pebblestate/backend.go",
		Old:  "\t\tif name == \"LOCK\" {\n",
		New:  "\t\tif name == \"LOCK\" || name == \"db\" {\n",
		And: []edit{
			{"pebblestate/backend.go", "ErrorIfExists:               !b.hasBase,", "ErrorIfExists:               false,"},
		},
		Package: "./pebblestate", Test: "TestNothingOfAFailedAttemptIsRestored",
	},
	{
		Name: "base-not-compared", What: "the files of a base are opened without comparing their hashes",
		File:    "pebblestate/files.go",
		Old:     "\tcase got.Hash != want.Hash:\n",
		New:     "\tcase got.Hash != want.Hash && got.Size != want.Size:\n",
		Package: "./pebblestate", Test: "TestADamagedBaseIsNamedAndNeverOpened",
	},
}
