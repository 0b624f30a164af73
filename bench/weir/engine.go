package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/cli"
)

// partitions of the topics in memory, as the peers' topics have.
const partitions = 4

// memoryKafka is a Kafka in memory whose input topic and output topic cost next to nothing: a fetch is answered with batches
// that were made before, a produce request is acknowledged unread. Everything else (transactions, offsets, the checkpoint
// topic) is kfake's.
type memoryKafka struct {
	fake    *kfake.Cluster
	in, out [16]byte // topic IDs
	input   [partitions]inputLog
	total   int64
	// read has the offset last asked for of each partition, written the records of the output.
	read    [partitions]atomic.Int64
	written atomic.Int64
	// moved is told of every request; it has room for one.
	moved chan struct{}
}

// newMemoryKafka makes the topics and the input, of which in each partition at most so many batches differ.
func newMemoryKafka(ctx context.Context, in, out string, records int, differ int64) (*memoryKafka, error) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, err
	}
	k := &memoryKafka{fake: fake, moved: make(chan struct{}, 1)}
	cl, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	made, err := admin.CreateTopics(ctx, partitions, 1, nil, in, out)
	if err == nil {
		err = made.Error()
	}
	if err != nil {
		return nil, err
	}
	k.in, k.out = made[in].ID, made[out].ID
	for p := range k.input {
		if k.input[p], err = newInputLog(p, records/partitions, differ); err != nil {
			return nil, err
		}
		k.total += k.input[p].end
	}
	fake.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := k.fetch(req.(*kmsg.FetchRequest))
		return resp, nil, resp != nil
	})
	fake.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := k.produce(req.(*kmsg.ProduceRequest))
		return resp, nil, resp != nil
	})
	return k, nil
}

// fetch answers a request for the input topic; nil for others. The control functions of kfake run one at a time.
func (k *memoryKafka) fetch(req *kmsg.FetchRequest) kmsg.Response {
	if len(req.Topics) != 1 || req.Topics[0].TopicID != k.in {
		return nil
	}
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	t := kmsg.NewFetchResponseTopic()
	t.TopicID = k.in
	left := int(req.MaxBytes)
	for i := range req.Topics[0].Partitions {
		asked := &req.Topics[0].Partitions[i]
		l := &k.input[asked.Partition]
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = asked.Partition, l.end, l.end, 0
		k.read[asked.Partition].Store(asked.FetchOffset)
		p.RecordBatches = l.read(asked.FetchOffset, min(left, int(asked.PartitionMaxBytes)))
		left -= len(p.RecordBatches)
		t.Partitions = append(t.Partitions, p)
	}
	if left == int(req.MaxBytes) {
		time.Sleep(5 * time.Millisecond) // the end of the input: nothing is measured any more
	}
	resp.Topics = append(resp.Topics, t)
	k.tell()
	return resp
}

// taken is how many records of the input have been read, but for those of the last response.
func (k *memoryKafka) taken() (n int64) {
	for p := range k.read {
		n += k.read[p].Load()
	}
	return n
}

func (k *memoryKafka) tell() {
	select {
	case k.moved <- struct{}{}:
	default:
	}
}

// produce acknowledges a request for the output topic; nil for others.
func (k *memoryKafka) produce(req *kmsg.ProduceRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for i := range req.Topics {
		if req.Topics[i].TopicID != k.out {
			return nil
		}
		t := kmsg.NewProduceResponseTopic()
		t.TopicID = k.out
		for _, asked := range req.Topics[i].Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition = asked.Partition
			k.written.Add(recordsIn(asked.Records))
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	k.tell()
	return resp
}

// recordsIn counts the records of a run of record batches: the length is at 8, the count at 57.
func recordsIn(batches []byte) (n int64) {
	for len(batches) >= 61 {
		n += int64(binary.BigEndian.Uint32(batches[57:]))
		size := 12 + int(binary.BigEndian.Uint32(batches[8:]))
		batches = batches[min(size, len(batches)):]
	}
	return n
}

// engineRun is a measurement of a job over input out of memory.
type engineRun struct {
	work, in, out string
	records       int
	profile       string // file for a CPU profile of what is measured, or empty
}

// alone runs the job and prints records/s, and the CPU seconds of the process for a million records: all, and without the
// system's.
func alone(g *job.Graph, options job.Options, r engineRun) int {
	if err := r.measure(g, options); err != nil {
		fmt.Fprintln(os.Stderr, "weir:", err)
		return cli.ExitOther
	}
	return cli.ExitOK
}

// differ is how many batches of a partition differ: all where time has to go on, so that windows end.
func (r *engineRun) differ() int64 {
	if r.work == "w4" || r.work == "w7" {
		return math.MaxInt64
	}
	return inputBatches
}

// measure takes what is between 20 and 90 % of the work: of the results where each record has one, else of the input.
func (r *engineRun) measure(g *job.Graph, options job.Options) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	k, err := newMemoryKafka(ctx, r.in, r.out, r.records, r.differ())
	if err != nil {
		return err
	}
	defer k.fake.Close()
	done := k.taken
	if r.work == "w1" || r.work == "w3" {
		done = k.written.Load
	}
	options.Kafka = job.Kafka{Brokers: k.fake.ListenAddrs()}
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx, options) }()
	until := func(percent int64) (point, error) {
		for done() < k.total*percent/100 {
			select {
			case <-k.moved:
			case err := <-ended:
				return point{}, fmt.Errorf("the job ended after %d of %d records: %w", done(), k.total, err)
			}
		}
		all, user := processCPU()
		return point{time.Now(), all, user, done()}, nil
	}
	from, err := until(20)
	if err != nil {
		return err
	}
	var to point
	code := profiled(r.profile, func() int {
		if to, err = until(90); err != nil {
			return cli.ExitOther
		}
		return cli.ExitOK
	})
	if err != nil {
		return err
	}
	if code != cli.ExitOK {
		return fmt.Errorf("the profile %s was not written", r.profile)
	}
	n := float64(to.records - from.records)
	fmt.Printf("%.0f,%.3f,%.3f\n", n/to.at.Sub(from.at).Seconds(), (to.cpu-from.cpu).Seconds()*1e6/n, (to.user-from.user).Seconds()*1e6/n)
	cancel()
	return <-ended
}

type point struct {
	at        time.Time
	cpu, user time.Duration
	records   int64
}

// processCPU is the CPU time that the process has used, and what of it was not the system's.
func processCPU() (all, user time.Duration) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), time.Duration(u.Utime.Nano())
}
