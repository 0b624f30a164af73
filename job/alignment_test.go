package job_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

const (
	// alignedDrift is the drift of an aligned job, in milliseconds.
	alignedDrift = 100
	// alignedSlack is how far one that waits may have been read beyond that: the batches of ten on their way to the job, and one.
	alignedSlack = 100
	// heldAt is the record at which a partition is held, the first of a batch.
	heldAt = 20
)

// hurdle is a record at which the job is held until a test lets it go on.
type hurdle struct {
	partition     int32
	value         int64
	reached, goOn chan struct{}
}

func hurdleAt(t *testing.T, partition int32, value int64) *hurdle {
	h := &hurdle{partition, value, make(chan struct{}), make(chan struct{})}
	t.Cleanup(func() { // a job that is ended by a failed test does not hang
		select {
		case <-h.goOn:
		default:
			close(h.goOn)
		}
	})
	return h
}

// aligned is a job that copies records whose value is their time, one partition as near to the others as alignedDrift.
func aligned(o source.KafkaOptions, pass func(partition int32, value int64)) *job.Graph {
	o.Topics, o.MaxBatchRecords, o.PartitionMaxBytes = []string{"in"}, 10, 1024
	o.FetchMaxWait, o.IdleTimeout = 10*time.Millisecond, -1
	g := job.New("sums")
	events := job.From(g, "in", source.Kafka(o), func(r *stream.Record) (keyed, error) {
		k, err := decodeKeyed(r)
		pass(r.Partition, k.N)
		return k, err
	})
	timed := job.Via(events, "time", operators.EventTimeMillis(func(k keyed) int64 { return k.N }, 0, operators.MaxDrift(alignedDrift*time.Millisecond)))
	job.To(timed, "out", out("out"), func(k keyed, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, k.N, 10)
		return nil
	})
	return g
}

// over stops whoever comes to the hurdle. The partition after awaits that before its first record.
func over(after int32, h *hurdle) func(int32, int64) {
	return func(partition int32, value int64) {
		if partition == after && value == 0 {
			<-h.reached
		}
		if h.partition == partition && h.value == value {
			close(h.reached)
			<-h.goOn
		}
	}
}

// line writes the times 0 to n-1 to a partition, with its number as key.
func (c *cluster) line(partition int32, n int) {
	c.t.Helper()
	cl := c.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	for some := range slices.Chunk(wantLine(n), 50) {
		var records []*kgo.Record
		for _, at := range some {
			records = append(records, &kgo.Record{Topic: "in", Partition: partition, Key: fmt.Append(nil, partition), Value: []byte(at)})
		}
		if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
	}
}

func wantLine(n int) (out []string) {
	for i := range n {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// leftOut counts the fetches of a reader that leave a partition out, of which it has another too.
func (c *cluster) leftOut(partition, other int32) *atomic.Int64 {
	n := new(atomic.Int64)
	c.fake.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		var asks, asksOther bool
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				asks, asksOther = asks || p.Partition == partition, asksOther || p.Partition == other
			}
		}
		if asksOther && !asks {
			n.Add(1)
		}
		return nil, nil, false
	})
	return n
}

func (r *running) split(partition int32) (out runtime.SplitStatus) {
	out.EventTime = stream.MinTime
	r.EachSplit(func(s runtime.SplitStatus) {
		if s.Partition == partition {
			out = s
		}
	})
	return out
}

// waits returns when a partition has been read beyond the drift from one that is at a time, and is not asked for any more.
func (r *running) waits(partition int32, at int64, leftOut *atomic.Int64) {
	r.t.Helper()
	eventually(r.t, fmt.Sprint("partition ", partition, " to be ahead"), func() bool { return r.split(partition).EventTime > at+alignedDrift })
	before := leftOut.Load()
	eventually(r.t, fmt.Sprint("partition ", partition, " to be left out"), func() bool { return leftOut.Load() >= before+3 })
	if s := r.split(partition); s.Offset > at+alignedDrift+alignedSlack {
		r.t.Fatalf("partition %d has been read to %d, the other is at %d", partition, s.Offset, at)
	}
}

// A job that is drained while a partition waits for another ends, with a result of each record that it has read.
func TestADrainEndsAJobWhosePartitionsWait(t *testing.T) {
	const n = 2000
	c := newCluster(t, "in", "out")
	c.line(0, n)
	c.line(1, n)
	leftOut := c.leftOut(0, 2)
	h := hurdleAt(t, 1, heldAt)
	o := c.options(10 * time.Millisecond)
	o.Parallelism = 2 // partition 0 and 1 are of two subtasks
	j := start(t, aligned(source.KafkaOptions{}, over(0, h)), o)
	j.waits(0, heldAt, leftOut)
	st, err := j.RequestStop(runtime.StopRequest{Drain: true})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the one that waits", func() bool {
		ended := false
		j.Metrics().Each(func(step string, subtask int, m *runtime.StepMetrics) {
			ended = ended || step == "time" && subtask == 0 && m.Watermark.Load() == stream.MaxTime
		})
		return ended
	})
	close(h.goOn)
	if st = j.outcome(st); st.Phase != runtime.StopDone || st.Error != "" {
		t.Errorf("%+v", st)
	}
	if err := j.wait(); err != nil {
		t.Fatal(err)
	}
	all := c.pointers(o)
	last := all[len(all)-1]
	if !last.Drained || !last.Final {
		t.Errorf("the last pointer: %+v", last)
	}
	want := map[string][]string{}
	for _, s := range last.Sources[0].Splits {
		switch {
		case s.Partition == 0 && s.Offset > heldAt+alignedDrift+alignedSlack:
			t.Errorf("what waited was read to %d", s.Offset)
		case s.Partition == 1 && s.Offset <= heldAt:
			t.Errorf("what was held was read to %d", s.Offset)
		}
		if s.Offset > 0 {
			want[fmt.Sprint(s.Partition)] = wantLine(int(s.Offset))
		}
	}
	if err := diff(c.read("out"), want); err != nil {
		t.Error(err)
	}
}

// A job whose input ends does so whoever waits: who is waited for ends before its log does, and who waits may have been fetched to
// its end.
func TestABoundedJobEndsAlthoughPartitionsWait(t *testing.T) {
	const n, slow = 2000, 400
	for _, quick := range []int{n, heldAt + alignedDrift + alignedSlack + 10} {
		t.Run(fmt.Sprint("quick=", quick), func(t *testing.T) {
			c := newCluster(t, "in", "out")
			c.line(0, n)
			c.line(1, n)
			leftOut := c.leftOut(0, 2)
			h := hurdleAt(t, 1, heldAt)
			o := c.options(10 * time.Millisecond)
			o.Parallelism = 2
			// Partition 2 ends last, so that it is asked for while partition 0 waits.
			c.line(2, 1)
			ends := map[int32]int64{0: int64(quick), 1: slow, 2: 2, 3: 0}
			j := start(t, aligned(source.KafkaOptions{StopAt: "offsets", StopOffsets: map[string]map[int32]int64{"in": ends}}, over(0, h)), o)
			j.waits(0, heldAt, leftOut)
			close(h.goOn)
			eventually(t, "the end of both", func() bool { return j.split(0).Offset == int64(quick) && j.split(1).Offset == slow })
			c.produce("in", 2, "2", "1")
			if err := j.wait(); err != nil {
				t.Fatal(err)
			}
			if err := diff(c.read("out"), map[string][]string{"0": wantLine(quick), "1": wantLine(slow), "2": wantLine(2)}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A partition that is added to the topic while the job runs waits for the others, and all is read in the end.
func TestAnAddedPartitionIsAligned(t *testing.T) {
	const n, added = 2000, 4
	c := newCluster(t, "in", "out")
	// The old one is read by the other subtask, so that one can be held alone.
	owner := int32(source.OwnerOf("in", added, 2))
	old := 1 - owner
	c.line(old, n)
	leftOut, h := c.leftOut(added, owner), hurdleAt(t, old, heldAt)
	o := c.options(10 * time.Millisecond)
	o.Parallelism = 2
	j := start(t, aligned(source.KafkaOptions{DiscoveryInterval: 10 * time.Millisecond}, over(added, h)), o)
	<-h.reached
	if _, err := kadm.NewClient(c.client).UpdatePartitions(t.Context(), added+1, "in"); err != nil {
		t.Fatal(err)
	}
	c.line(added, n)
	j.waits(added, heldAt, leftOut)
	close(h.goOn)
	want := map[string][]string{fmt.Sprint(old): wantLine(n), fmt.Sprint(added): wantLine(n)}
	eventually(t, "all results", func() bool { return diff(c.read("out"), want) == nil })
	j.stop()
	if err := diff(c.read("out"), want); err != nil {
		t.Error(err)
	}
}
