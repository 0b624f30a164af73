//go:build integration

package integration

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/job/cli"
)

// transactions runs a command about the job's transactions and returns its exit code and what it printed.
func (j *sumsJob) transactions(t *testing.T, command string, args ...string) (int, string) {
	t.Helper()
	args = append([]string{"transactions", command, j.file(t)}, args...)
	p := harness.Program{Path: processor, Args: args, Dir: j.dir}.Start(t)
	code := p.Exit(60 * time.Second)
	return code, p.Output()
}

// C04: what a killed job has left open is listed with its partitions, and aborted without a start; the next start repeats it.
func TestTransactionsOfAKilledJobAreAborted(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	// Long enough that a transaction is always open, with small batches that are sent at once.
	j.interval = 5 * time.Second
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 50}, 2000)
	defer feed.Stop()
	p := j.program(t, "--set", "producer.max_batch_bytes=2048").Start(t)
	j.waitReady(t, p)
	harness.Until(t, 60*time.Second, "an open transaction", func() (bool, string) {
		code, out := j.transactions(t, "list")
		return code == cli.ExitOK && strings.Contains(out, "Ongoing"), out
	})
	if code, out := j.transactions(t, "abort", "--yes", "--address", j.address); code != cli.ExitOther || !strings.Contains(out, "runs at http://"+j.address) {
		t.Errorf("while the job runs: exit code %d:\n%s", code, out)
	}
	p.Kill()
	r := j.examine(t)
	if r.Worst() == doctor.Error || !strings.Contains(finding(r, "transactions", "weir."+j.name, doctor.Note), "the next start aborts it") {
		t.Errorf("%s", everyFinding(r))
	}
	code, out := j.transactions(t, "abort", "--yes", "--address", j.address)
	if code != cli.ExitOK || !strings.Contains(out, "aborted") || !strings.Contains(out, "nothing is lost") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	j.cluster.NoOpenTransactions(t, j.transactionPrefix())
	j.interval = 50 * time.Millisecond
	j.finish(t, feed, j.start(t))
}

// hang leaves a record on a partition in a transaction that no coordinator knows: a transaction is begun and ended, and
// after that a late produce request of its producer arrives, as KAFKA-14402 has it. Brokers refuse it unless
// transaction.partition.verification.enable is false.
func hang(t *testing.T, c *harness.Cluster, topic string, id string) {
	t.Helper()
	ctx := harness.Context(t, 60*time.Second)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &id, 60_000
	var producer *kmsg.InitProducerIDResponse
	harness.Until(t, 30*time.Second, "a producer ID", func() (bool, string) {
		producer, err = init.RequestWith(ctx, cl)
		if err == nil {
			err = kerr.ErrorForCode(producer.ErrorCode)
		}
		return err == nil, ""
	})
	topics, err := c.Admin.ListTopics(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	leader := topics[topic].Partitions[0].Leader
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &id, -1, 10_000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = topic, topics[topic].ID
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Records = transactionalBatch(producer.ProducerID, producer.ProducerEpoch)
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	// Version 11 does not add the partition to the transaction by itself, as later ones do.
	r, err := cl.Broker(int(leader)).Request(ctx, atMost{req, 11})
	if err == nil {
		err = kerr.ErrorForCode(r.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("a late produce request: %v", err)
	}
}

// atMost is a request in no newer version.
type atMost struct {
	kmsg.Request
	version int16
}

func (r atMost) MaxVersion() int16 { return r.version }

// transactionalBatch is a record batch with one record, value x, as the first of a producer.
func transactionalBatch(producer int64, epoch int16) []byte {
	record := kmsg.Record{Value: []byte("x")}
	body := record.AppendTo(nil)[1:] // without a length of one byte
	record.Length = int32(len(body))
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: 0x10, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: producer, ProducerEpoch: epoch, NumRecords: 1, Records: record.AppendTo(nil),
	}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// A hanging transaction of somebody else holds up a job's input, its readers and its recovery for ever. It is found, told from
// one that is only open, and ended.
func TestHangingTransactionIsFoundAndEnded(t *testing.T) {
	t.Parallel()
	cluster := harness.NewCluster(t, broker.Options{Properties: map[string]string{"transaction.partition.verification.enable": "false"}})
	j := newSums(t, cluster)
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	cluster.ProduceNumbers(t, j.in, numbers, 0, 50)
	p := j.start(t)
	j.waitForOutput(t, 50, 60*time.Second)
	j.stop(t, p)

	hang(t, cluster, j.checkpointTopic(), "somebody-1")
	r := j.examine(t)
	found := finding(r, "transactions", "topic "+j.checkpointTopic(), doctor.Error)
	if !strings.Contains(found, "somebody-1 hangs") {
		t.Fatalf("%s", everyFinding(r))
	}
	// One that is open, and not hanging, is another matter.
	other, err := kgo.NewClient(kgo.SeedBrokers(cluster.Brokers...), kgo.TransactionalID("somebody-2"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	rec := &kgo.Record{Topic: j.out, Partition: 1, Value: []byte("x")}
	if err := other.ProduceSync(harness.Context(t, 30*time.Second), rec).FirstErr(); err != nil {
		t.Fatal(err)
	}
	code, out := j.transactions(t, "list", "--all", "--json")
	var listed struct {
		Others []struct {
			Topic     string
			Partition int32
			Start     int64  `json:"start_offset"`
			ID        string `json:"transactional_id"`
			Verdict   string
		}
	}
	if err := json.Unmarshal([]byte(out), &listed); err != nil || code != cli.ExitOK || len(listed.Others) != 2 {
		t.Fatalf("exit code %d, %v:\n%s", code, err, out)
	}
	for _, o := range listed.Others {
		if want := map[string]string{"somebody-1": "hanging", "somebody-2": "open"}[o.ID]; o.Verdict != want {
			t.Errorf("%+v, want %s", o, want)
		}
	}
	// The remedy that doctor names ends it.
	_, command, _ := strings.Cut(found, "processor transactions abort JOB ")
	args := strings.Fields(command)[:6]
	if code, out := j.transactions(t, "abort", args...); code != cli.ExitOK || !strings.Contains(out, "nothing was done") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if code, out := j.transactions(t, "abort", append(args, "--yes")...); code != cli.ExitOK || !strings.Contains(out, "aborted") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if err := other.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	if r := j.examine(t); finding(r, "transactions", "", doctor.Note) != "" {
		t.Errorf("%s", everyFinding(r))
	}
	cluster.ProduceNumbers(t, j.in, numbers, 50, 100)
	p = j.start(t)
	j.waitForOutput(t, 100, 60*time.Second)
	j.stop(t, p)
	j.checkInvariants(t, 100)
}
