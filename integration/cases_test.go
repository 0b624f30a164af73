//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// C05: transactional IDs do not grow with the number of checkpoints.
func TestHundredsOfCheckpointsUseFourTransactionalIDs(t *testing.T) {
	j := newSums(t, shared(t))
	j.interval = 10 * time.Millisecond
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}, 500)
	p := j.start(t)
	harness.Until(t, time.Minute, "300 checkpoints", func() (bool, string) {
		// Each is one record and one marker.
		end := j.cluster.End(t, j.checkpointTopic())
		return end >= 600, fmt.Sprint("the pointers end at ", end)
	})
	if ids := j.cluster.Transactions(t, j.transactionPrefix()); len(ids) != 4 {
		t.Errorf("%d transactional IDs, want 4", len(ids))
	}
	j.finish(t, feed, p)
}

// C06: a sink that gets nothing does not fail a checkpoint; the offsets move on all the same.
func TestSinkWithoutRecordsDoesNotFailCheckpoints(t *testing.T) {
	j := newSums(t, shared(t))
	j.filter = "n > 1000"
	p := j.start(t)
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	for i := range int64(10) {
		j.cluster.ProduceNumbers(t, j.in, numbers, 100*i, 100*i+100)
		j.waitForOffsets(t, 100*i+100)
	}
	j.stop(t, p)
	if n := j.results(t).Len(); n != 0 {
		t.Errorf("%d results, want none", n)
	}
	if n := j.attempts(t); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
	j.cluster.NoOpenTransactions(t, j.transactionPrefix())
}

// waitForOffsets waits until the group's offsets of the input add up to n.
func (j *sumsJob) waitForOffsets(t *testing.T, n int64) {
	t.Helper()
	harness.Until(t, 20*time.Second, fmt.Sprintf("offsets of group %s at %d", j.name, n), func() (bool, string) {
		offsets, err := j.cluster.Admin.FetchOffsets(harness.Context(t, 10*time.Second), j.name)
		if err != nil {
			return false, err.Error()
		}
		var sum int64
		for _, o := range offsets[j.in] {
			sum += o.At
		}
		return sum >= n, fmt.Sprint("at ", sum)
	})
}

// C07: a transaction timeout that the broker does not allow is refused in one sentence that names both values.
func TestTransactionTimeoutAboveTheBrokersIsRefused(t *testing.T) {
	j := newSums(t, shared(t))
	j.checkpoint = []string{"transaction_timeout: 20m"}
	j.refused(t, j.program(t), cli.ExitUsage, "20m", "15m", "transaction.max.timeout.ms")
}

// C08: a job does not go on from the checkpoints of another one that has its name.
func TestAnotherJobOfTheSameNameIsRefused(t *testing.T) {
	cluster := shared(t)
	first := newSums(t, cluster)
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	cluster.ProduceNumbers(t, first.in, numbers, 0, 100)
	p := first.start(t)
	first.waitForOutput(t, 100, 20*time.Second)
	first.stop(t, p)

	other := newSums(t, cluster)
	program := other.program(t)
	file := filepath.Join(other.dir, "sums.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	renamed := strings.ReplaceAll(string(text), other.name, first.name)
	for _, step := range stepNames {
		renamed = strings.ReplaceAll(renamed, step, "other-"+step)
	}
	if err := os.WriteFile(file, []byte(renamed), 0o644); err != nil {
		t.Fatal(err)
	}
	other.refused(t, program, cli.ExitRestore, first.name)

	// Two jobs with different names share nothing, whatever runs at once.
	second := newSums(t, cluster)
	cluster.ProduceNumbers(t, second.in, numbers, 0, 100)
	p1, p2 := first.start(t), second.start(t)
	second.waitForOutput(t, 100, 20*time.Second)
	first.stop(t, p1)
	second.stop(t, p2)
	first.checkInvariants(t, 100)
	second.checkInvariants(t, 100)
}

// C14: a checkpoint whose records the broker refused does not complete, even if the refusal comes after its barrier.
func TestRefusedProduceFailsItsCheckpoint(t *testing.T) {
	cluster := harness.NewCluster(t, broker.Options{
		Users: map[string]string{"weir": "secret"},
		Properties: map[string]string{
			"authorizer.class.name":          "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"allow.everyone.if.no.acl.found": "true",
			"super.users":                    "User:ANONYMOUS",
		},
	})
	j := newSums(t, cluster)
	j.brokers = []string{cluster.Node.SASLAddr()}
	j.kafka = []string{"sasl: {mechanism: plain, username: weir, password: secret}"}
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 50}, 2000)
	p := j.start(t)
	j.waitForMore(t, 1000)

	deny := kadm.NewACLs().Deny("User:weir").DenyHosts().Topics(j.out).Operations(kadm.OpWrite).ResourcePatternType(kmsg.ACLResourcePatternTypeLiteral)
	if _, err := cluster.Admin.CreateACLs(harness.Context(t, 10*time.Second), deny); err != nil {
		t.Fatal(err)
	}
	if code := p.Exit(60 * time.Second); code != cli.ExitAuthentication {
		t.Errorf("exit code %d, want %d:\n%s", code, cli.ExitAuthentication, p.Output())
	}
	oneLine(t, p, j.out)
	if _, err := cluster.Admin.DeleteACLs(harness.Context(t, 10*time.Second), deny); err != nil {
		t.Fatal(err)
	}
	j.finish(t, feed, j.start(t))
}

// C19: where a job starts is decided once. One that is killed before its first result begins at the same place again.
func TestStartOffsetsAreKeptBeforeTheFirstRecordIsRead(t *testing.T) {
	j := newSums(t, shared(t))
	j.source = []string{"start: latest"}
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 100)
	j.start(t).Kill()
	j.cluster.ProduceNumbers(t, j.in, numbers, 100, 250)
	p := j.start(t)
	j.waitForOutput(t, 150, 20*time.Second)
	j.stop(t, p)
	if n := j.results(t).Len(); n != 150 {
		t.Errorf("%d results, want those of the 150 records after the first start", n)
	}
}

// C20, C21: new partitions are found without being asked for, and read from their beginning, whatever start says.
func TestNewPartitionsAreFoundAndReadFromTheirBeginning(t *testing.T) {
	j := newSums(t, shared(t))
	j.source = []string{"start: latest"}
	p := j.start(t)
	ctx := harness.Context(t, time.Minute)
	if _, err := j.cluster.Admin.CreatePartitions(ctx, 2, j.in); err != nil {
		t.Fatal(err)
	}
	// These are written long before the job looks for new partitions again (10 s).
	harness.Until(t, 10*time.Second, "six partitions", func() (bool, string) {
		ends, err := j.cluster.Admin.ListEndOffsets(ctx, j.in)
		if err == nil {
			err = ends.Error()
		}
		return err == nil && len(ends[j.in]) == 6, fmt.Sprint(err)
	})
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 200}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 1000)
	j.waitForOutput(t, 1000, 30*time.Second)

	_, page := harness.Get(j.address, "/metrics")
	if _, n := harness.Metric(page, "weir_split_offset"); n != 6 {
		t.Errorf("the metrics show %d partitions, want 6:\n%s", n, linesWith(page, "split"))
	}
	if at, _ := harness.Metric(page, "weir_last_discovery_timestamp_seconds"); time.Since(time.UnixMilli(int64(at*1000))) > time.Minute {
		t.Errorf("the metrics show no recent discovery:\n%s", linesWith(page, "discovery"))
	}
	j.stop(t, p)
	j.checkInvariants(t, 1000)
}
