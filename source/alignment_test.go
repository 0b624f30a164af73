package source

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/stream"
)

func TestWhoWaitsForWhom(t *testing.T) {
	type place struct {
		drift, time int64
		behind      bool
	}
	for _, tc := range []struct {
		name   string
		places []place
		want   string // W for who waits
	}{
		{"at the drift", []place{{10, 110, true}, {10, 100, true}}, ".."},
		{"beyond it", []place{{10, 111, true}, {10, 100, true}}, "W."},
		{"who has read all waits too, should more come", []place{{10, 111, false}, {10, 100, true}}, "W."},
		{"nobody waits for one that has nothing to read", []place{{10, 111, true}, {10, 100, false}}, ".."},
		{"nor for one that is not aligned", []place{{10, 111, true}, {0, 100, true}}, ".."},
		{"one that is not aligned does not wait", []place{{0, 111, true}, {10, 100, true}}, ".."},
		{"nor for one of which no time is known", []place{{10, 111, true}, {10, stream.MinTime, true}}, ".."},
		{"each has its own drift", []place{{10, 115, true}, {20, 115, true}, {20, 100, true}}, "W.."},
		{"alone", []place{{10, 111, true}}, "."},
		{"at the ends of time", []place{{1 << 62, stream.MaxTime - 1, true}, {1 << 62, stream.MinTime + 1, true}}, "W."},
	} {
		a := NewTimeAlignment()
		var places []*AlignedSplit
		for i, p := range tc.places {
			s := a.Split("in", "topic", int32(i))
			s.Open(p.drift, stream.MinTime)
			s.Advance(p.time)
			s.setBehind(p.behind)
			places = append(places, s)
		}
		got := ""
		for _, s := range places {
			if s.Waits() {
				got += "W"
			} else {
				got += "."
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// Whoever waits is woken by each change after which it may not have to.
func TestAnAlignmentTellsThatItHasMoved(t *testing.T) {
	a := NewTimeAlignment()
	first, second := a.Split("in", "topic", 0), a.Split("in", "topic", 1)
	for _, step := range []struct {
		what  string
		do    func()
		moves bool
	}{
		{"both begin", func() {
			first.Open(10, 100)
			second.Open(10, 200)
			first.setBehind(true)
			second.setBehind(true)
		}, true},
		{"the one ahead goes on", func() { second.Advance(300) }, false},
		{"the one behind goes on", func() { first.Advance(150) }, true},
		{"nothing new", func() { first.Advance(150); first.Advance(1); first.setBehind(true) }, false},
		{"the one behind has read all", func() { first.setBehind(false) }, true},
	} {
		moved := a.movedOn()
		step.do()
		got := false
		select {
		case <-moved:
			got = true
		default:
		}
		if got != step.moves {
			t.Errorf("%s: moved %v, want %v", step.what, got, step.moves)
		}
	}
}

const testDrift = 100

// timed is a run whose records have their time as value, and which tells the alignment as a job does.
type timed struct {
	*run
	a     *TimeAlignment
	times map[int32]int64 // by split
}

func alignedTo(a *TimeAlignment, partitions int32) {
	for p := range partitions {
		a.Split("views", "views", p).Open(testDrift, stream.MinTime)
	}
}

// batch takes the next batch and returns its split, the time of its first record and the number of its records.
func (r *timed) batch() (split int32, first int64, n int) {
	r.t.Helper()
	e := r.until(EventBatch)
	s := r.splits[e.Index]
	for i := range e.Batch.Records {
		at, err := strconv.ParseInt(string(e.Batch.Records[i].Value), 10, 64)
		if err != nil {
			r.t.Fatal(err)
		}
		if i == 0 {
			first = at
		}
		r.times[e.Index] = max(r.times[e.Index], at)
	}
	r.a.Split("views", s.Topic, s.Partition).Advance(r.times[e.Index])
	return e.Index, first, len(e.Batch.Records)
}

// fetched is more than a fetch of 1 KiB brings of what produceTimes writes.
const fetched = 400

// produceTimes writes one partition and the other in small record batches.
func produceTimes(c *cluster, partitions ...[]string) {
	c.t.Helper()
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	for i, all := range partitions {
		for some := range slices.Chunk(all, 50) {
			var recs []*kgo.Record
			for _, at := range some {
				recs = append(recs, &kgo.Record{Topic: "views", Partition: int32(i), Value: []byte(at)})
			}
			if err := cl.ProduceSync(c.t.Context(), recs...).FirstErr(); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// times are n times, one every step.
func times(n, step int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i*step))
	}
	return out
}

// The splits of one reader are read side by side, although a fetch brings more of the quick one than may be handed on at once.
func TestAlignedSplitsStayTogether(t *testing.T) {
	c := newCluster(t, 2, "views")
	const n, size = 2000, 10
	const quick = 10
	produceTimes(c, times(n, quick), times(n, 1))
	a := NewTimeAlignment()
	s := c.openIn(Env{TimeAlignment: a}, KafkaOptions{Topics: []string{"views"}, StopAt: "latest", MaxBatchRecords: size, PartitionMaxBytes: 1024})
	alignedTo(a, 2)
	r := &timed{read(t, s, resolveAll(t, s, nil)), a, map[int32]int64{}}
	var seen [2]int
	for seen[0]+seen[1] < 2*n {
		split, first, got := r.batch()
		seen[split] += got
		// What had been handed on before may be beyond the drift: here a batch or two. Nobody waits for what the last fetch brought.
		const most = testDrift + 2*size*quick
		if other := r.times[1-split]; seen[1-split] > 0 && seen[1-split] < n-fetched && first > other+most {
			t.Fatalf("split %d is at %d after %d records, the other at %d after %d", split, first, seen[split], other, seen[1-split])
		}
	}
	if rest := r.rest(); len(rest) > 0 || seen[0] != n || seen[1] != n {
		t.Fatalf("%d and %d records, want %d of each; and then %d", seen[0], seen[1], n, len(rest))
	}
}

// A subtask waits for another, of which it knows no more than how far it is, and does not fetch meanwhile.
func TestASubtaskWaitsForAnother(t *testing.T) {
	c := newCluster(t, 2, "views")
	const n = 3000
	produceTimes(c, times(n, 1), times(n, 1))
	var asked atomic.Int64 // how often for partition 0
	c.fake.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				if p.Partition == 0 {
					asked.Add(1)
				}
			}
		}
		return nil, nil, false
	})
	a := NewTimeAlignment()
	s := c.openIn(Env{TimeAlignment: a}, KafkaOptions{Topics: []string{"views"}, StopAt: "latest", MaxBatchRecords: 10, PartitionMaxBytes: 1024})
	alignedTo(a, 2)
	splits := resolveAll(t, s, nil)
	slow := &timed{readAs(t, s, 1, 2, splits[1:]), a, map[int32]int64{}}
	slow.batch()
	quick := &timed{readAs(t, s, 0, 2, splits[:1]), a, map[int32]int64{}}
	for quick.times[0] <= slow.times[0]+testDrift {
		quick.batch()
	}
	select {
	case e := <-quick.events: // the one batch that was on its way
		quick.check(&e.Batch)
	default:
	}
	eventually(t, "the quick one waits", func() bool { return a.Split("views", "views", 0).Waits() })
	before := asked.Load()
	for slow.times[0] < quick.times[0]-testDrift {
		select {
		case e := <-quick.events:
			t.Fatalf("at %d, the other at %d: an event of kind %d", quick.times[0], slow.times[0], e.Kind)
		default:
		}
		slow.batch()
	}
	if more := asked.Load() - before; more > mostUnread {
		t.Errorf("asked %d times for what has to wait, want %d at most", more, mostUnread)
	}
	// From here on the slow one waits too, until the quick one has read all.
	for quick.times[0] < n-1 {
		quick.batch()
		for slow.times[0] < quick.times[0] {
			slow.batch()
		}
	}
	slow.rest()
	quick.rest()
}

// Of several parts of a split the second waits for the end of the first, while others take turns with it.
func TestThePartsOfASplitStayInOrder(t *testing.T) {
	a := NewTimeAlignment()
	one, other := &split{place: a.Split("in", "in", 0), unread: 2}, &split{index: 1, place: a.Split("in", "in", 1), unread: 1}
	part := func(s *split, numbers ...int64) *laterPart {
		next, stop := iter.Pull2(func(yield func(Event, error) bool) {
			for _, n := range numbers {
				if !yield(Event{Kind: EventBatch, Index: s.index, Batch: Batch{Next: n}}, nil) {
					return
				}
			}
		})
		return &laterPart{split: s, next: next, stop: stop}
	}
	l := laterParts{parts: []*laterPart{part(one, 1, 2, 3), part(other, 10, 20), part(one, 4, 5)}}
	defer l.stop()
	var got []int64
	if err := l.hand(&kafkaReader{}, func(e Event) error { got = append(got, e.Batch.Next); return nil }); err != nil {
		t.Fatal(err)
	}
	same(t, got, []int64{1, 10, 2, 20, 3, 4, 5})
	if len(l.parts) > 0 || one.unread != 0 || other.unread != 0 {
		t.Errorf("%d parts left, %d and %d unread", len(l.parts), one.unread, other.unread)
	}
}

// The end of a split, and what else brings no records, does not wait: nobody would be told that it has been reached.
func TestAnEndDoesNotWait(t *testing.T) {
	a := NewTimeAlignment()
	ahead, behind := &split{place: a.Split("in", "in", 0), unread: 1}, a.Split("in", "in", 1)
	behind.Open(10, 0)
	behind.setBehind(true)
	next, stop := iter.Pull2(func(yield func(Event, error) bool) {
		_ = yield(Event{Kind: EventBatch, Batch: Batch{Records: make([]stream.Record, 1)}}, nil) &&
			yield(Event{Kind: EventBatch}, nil) && yield(Event{Kind: EventSplitEnd}, nil)
	})
	l := laterParts{parts: []*laterPart{{split: ahead, next: next, stop: stop}}}
	defer l.stop()
	ahead.place.Open(10, 100)
	var got []EventKind
	hand := func() {
		t.Helper()
		if err := l.hand(&kafkaReader{}, func(e Event) error {
			got = append(got, e.Kind)
			ahead.place.Advance(200) // too far, once the records are handed on
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	hand()
	same(t, got, nil)
	behind.Advance(95)
	hand()
	same(t, got, []EventKind{EventBatch, EventBatch, EventSplitEnd})
	if len(l.parts) > 0 || ahead.unread != 0 {
		t.Errorf("%d parts are left, %d unread", len(l.parts), ahead.unread)
	}
}

// Two splits of which one ends while it is the one that is ahead: the other is read to its end.
func TestNobodyWaitsForASplitThatHasEnded(t *testing.T) {
	c := newCluster(t, 2, "views")
	const n = 2000
	produceTimes(c, times(n/2, 1), times(n, 1))
	a := NewTimeAlignment()
	s := c.openIn(Env{TimeAlignment: a}, KafkaOptions{Topics: []string{"views"}, StopAt: "latest", MaxBatchRecords: 10, PartitionMaxBytes: 1024})
	alignedTo(a, 2)
	splits := resolveAll(t, s, nil)
	short := &timed{readAs(t, s, 0, 2, splits[:1]), a, map[int32]int64{}}
	long := &timed{readAs(t, s, 1, 2, splits[1:]), a, map[int32]int64{}}
	for short.times[0] < n/2-1 {
		short.batch()
		for long.times[0] < short.times[0] {
			long.batch()
		}
	}
	short.rest()
	for long.times[0] < n-1 {
		long.batch()
	}
	long.rest()
}
