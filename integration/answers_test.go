//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
	"github.com/weirstream/weir/job/cli"
)

// Whatever happens to a request of a transaction, or to its answer: the job goes on, and its output is exact. The rows are
// in answers_rows_test.go.
func TestARequestMayBeLostDoubledLateOrRefused(t *testing.T) {
	t.Parallel()
	hurtEach(t, shared(t), commits, fencings, offsetCommits, outputBatches, pointerBatches, pointerReads, pointerEnds, inputReads)
}

// Below transaction.version 2 partitions and groups are added to a transaction by requests of their own, and the epoch does
// not change with a commit.
func TestARequestMayBeLostDoubledLateOrRefusedBelowTransactionVersion2(t *testing.T) {
	t.Parallel()
	cluster := harness.NewCluster(t, broker.Options{Features: map[string]string{"transaction.version": "0"}, Heap: "512m"})
	hurtEach(t, cluster, addedPartitions, addedOffsets, commits, offsetCommits)
}

// hurtEach runs a job for each target and lets its rows happen to it, one after the other.
func hurtEach(t *testing.T, cluster *harness.Cluster, targets ...target) {
	for _, at := range targets {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			j := newProxied(t, cluster, 200)
			j.begin(t)
			for _, r := range at.rows {
				if t.Run(r.name, func(t *testing.T) { j.hurt(t, at, r) }); t.Failed() {
					break
				}
			}
			j.end(t)
		})
	}
}

// hurt lets one row happen to the running job and waits until it has gone on.
func (j *proxied) hurt(t *testing.T, at target, r row) {
	restarts := j.metric(t, "weir_restarts_total")
	uncertain := j.metric(t, "weir_checkpoint_failures_total", `reason="outcome unknown"`)
	told := len(j.run.Output())
	rule := proxy.Rule{Key: at.key, Action: r.action}
	if at.match != nil {
		rule.Match = at.match(t, j)
	}
	hit := j.proxy.Add(rule)
	defer hit.Remove()
	if at.recovery {
		// The attempt ends, and the request is one of the next recovery.
		j.proxy.Add(proxy.Rule{Key: kmsg.EndTxn, Match: proxy.Commits, Action: proxy.Refuse(kerr.NotCoordinator)})
	}
	if err := hit.Wait(harness.Context(t, 30*time.Second), 1); err != nil {
		t.Fatalf("it did not happen: %v\n%s", err, lastLines(j.run.Output(), 10))
	}
	j.goOn(t, 30*time.Second)

	restarts = j.metric(t, "weir_restarts_total") - restarts
	uncertain = j.metric(t, "weir_checkpoint_failures_total", `reason="outcome unknown"`) - uncertain
	news := j.run.Output()[told:]
	switch {
	case r.becomes == goesOn && restarts != 0:
		t.Errorf("%v restarts, want none:\n%s", restarts, news)
	case r.becomes == restartsOnce && restarts != 1:
		t.Errorf("%v restarts, want one:\n%s", restarts, news)
	case r.becomes == isUncertain:
		if restarts != 1 || uncertain != 1 {
			t.Errorf("%v restarts, %v commits counted whose outcome is not known; want one each", restarts, uncertain)
		}
		// Which checkpoint, of which transaction.
		if line := linesWith(news, "may or may not be committed"); !strings.Contains(line, "transaction "+j.transactionPrefix()) || !strings.Contains(line, "checkpoint ") {
			t.Errorf("the log does not name the checkpoint and its transaction:\n%s", news)
		}
	}
}

// A commit that arrives when its attempt is long over, and another has taken its place, commits nothing.
func TestACommitThatIsLateByHalfAMinuteCommitsNothing(t *testing.T) {
	t.Parallel()
	j := newProxied(t, shared(t), 200)
	j.begin(t)
	hit := j.proxy.Add(proxy.Rule{Key: kmsg.EndTxn, Match: proxy.Commits, Action: proxy.DelayRequest(30 * time.Second)})
	if err := hit.Wait(harness.Context(t, 30*time.Second), 1); err != nil {
		t.Fatal(err)
	}
	if err := hit.WaitAnswered(harness.Context(t, time.Minute), 1); err != nil {
		t.Fatal(err)
	}
	if code := hit.Answers()[0].(*kmsg.EndTxnResponse).ErrorCode; code == 0 {
		t.Error("the broker answers the late commit with success")
	}
	if n := j.metric(t, "weir_restarts_total"); n < 1 {
		t.Errorf("%v restarts", n)
	}
	j.goOn(t, 30*time.Second)
	j.end(t)
}

// With transaction.version 2 the broker adds partitions and groups itself.
func TestNothingIsAddedToATransactionFromVersion2On(t *testing.T) {
	t.Parallel()
	j := newProxied(t, shared(t), 200)
	j.begin(t)
	for _, key := range []kmsg.Key{kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn} {
		if n := j.proxy.Count(key); n != 0 {
			t.Errorf("%d requests %s", n, key.Name())
		}
	}
	j.end(t)
}

// A job that starts, and whose request fails, says so and ends, or starts all the same. The next start goes on.
func TestAStartWhoseRequestFailsDoesNoHarm(t *testing.T) {
	t.Parallel()
	j := newProxied(t, shared(t), 100)
	for i, key := range []kmsg.Key{
		kmsg.ApiVersions, kmsg.Metadata, kmsg.DescribeConfigs, kmsg.FindCoordinator, kmsg.InitProducerID, kmsg.ListOffsets,
		kmsg.OffsetFetch, kmsg.Fetch, kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn,
	} {
		for _, m := range []mishap{answerLost, requestLost} {
			t.Run(fmt.Sprintf("%s %s", key.Name(), m.name), func(t *testing.T) {
				hit := j.proxy.Add(proxy.Rule{Key: key, Skip: i % 2, Action: m.action})
				defer hit.Remove()
				p := j.program(t).Start(t)
				if err := hit.Wait(harness.Context(t, 30*time.Second), 1); err != nil {
					t.Fatalf("it did not happen: %v\n%s", err, p.Output())
				}
				harness.Until(t, 30*time.Second, "the start or its end", func() (bool, string) {
					status, body := harness.Get(j.address, "/readyz")
					return !p.Running() || status == 200, body
				})
				if p.Running() {
					p.Terminate()
				}
				if code := p.Exit(30 * time.Second); code != cli.ExitOK && code != cli.ExitOther && code != cli.ExitUnreachable {
					t.Errorf("exit code %d:\n%s", code, p.Output())
				}
			})
		}
	}
	j.begin(t)
	j.end(t)
}
