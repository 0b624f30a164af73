//go:build integration

package integration

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// goProgram is a job in Go of the folder testjobs, which takes its settings from the environment, with the topics and the
// storage of j.
func (j *sumsJob) goProgram(t *testing.T, name string, env ...string) harness.Program {
	t.Helper()
	path, err := harness.Build("github.com/weirstream/weir/integration/testjobs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	j.address = fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))
	return harness.Program{Path: path, Args: []string{"run", "--address", j.address}, Dir: j.dir, Env: append([]string{
		"WEIR_JOB=" + j.name, "WEIR_BROKERS=" + strings.Join(j.brokers, ","), "WEIR_IN=" + j.in, "WEIR_OUT=" + j.out,
		"WEIR_STORAGE=" + filepath.Join(j.dir, "state"),
	}, env...)}
}

// configure sets options of a topic.
func configure(t *testing.T, cluster *harness.Cluster, topic string, options ...string) {
	t.Helper()
	var alter []kadm.AlterConfig
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		alter = append(alter, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
	}
	done, err := cluster.Admin.AlterTopicConfigs(harness.Context(t, 30*time.Second), alter, topic)
	if err == nil {
		for _, d := range done {
			if d.Err != nil {
				err = d.Err
			}
		}
	}
	if err != nil {
		t.Fatalf("settings of topic %s: %v", topic, err)
	}
	// They are in force a moment after they are answered.
	harness.Until(t, 30*time.Second, "settings of topic "+topic, func() (bool, string) {
		got, err := cluster.Admin.DescribeTopicConfigs(harness.Context(t, 10*time.Second), topic)
		if err != nil || len(got) != 1 {
			return false, fmt.Sprint(err)
		}
		for _, want := range alter {
			for _, c := range got[0].Configs {
				if c.Key == want.Name && c.MaybeValue() != *want.Value {
					return false, c.Key + " is " + c.MaybeValue()
				}
			}
		}
		return true, ""
	})
}

// produceLarge writes records of any size.
func produceLarge(t *testing.T, cluster *harness.Cluster, records ...*kgo.Record) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(cluster.Brokers...), kgo.ProducerBatchMaxBytes(12<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(harness.Context(t, 2*time.Minute), records...).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// noise is n bytes that do not compress.
func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// shapes are records of every shape that a topic can hold: null and empty keys and values, headers, no timestamp, large.
func shapes(rng *rand.Rand, large ...int) []*kgo.Record {
	h := func(key string, value []byte) kgo.RecordHeader { return kgo.RecordHeader{Key: key, Value: value} }
	none := time.UnixMilli(-1) // as Kafka writes that there is none
	records := []*kgo.Record{
		{},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("a"), Value: nil},
		{Key: nil, Value: []byte("b")},
		{Key: []byte{0, 255}, Value: []byte{0}},
		{Key: []byte("a"), Value: []byte("no timestamp"), Timestamp: none},
		{Key: nil, Value: nil, Timestamp: none},
		{Key: []byte("a"), Value: []byte("1970"), Timestamp: time.UnixMilli(0)},
		{Key: []byte("a"), Value: []byte("headers"), Headers: []kgo.RecordHeader{h("x", []byte("1")), h("x", nil), h("", []byte{}), h("y", []byte{0})}},
		{Key: nil, Value: nil, Headers: []kgo.RecordHeader{h("only", nil)}},
	}
	for i, size := range large {
		records = append(records, &kgo.Record{Key: fmt.Appendf(nil, "large%d", i), Value: noise(rng, size)})
	}
	// Old ones and new ones in turn, as when two clocks wrote them.
	for i := range 200 {
		records = append(records, &kgo.Record{Key: fmt.Appendf(nil, "k%d", i%7), Value: fmt.Append(nil, i), Timestamp: time.UnixMilli(1_700_000_000_000 - int64(i)*1_000_000)})
	}
	return records
}

// shape is a record without its place.
func shape(r *kgo.Record) string {
	value := fmt.Sprintf("%d bytes %x", len(r.Value), sha256.Sum256(r.Value))
	if len(r.Value) <= 100 {
		value = fmt.Sprintf("%#v", r.Value)
	}
	return fmt.Sprintf("%#v %s at %d %v", r.Key, value, r.Timestamp.UnixMilli(), r.Headers)
}

// checkCopies checks that the output holds every record of the input once and as it was, those of a key in order.
func (j *sumsJob) checkCopies(t *testing.T) {
	t.Helper()
	byKey := func(topic string) (map[string][]string, map[string]int) {
		keyed, rest := map[string][]string{}, map[string]int{}
		for _, records := range j.cluster.Read(t, topic) {
			for _, r := range records {
				if r.Key == nil {
					rest[shape(r)]++ // no order
					continue
				}
				keyed[string(r.Key)] = append(keyed[string(r.Key)], shape(r))
			}
		}
		return keyed, rest
	}
	want, wantRest := byKey(j.in)
	got, gotRest := byKey(j.out)
	for key := range want {
		if strings.Join(got[key], "\n") != strings.Join(want[key], "\n") {
			t.Errorf("key %q: %d copies of %d records; got\n%s\nwant\n%s", key, len(got[key]), len(want[key]),
				strings.Join(got[key], "\n"), strings.Join(want[key], "\n"))
		}
	}
	for s, n := range wantRest {
		if gotRest[s] != n {
			t.Errorf("%d copies of %d: %s", gotRest[s], n, s)
		}
	}
	if len(got) != len(want) || len(gotRest) != len(wantRest) {
		t.Errorf("%d keys and %d records without, want %d and %d", len(got), len(gotRest), len(want), len(wantRest))
	}
}

// Records of 0 bytes and of 10 MB, null keys and values, headers, no timestamps: all of it passes through as it is, also when
// the process is killed in between.
func TestRecordsOfEveryShapePassThrough(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	rng := harness.Rand(t)
	for _, topic := range []string{j.in, j.out} {
		configure(t, j.cluster, topic, "max.message.bytes=11000000")
	}
	records := shapes(rng, 10_000_000, 3<<20, 10_000_000, 1<<20)
	for _, r := range records {
		r.Topic = j.in
	}
	produceLarge(t, j.cluster, records...)
	p := j.goProgram(t, "raw").Start(t)
	harness.For(t, time.Duration(rng.Int64N(int64(time.Second))))
	p.Kill()
	p = j.goProgram(t, "raw").Start(t)
	j.waitForOutput(t, int64(len(records)), time.Minute)
	j.stop(t, p)
	j.checkCopies(t)
	j.cluster.NoOpenTransactions(t, j.transactionPrefix())
}

// A result that its topic does not take ends the job with a sentence that names it. It is not tried for ever.
func TestAResultLargerThanItsTopicTakesIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		large  *kgo.Record
		before []string // settings of the output when the job starts
		then   []string // and when the record comes
	}{
		{name: "larger than the default", large: &kgo.Record{Value: noise(harness.Rand(t), 3<<20)}},
		{name: "the limit is lowered while the job runs", large: &kgo.Record{Value: noise(harness.Rand(t), 500_000)}, then: []string{"max.message.bytes=100000"}},
		{name: "small only as long as the broker keeps it compressed", large: &kgo.Record{Value: make([]byte, 3<<20)}, before: []string{"compression.type=uncompressed"}},
		{name: "the broker begins to store uncompressed while the job runs", large: &kgo.Record{Value: make([]byte, 3<<20)}, then: []string{"compression.type=uncompressed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := newSums(t, shared(t))
			configure(t, j.cluster, j.in, "max.message.bytes=11000000")
			if c.before != nil {
				configure(t, j.cluster, j.out, c.before...)
			}
			j.cluster.Produce(t, &kgo.Record{Topic: j.in, Key: []byte("small"), Value: []byte("1")})
			p := j.goProgram(t, "raw").Start(t)
			j.waitForOutput(t, 1, time.Minute)
			if c.then != nil {
				configure(t, j.cluster, j.out, c.then...)
			}
			c.large.Topic, c.large.Key = j.in, []byte("large")
			produceLarge(t, j.cluster, c.large)
			if got := p.Exit(time.Minute); got != cli.ExitBadRecord {
				t.Errorf("exit code %d, want %d:\n%s", got, cli.ExitBadRecord, p.Output())
			}
			said := linesWith(p.Stderr(), "raw: ")
			for _, want := range []string{"copies", "topic " + j.out + " partition ", `key "large"`, "max.message.bytes"} {
				if !strings.Contains(said, want) {
					t.Errorf("no %q in the message:\n%s", want, p.Stderr())
				}
			}
			if n := harness.Count(j.cluster.Read(t, j.out)); n != 1 {
				t.Errorf("%d results, want the small one", n)
			}
		})
	}
}

// somebody is a producer that is not Weir, with a transaction that it leaves open until end.
type somebody struct {
	t  *testing.T
	cl *kgo.Client
}

func openTransaction(t *testing.T, cluster *harness.Cluster, id string, records ...*kgo.Record) *somebody {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(cluster.Brokers...), kgo.TransactionalID(id), kgo.TransactionTimeout(2*time.Minute),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(harness.Context(t, time.Minute), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return &somebody{t, cl}
}

func (s *somebody) end(commit kgo.TransactionEndTry) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.cl.EndTransaction(ctx, commit); err != nil {
		s.t.Fatal(err)
	}
}

// A transaction of somebody else in the input is waited for: the job goes on with everything else, stays ready, says what it
// waits for, and then reads what was committed, or leaves out what was aborted.
func TestOpenTransactionInTheInputIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, commit := range map[string]kgo.TransactionEndTry{"committed": kgo.TryCommit, "aborted": kgo.TryAbort} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newSums(t, shared(t))
			number := func(partition int32, i int64) *kgo.Record {
				return &kgo.Record{Topic: j.in, Partition: partition, Key: fmt.Append(nil, "p", partition), Value: fmt.Appendf(nil, `{"key":"p%d","n":1,"i":%d}`, partition, i)}
			}
			p := j.start(t)
			for partition := range int32(4) {
				j.cluster.ProduceTo(t, number(partition, 0))
			}
			j.waitForOutput(t, 4, time.Minute)

			var open []*kgo.Record
			for i := range int64(20) {
				open = append(open, number(1, 1+i))
			}
			other := openTransaction(t, j.cluster, j.name+".somebody", open...)
			for partition := range int32(4) {
				j.cluster.ProduceTo(t, number(partition, 100))
			}
			// The other three partitions are read; this one waits, and the job says so.
			j.waitForOutput(t, 4+3, time.Minute)
			harness.Until(t, time.Minute, "the job says what it waits for", func() (bool, string) {
				if !p.Running() {
					t.Fatalf("the job ended:\n%s", p.Output())
				}
				return strings.Contains(linesWith(p.Output(), "waiting for an open transaction in the input"), "partition=1 offset=1"), p.Output()
			})
			if n := harness.Count(j.cluster.Read(t, j.out)); n != 7 {
				t.Errorf("%d results behind an open transaction", n)
			}
			if status, body := harness.Get(j.address, "/readyz"); status != 200 {
				t.Errorf("readiness while it waits: %d %s", status, body)
			}
			_, page := harness.Get(j.address, "/metrics")
			if lag, _ := harness.Metric(page, "weir_split_lag_records", `partition="1"`); lag != 21 {
				t.Errorf("the metrics show a lag of %v, want 21", lag)
			}

			other.end(commit)
			want := int64(8)
			if commit == kgo.TryCommit {
				want += 20
			}
			j.waitForOutput(t, want, time.Minute)
			j.stop(t, p)
			j.checkInvariants(t, want)
		})
	}
}

// Aborted records among others, of several producers at once, are left out, also across kills.
func TestAbortedRecordsInTheInputAreLeftOut(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	rng := harness.Rand(t)
	numbers := harness.Numbers{Seed: rng.Uint64(), Keys: 50}
	p := j.start(t)
	var i, visible int64
	for round := range 12 {
		ends := map[*somebody]kgo.TransactionEndTry{}
		for producer := range 3 {
			var records []*kgo.Record
			for range 1 + rng.IntN(30) {
				r := numbers.Record(j.in, i)
				r.Partition = int32(r.Key[len(r.Key)-1]) % 4 // each key in one partition
				records = append(records, r)
				i++
			}
			commit := kgo.TransactionEndTry(rng.IntN(2) == 0)
			if commit {
				visible += int64(len(records))
			}
			ends[openTransaction(t, j.cluster, fmt.Sprintf("%s.somebody.%d", j.name, producer), records...)] = commit
		}
		if round%5 == 4 {
			p.Kill()
			p = j.start(t)
		}
		for s, commit := range ends {
			s.end(commit)
			s.cl.Close()
		}
	}
	j.waitForOutput(t, visible, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, visible)
}

// In a compacted input most offsets are missing, at the end of it too. Each record that is left is read once.
func TestCompactedInputIsReadAcrossItsGaps(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	configure(t, j.cluster, j.in, "cleanup.policy=compact", "segment.ms=100", "min.cleanable.dirty.ratio=0.01", "max.compaction.lag.ms=100")
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 40}
	const sent = 4000
	for from := int64(0); from < sent; from += 500 {
		j.cluster.ProduceNumbers(t, j.in, numbers, from, from+500)
	}
	// The last segment is never compacted; the brokers look every 15 s.
	left := 0
	harness.Until(t, 2*time.Minute, "the input is compacted", func() (bool, string) {
		left = harness.Count(j.cluster.Read(t, j.in))
		return left < sent/2, fmt.Sprint(left, " records are left")
	})
	// No more of it; a pass that is under way may still end.
	configure(t, j.cluster, j.in, "cleanup.policy=delete", "retention.ms=-1", "max.compaction.lag.ms=9223372036854775807")
	since := time.Now()
	harness.Until(t, time.Minute, "the compaction ends", func() (bool, string) {
		if n := harness.Count(j.cluster.Read(t, j.in)); n != left {
			left, since = n, time.Now()
		}
		return time.Since(since) > 5*time.Second, fmt.Sprint(left, " records are left")
	})
	p := j.start(t)
	j.waitForOutput(t, int64(left), time.Minute)
	p.Kill()
	p = j.start(t)
	// Records come behind the gaps.
	j.cluster.ProduceNumbers(t, j.in, numbers, sent, sent+100)
	j.waitForOutput(t, int64(left+100), time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, int64(left+100))
}
