package main

// rulesOfCompleteness are rules 8 to 13.
var rulesOfCompleteness = []mutant{
	{
		Name: "rule-8-left-out-behind-its-barrier", What: "a checkpoint that expires is left out and the attempt goes on",
		File:    "checkpoint/coordinator.go",
		Old:     "\t\tif !now.Before(f.deadline) {\n\t\t\treturn c.expire(f)\n\t\t}",
		New:     "\t\tif !now.Before(f.deadline) {\n\t\t\tcontinue\n\t\t}",
		Package: "./checkpoint", Test: "TestCoordinator",
	},
	{
		Name: "rule-9-idle-checkpoints", What: "an idle job takes checkpoints",
		File:    "checkpoint/coordinator.go",
		Old:     "\tif !c.dirty && !asked {",
		New:     "\tif !c.dirty && !asked && c.ended {",
		Package: "./checkpoint", Test: "TestCoordinator",
	},
	{
		Name: "rule-9-time-that-moves-is-idleness", What: "that event time has moved is not a reason for a checkpoint",
		File:    "internal/runtime/build.go",
		Old:     "\ts.moved = func() { c.moved.Store(true) }\n",
		New:     "\ts.moved = func() {}\n",
		Package: "./job", Test: "TestWindowOfAnIdleSourceIsCommitted",
	},
	{
		Name: "rule-10-request-forgotten", What: "a start does not see that its request is carried out",
		File:    "checkpoint/resolve.go",
		Old:     "carriedOut := last != nil && s.Request.CarriedOut(last.Request)",
		New:     "carriedOut := false",
		Package: "./checkpoint", Test: "TestResolve",
	},
	{
		Name: "rule-10-reads-before-its-first-commit", What: "an attempt begins to read before it has a checkpoint of its own",
		File:    "internal/runtime/start.go",
		Old:     "\tif _, err := a.commit(ctx, a.last); err != nil {\n",
		New:     "\ta.last.Checkpoint--\n\tif err := ctx.Err(); err != nil {\n",
		Package: "./job", Test: "TestEachAttemptBeginsWithTheNextCheckpointAndNothingElse",
	},
	{
		Name: "rule-11-lost-topic-is-a-first-start", What: "a group without a pointer is taken for a first start",
		File:    "checkpoint/resolve.go",
		Old:     "case last == nil && s.Group > 0 && s.Request.Again == \"\":",
		New:     "case last == nil && s.Group < 0:",
		Package: "./checkpoint", Test: "TestResolve",
	},
	{
		Name: "rule-11-group-ahead", What: "a group that is ahead of the last pointer is not noticed",
		File: "checkpoint/resolve.go",
		Old:  "case last != nil && s.Group > last.Checkpoint && s.Request.Again == \"\":",
		New:  "case last != nil && s.Group < 0:",
		And: []edit{
			{"checkpoint/resolve.go", "case s.Group > last.Checkpoint: // since", "case s.Group < 0: // since"},
		},
		Package: "./checkpoint", Test: "TestResolve",
	},
	{
		Name: "rule-11-group-not-written", What: "the offset of the checkpoint partition is not committed",
		File:    "sink/commit.go",
		Old:     "\tadd(own)\n",
		New:     "\tif len(offsets) > 0 {\n\t\tadd(own)\n\t}\n",
		Package: "./sink", Test: "TestTheLastPointerIsFoundBehindAbortedOnes",
	},
	{
		Name: "rule-11-group-of-an-open-transaction", What: "the group's offset is read while a transaction of it is open",
		File:    "sink/pointerlog.go",
		Old:     "req.RequireStable = true",
		New:     "req.RequireStable = false",
		Package: "./sink", Test: "TestTheGroupsOffsetWaitsForAnOpenTransaction",
	},
	{
		Name: "rule-12-another-topic", What: "a topic that was made again is taken for the old one",
		File:    "checkpoint/fit.go",
		Old:     "case i >= 0 && was.ID != (TopicID{}) && now[i].ID != (TopicID{}) && now[i].ID != was.ID:",
		New:     "case i >= 0 && now[i].Name != was.Name:",
		Package: "./checkpoint", Test: "TestResolve",
	},
	{
		Name: "rule-12-written-all-the-same", What: "output goes into a topic that was made again while the job runs",
		File:    "sink/sender.go",
		Old:     "\tr.Topics[n].Topic, r.Topics[n].TopicID = of.name, of.id\n",
		New:     "\tr.Topics[n].Topic = of.name\n",
		Package: "./sink", Test: "TestATopicThatIsMadeAgainWhereItWasIsNotWrittenTo",
	},
	{
		Name: "rule-13-savepoint-forgotten", What: "recovery does not finish a savepoint that was under way",
		File:    "internal/runtime/start.go",
		Old:     "\tfor _, s := range a.last.Unfinished {\n\t\ta.startSavepoint(s)\n\t}\n",
		New:     "",
		Package: "./job", Test: "TestRecoveryFinishesASavepoint",
	},
	{
		Name: "rule-13-not-whole", What: "the deltas inside pointer records are not copied into a savepoint",
		File:    "checkpoint/savepoint.go",
		Old:     "\t\t\tcontent, err = deltas(ctx, d)\n",
		New:     "\t\t\tcontinue\n",
		Package: "./checkpoint", Test: "TestSavepointContainsAllThatItNeeds",
	},
}
