package source

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
)

func TestEveryFieldOfARecordComesThrough(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression(), "snappy": kgo.SnappyCompression(),
		"zstd": kgo.ZstdCompression(), "gzip": kgo.GzipCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1, "in")
			at := time.UnixMilli(1700000000123)
			sent := []*kgo.Record{
				{Key: []byte("k"), Value: bytes.Repeat([]byte("v"), 300), Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "", Value: nil}}, Timestamp: at},
				{Key: nil, Value: nil, Timestamp: at.Add(time.Hour)},
				{Key: []byte{}, Value: []byte{}, Headers: []kgo.RecordHeader{{Key: "b", Value: []byte{}}}, Timestamp: at.Add(-time.Hour)},
			}
			for _, r := range sent {
				r.Topic = "in"
			}
			producer := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec))
			if err := producer.ProduceSync(t.Context(), sent...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			s := c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest"}, nil)
			r := read(t, s, resolveAll(t, s, nil))
			got := r.until(EventBatch).Batch.Records
			if len(got) != len(sent) {
				t.Fatalf("%d records, want %d", len(got), len(sent))
			}
			for i, want := range sent {
				g := got[i]
				if !bytes.Equal(g.Key, want.Key) || (g.Key == nil) != (want.Key == nil) ||
					!bytes.Equal(g.Value, want.Value) || (g.Value == nil) != (want.Value == nil) {
					t.Errorf("record %d: key %q value %q", i, g.Key, g.Value)
				}
				if g.Timestamp != want.Timestamp.UnixMilli() || g.Topic != "in" || g.Partition != 0 || g.Offset != int64(i) {
					t.Errorf("record %d: %+v", i, g)
				}
				if len(g.Headers) != len(want.Headers) {
					t.Fatalf("record %d: headers %v", i, g.Headers)
				}
				for j, h := range want.Headers {
					if g.Headers[j].Key != h.Key || !bytes.Equal(g.Headers[j].Value, h.Value) || (g.Headers[j].Value == nil) != (h.Value == nil) {
						t.Errorf("record %d: header %d: %v", i, j, g.Headers[j])
					}
				}
			}
		})
	}
}

func TestBatchesAreBoundedAndInOrder(t *testing.T) {
	c := newCluster(t, 3, "in")
	for p := range int32(3) {
		var recs []*kgo.Record
		for i := range 250 {
			recs = append(recs, &kgo.Record{Topic: "in", Partition: p, Value: fmt.Appendf(nil, "%d", i)})
		}
		c.produceRecords(recs...)
	}
	s := c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest", MaxBatchRecords: 100}, nil)
	r := read(t, s, resolveAll(t, s, nil))
	sizes := map[int32][]int{}
	for {
		e := r.event()
		if e.Kind == EventEnd {
			break
		}
		if e.Kind == EventBatch {
			sizes[e.Index] = append(sizes[e.Index], len(e.Batch.Records))
			if end := len(sizes[e.Index]) == 3; e.Batch.AtEnd != end {
				t.Errorf("split %d: batch %d: at end: %v", e.Index, len(sizes[e.Index]), e.Batch.AtEnd)
			}
		}
	}
	for p := range int32(3) {
		same(t, sizes[p], []int{100, 100, 50})
	}
	if h := s.HighWatermark("in", 1); h != 250 {
		t.Errorf("high watermark %d", h)
	}
	if h := s.HighWatermark("in", 9); h != -1 {
		t.Errorf("high watermark of nothing: %d", h)
	}
}

func TestReadingBeginsInTheMiddleOfARecordBatch(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a", "b", "c", "d", "e")
	s := c.open(KafkaOptions{Topics: []string{"in"}, Start: "offsets", StartOffsets: map[string]map[int32]int64{"in": {0: 2}},
		StopAt: "offsets", StopOffsets: map[string]map[int32]int64{"in": {0: 4}}}, nil)
	same(t, read(t, s, resolveAll(t, s, nil)).rest(), []string{"c", "d"})
}

func TestAbortedRecordsAreNotRead(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a")
	c.transaction(false, "in", 0, "x", "y")
	c.transaction(true, "in", 0, "b", "c")
	c.transaction(false, "in", 0, "z")
	s := c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest"}, nil)
	r := read(t, s, resolveAll(t, s, nil))
	same(t, r.rest(), []string{"a", "b", "c"})
	if r.next[0] != r.splits[0].Stop {
		t.Errorf("next is %d, the stop offset %d", r.next[0], r.splits[0].Stop)
	}

	s = c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest", Isolation: "read_uncommitted"}, nil)
	same(t, read(t, s, resolveAll(t, s, nil)).rest(), []string{"a", "x", "y", "b", "c", "z"})
}

func TestInterleavedTransactionsAreToldApart(t *testing.T) {
	c := newCluster(t, 1, "in")
	end1 := c.begin("in", 0, "x1")
	end2 := c.begin("in", 0, "b1")
	end1(false)
	end3 := c.begin("in", 0, "x2")
	c.produce("in", 0, "p")
	end2(true)
	end3(false)
	s := c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest"}, nil)
	same(t, read(t, s, resolveAll(t, s, nil)).rest(), []string{"b1", "p"})
}

// A split whose end is only markers and aborted records ends, and one that is not bounded gets a Next beyond them.
func TestTailOfMarkersReachesTheEnd(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a")
	c.transaction(false, "in", 0, "x")
	s := c.open(KafkaOptions{Topics: []string{"in"}}, nil)
	splits := resolveAll(t, s, nil)
	r := read(t, s, splits)
	e := r.until(EventBatch)
	if e.Batch.Next != 3 || !e.Batch.AtEnd || len(e.Batch.Records) != 1 {
		t.Errorf("got %+v", e.Batch)
	}
	c.transaction(false, "in", 0, "y")
	select {
	case e := <-r.events:
		if e.Kind != EventBatch || len(e.Batch.Records) != 0 || e.Batch.Next != 5 || !e.Batch.AtEnd {
			t.Errorf("got %+v", e)
		}
	case <-time.After(patience):
		t.Fatal("nothing is said of the marker")
	}

	// Restored before the markers, bounded by them.
	splits[0].Offset, splits[0].Stop = 1, 5
	s = c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest"}, nil)
	same(t, read(t, s, resolveAll(t, s, splits)).rest(), nil)
}

func TestOpenTransactionHoldsTheEndBack(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a")
	end := c.begin("in", 0, "b")
	c.produce("in", 0, "c")
	s := c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest"}, nil)
	splits := resolveAll(t, s, nil)
	if splits[0].Stop != 1 {
		t.Fatalf("stop is %d, the last stable offset is 1", splits[0].Stop)
	}
	same(t, read(t, s, splits).rest(), []string{"a"})

	s = c.open(KafkaOptions{Topics: []string{"in"}}, nil)
	r := read(t, s, resolveAll(t, s, nil))
	if b := r.until(EventBatch).Batch; !b.AtEnd || b.Next != 1 {
		t.Errorf("got %+v", b)
	}
	end(true)
	same(t, r.values(2), []string{"b", "c"})
}

func TestIdleWithinTimeoutAndOneTick(t *testing.T) {
	c := newCluster(t, 2, "in")
	c.produce("in", 0, "a")
	var clock atomic.Int64
	clock.Store(1_000_000)
	s := c.open(KafkaOptions{Topics: []string{"in"}, IdleTimeout: time.Minute}, clock.Load)
	r := read(t, s, resolveAll(t, s, nil))
	same(t, r.values(1), []string{"a"})
	clock.Add(59_999)
	// Records of the other partition come and go through the reader: the first is still not idle.
	c.produce("in", 1, "b")
	if e := r.event(); e.Kind != EventBatch {
		t.Fatalf("got %+v a moment before the timeout", e)
	}
	clock.Add(1)
	if e := r.event(); e.Kind != EventIdle || e.Index != 0 {
		t.Fatalf("got %+v, want split 0 idle", e)
	}
	// It becomes active before its next batch, and says idle once only.
	c.produce("in", 0, "c")
	if e := r.event(); e.Kind != EventActive || e.Index != 0 {
		t.Fatalf("got %+v, want split 0 active", e)
	}
	if e := r.event(); e.Kind != EventBatch || e.Index != 0 {
		t.Fatalf("got %+v, want the batch", e)
	}
	clock.Add(60_000)
	idle := map[int32]int{}
	for len(idle) < 2 {
		if e := r.event(); e.Kind == EventIdle {
			idle[e.Index]++
		} else {
			t.Fatalf("got %+v, want idle", e)
		}
	}
	clock.Add(600_000)
	c.produce("in", 1, "d")
	if e := r.event(); e.Kind != EventActive || e.Index != 1 {
		t.Fatalf("got %+v, want split 1 active", e)
	}
}

func TestNegativeIdleTimeoutMeansNever(t *testing.T) {
	c := newCluster(t, 1, "in")
	var clock atomic.Int64
	s := c.open(KafkaOptions{Topics: []string{"in"}, IdleTimeout: -1}, func() int64 { return clock.Add(1_000_000) })
	r := read(t, s, resolveAll(t, s, nil))
	r.until(EventSplit)
	c.produce("in", 0, "a")
	if e := r.event(); e.Kind != EventBatch {
		t.Fatalf("got %+v", e)
	}
}

// A job that does not take its events stops the fetching; nothing is lost by it.
func TestBlockedChannelStopsFetching(t *testing.T) {
	c := newCluster(t, 1, "in")
	const n = 400
	producer := c.client(kgo.ProducerBatchCompression(kgo.NoCompression()))
	for i := range n {
		if err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: fmt.Appendf(nil, "%01000d", i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var fetches atomic.Int64
	c.fake.ControlKey(1, func(kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	s := c.open(KafkaOptions{Topics: []string{"in"}, PartitionMaxBytes: 4096, StopAt: "latest"}, nil)
	r := read(t, s, resolveAll(t, s, nil))
	first := r.until(EventBatch)
	eventually(t, "the fetches that may run ahead", func() bool { return fetches.Load() >= 2 })
	c.produce("in", 0, "some time and traffic")
	if n := fetches.Load(); n > 3 {
		t.Errorf("%d fetches while the job takes nothing", n)
	}
	if got := len(first.Batch.Records) + len(r.rest()); got != n {
		t.Errorf("%d records", got)
	}
}

func TestReaderWithoutSplits(t *testing.T) {
	c := newCluster(t, 1, "in")
	s := c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest"}, nil)
	resolveAll(t, s, nil)
	same(t, readAs(t, s, 1, 2, nil).rest(), nil) // a bounded one ends at once

	s = c.open(KafkaOptions{Topics: []string{"in"}, DiscoveryInterval: 10 * time.Millisecond}, nil)
	resolveAll(t, s, nil)
	r := readAs(t, s, 1, 2, nil)
	eventually(t, "discovery", func() bool { at, n := s.(Discovery).Discovered(); return at > 0 && n == 1 })
	select {
	case e := <-r.events:
		t.Errorf("got %+v", e)
	case err := <-r.err:
		t.Errorf("ended: %v", err)
	default:
	}
}

func TestDoneSplitIsAnnouncedAndEnded(t *testing.T) {
	c := newCluster(t, 1, "in")
	s := c.open(KafkaOptions{Topics: []string{"in"}, StopAt: "latest"}, nil)
	r := read(t, s, []checkpoint.Split{{Topic: "in", Offset: 7, Stop: 7, Done: true}})
	for _, want := range []EventKind{EventSplit, EventSplitEnd, EventEnd} {
		if e := r.event(); e.Kind != want {
			t.Fatalf("got %+v, want kind %d", e, want)
		}
	}
}

// A split whose next records are in an open transaction is not idle, and becomes active if it was: else they would be late
// when the transaction commits.
func TestRecordsBehindAnOpenTransactionKeepASplitActive(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a")
	var clock atomic.Int64
	clock.Store(1_000_000)
	s := c.open(KafkaOptions{Topics: []string{"in"}, IdleTimeout: time.Minute}, clock.Load)
	r := read(t, s, resolveAll(t, s, nil))
	same(t, r.values(1), []string{"a"})
	clock.Add(60_000)
	if e := r.event(); e.Kind != EventIdle {
		t.Fatalf("got %+v, want idle", e)
	}
	end := c.begin("in", 0, "b")
	if e := r.event(); e.Kind != EventActive {
		t.Fatalf("got %+v, want active", e)
	}
	clock.Add(600_000)
	end(true)
	if e := r.event(); e.Kind != EventBatch {
		t.Fatalf("got %+v, want the batch", e)
	}
	clock.Add(60_000)
	if e := r.event(); e.Kind != EventIdle {
		t.Fatalf("got %+v, want idle", e)
	}
}
