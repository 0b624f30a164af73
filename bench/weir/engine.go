package main

import (
	"context"
	"encoding/binary"
	"fmt"
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
	written atomic.Int64 // records
	// moved is told when records were written; it has room for one.
	moved chan struct{}
}

func newMemoryKafka(ctx context.Context, in, out string, records int) (*memoryKafka, error) {
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
		if k.input[p], err = newInputLog(p, records/partitions); err != nil {
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
		p.RecordBatches = l.read(asked.FetchOffset, min(left, int(asked.PartitionMaxBytes)))
		left -= len(p.RecordBatches)
		t.Partitions = append(t.Partitions, p)
	}
	if left == int(req.MaxBytes) {
		time.Sleep(5 * time.Millisecond) // the end of the input: nothing is measured any more
	}
	resp.Topics = append(resp.Topics, t)
	return resp
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
	select {
	case k.moved <- struct{}{}:
	default:
	}
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

// alone runs a job whose every record has a result over input out of memory, and prints records/s and CPU seconds of the
// process for a million records, both between 20 and 90 % of the results.
func alone(g *job.Graph, options job.Options, in, out string, records int) int {
	if err := measureAlone(g, options, in, out, records); err != nil {
		fmt.Fprintln(os.Stderr, "weir:", err)
		return cli.ExitOther
	}
	return cli.ExitOK
}

func measureAlone(g *job.Graph, options job.Options, in, out string, records int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	k, err := newMemoryKafka(ctx, in, out, records)
	if err != nil {
		return err
	}
	defer k.fake.Close()
	options.Kafka = job.Kafka{Brokers: k.fake.ListenAddrs()}
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx, options) }()
	type point struct {
		at      time.Time
		cpu     time.Duration
		written int64
	}
	var points []point
	for _, percent := range []int64{20, 90} {
		for k.written.Load() < k.total*percent/100 {
			select {
			case <-k.moved:
			case err := <-ended:
				return fmt.Errorf("the job ended after %d of %d results: %w", k.written.Load(), k.total, err)
			}
		}
		points = append(points, point{time.Now(), processCPU(), k.written.Load()})
	}
	from, to := points[0], points[1]
	n := float64(to.written - from.written)
	fmt.Printf("%.0f,%.3f\n", n/to.at.Sub(from.at).Seconds(), (to.cpu-from.cpu).Seconds()*1e6/n)
	cancel()
	return <-ended
}

// processCPU is the CPU time that the process has used.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
