//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
)

// mishap is one way in which one request goes wrong.
type mishap struct {
	name   string
	action proxy.Action
}

var (
	answerLost  = mishap{"its answer is lost", proxy.DropAnswer()}
	requestLost = mishap{"it never arrives", proxy.DropRequest()}
	arrivesTwo  = mishap{"it arrives twice", proxy.Duplicate()}
	secondSays  = mishap{"it arrives twice and the second answer counts", proxy.DuplicateLast()}
	arrivesLate = mishap{"it arrives late", proxy.DelayRequest(700 * time.Millisecond)}
	answerLate  = mishap{"its answer is late", proxy.DelayAnswer(700 * time.Millisecond)}
)

// refusedWith is an error of a broker that has not done what was asked for.
func refusedWith(err *kerr.Error) mishap {
	return mishap{"refused with " + err.Message, proxy.Refuse(err)}
}

// doneBut is an error of a broker that has done it.
func doneBut(err *kerr.Error) mishap {
	return mishap{"done and answered with " + err.Message, proxy.AnswerWith(err)}
}

// becomes is what an attempt makes of a mishap.
type becomes int

const (
	// recovers: the attempt ends or not; the job goes on.
	recovers becomes = iota
	// goesOn: the attempt goes on.
	goesOn
	// restartsOnce: it ends, and the next one goes on.
	restartsOnce
	// isUncertain: it ends and says that nobody knows whether the checkpoint is committed, and the next one goes on.
	isUncertain
)

type row struct {
	mishap
	becomes becomes
}

func all(b becomes, mishaps ...mishap) (rows []row) {
	for _, m := range mishaps {
		rows = append(rows, row{m, b})
	}
	return rows
}

// target is the request that goes wrong.
type target struct {
	name  string
	key   kmsg.Key
	match func(t *testing.T, j *proxied) func(*proxy.Request) bool
	// recovery: it is a request of a recovery, which has to be brought about.
	recovery bool
	rows     []row
}

// C02, C10. A broker answers a commit with some errors although it has written it down, so no error of it says anything.
var commits = target{
	name: "EndTxn", key: kmsg.EndTxn,
	match: func(*testing.T, *proxied) func(*proxy.Request) bool { return proxy.Commits },
	rows: append(all(isUncertain,
		answerLost, requestLost,
		refusedWith(kerr.NotCoordinator), refusedWith(kerr.CoordinatorNotAvailable), refusedWith(kerr.ConcurrentTransactions),
		refusedWith(kerr.InvalidTxnState), refusedWith(kerr.ProducerFenced), refusedWith(kerr.InvalidProducerEpoch),
		doneBut(kerr.NotCoordinator), doneBut(kerr.InvalidTxnState), doneBut(kerr.ProducerFenced), doneBut(kerr.InvalidProducerEpoch),
	), append(
		// The second answer is CONCURRENT_TRANSACTIONS while the markers are being written, and success afterwards.
		all(recovers, secondSays), all(goesOn, arrivesTwo, arrivesLate, answerLate)...)...),
}

var fencings = target{
	name: "InitProducerID", key: kmsg.InitProducerID, recovery: true,
	rows: all(recovers,
		answerLost, requestLost, arrivesTwo, secondSays, arrivesLate, answerLate,
		refusedWith(kerr.NotCoordinator), refusedWith(kerr.CoordinatorNotAvailable), refusedWith(kerr.ConcurrentTransactions),
		refusedWith(kerr.ProducerFenced), doneBut(kerr.InvalidProducerEpoch),
	),
}

var offsetCommits = target{
	name: "TxnOffsetCommit", key: kmsg.TxnOffsetCommit,
	rows: append(all(goesOn,
		answerLost, requestLost, arrivesTwo, secondSays, arrivesLate, answerLate,
		refusedWith(kerr.NotCoordinator), refusedWith(kerr.CoordinatorNotAvailable), refusedWith(kerr.ConcurrentTransactions),
		doneBut(kerr.NotCoordinator),
	), all(restartsOnce,
		refusedWith(kerr.InvalidTxnState), refusedWith(kerr.ProducerFenced), doneBut(kerr.InvalidProducerEpoch),
	)...),
}

var addedOffsets = target{
	name: "AddOffsetsToTxn", key: kmsg.AddOffsetsToTxn,
	rows: append(all(goesOn,
		answerLost, requestLost, arrivesTwo, arrivesLate, answerLate, refusedWith(kerr.NotCoordinator), refusedWith(kerr.ConcurrentTransactions),
	), all(restartsOnce, refusedWith(kerr.InvalidTxnState), refusedWith(kerr.ProducerFenced))...),
}

var addedPartitions = target{
	name: "AddPartitionsToTxn", key: kmsg.AddPartitionsToTxn,
	rows: append(all(goesOn,
		answerLost, requestLost, arrivesTwo, secondSays, arrivesLate, answerLate,
		refusedWith(kerr.NotCoordinator), refusedWith(kerr.CoordinatorNotAvailable), refusedWith(kerr.ConcurrentTransactions),
	), all(restartsOnce, refusedWith(kerr.InvalidTxnState), refusedWith(kerr.ProducerFenced), doneBut(kerr.InvalidProducerEpoch))...),
}

// batches is what may happen to record batches, also to the one with the pointer.
var batches = append(all(goesOn,
	answerLost, requestLost, arrivesTwo, secondSays, arrivesLate, answerLate,
	refusedWith(kerr.NotLeaderForPartition), refusedWith(kerr.NotEnoughReplicas), refusedWith(kerr.ConcurrentTransactions),
	doneBut(kerr.NotEnoughReplicasAfterAppend), doneBut(kerr.RequestTimedOut),
), all(restartsOnce,
	refusedWith(kerr.InvalidTxnState), refusedWith(kerr.ProducerFenced), refusedWith(kerr.OutOfOrderSequenceNumber),
	doneBut(kerr.InvalidProducerEpoch),
)...)

var outputBatches = target{name: "Produce of output", key: kmsg.Produce, match: onOutput, rows: batches}

var pointerBatches = target{name: "Produce of the pointer", key: kmsg.Produce, match: onCheckpoints, rows: batches}

// What a recovery reads of the checkpoint topic.
var pointerReads = target{
	name: "Fetch of the pointer", key: kmsg.Fetch, match: onCheckpoints, recovery: true,
	rows: all(recovers, answerLost, requestLost, arrivesLate, answerLate, refusedWith(kerr.NotLeaderForPartition), refusedWith(kerr.UnknownServerError)),
}

var pointerEnds = target{
	name: "ListOffsets of the pointers", key: kmsg.ListOffsets, match: onCheckpoints, recovery: true,
	rows: all(recovers, answerLost, requestLost, arrivesLate, answerLate, refusedWith(kerr.NotLeaderForPartition), refusedWith(kerr.UnknownServerError)),
}

// What the source reads.
var inputReads = target{
	name: "Fetch of the input", key: kmsg.Fetch, match: onInput,
	rows: all(goesOn,
		answerLost, requestLost, arrivesTwo, secondSays, arrivesLate, answerLate, refusedWith(kerr.NotLeaderForPartition),
		refusedWith(kerr.OffsetNotAvailable),
	),
}

func onOutput(t *testing.T, j *proxied) func(*proxy.Request) bool { return onTopic(t, j, j.out) }
func onInput(t *testing.T, j *proxied) func(*proxy.Request) bool  { return onTopic(t, j, j.in) }
func onCheckpoints(t *testing.T, j *proxied) func(*proxy.Request) bool {
	return onTopic(t, j, j.checkpointTopic())
}

// onTopic holds for requests about a topic; newer ones name topics by their IDs.
func onTopic(t *testing.T, j *proxied, topic string) func(*proxy.Request) bool {
	t.Helper()
	found, err := j.cluster.Admin.ListTopics(harness.Context(t, 20*time.Second), topic)
	if err == nil {
		err = found.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	return proxy.OnTopic(topic, found[topic].ID)
}
