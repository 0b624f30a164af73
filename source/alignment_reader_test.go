package source

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/stream"
)

// timesFrom are times from one to before the other.
func timesFrom(from, to int) []string { return times(to, 1)[from:] }

// span takes all that a run of one split brings until its time is at, and checks that each time comes once, in order.
func (r *timed) span(split int32, at int64) {
	r.t.Helper()
	for r.times[split] < at {
		before := r.times[split]
		r.follows(before)
	}
}

// follows takes a batch of a run whose times are 0, 1, 2 ..., and checks that it goes on where the split was.
func (r *timed) follows(last int64) {
	r.t.Helper()
	split, first, n := r.batch()
	if first != last+1 || r.times[split] != last+int64(n) {
		r.t.Fatalf("split %d: %d records from %d to %d come after %d", split, n, first, r.times[split], last)
	}
}

// nothing fails if a run has an event to give.
func (r *timed) nothing() {
	r.t.Helper()
	select {
	case e := <-r.events:
		r.t.Fatalf("an event of kind %d of split %d, which has to wait at %d", e.Kind, e.Index, r.times[e.Index])
	default:
	}
}

// isBehind reports whether there is more of a split.
func (s *AlignedSplit) isBehind() bool {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.behind
}

// timedAs is a reader of some splits of a source whose splits are aligned.
func timedAs(t *testing.T, s Source, a *TimeAlignment, subtask int, partitions ...int32) *timed {
	t.Helper()
	splits := resolveAll(t, s, nil)
	splits = slices.DeleteFunc(splits, func(s checkpoint.Split) bool { return !slices.Contains(partitions, s.Partition) })
	r := &timed{readAs(t, s, subtask, 2, splits), a, map[int32]int64{}}
	for i := range splits {
		r.times[int32(i)] = -1
	}
	return r
}

// asks counts the fetches that ask for a partition, by partition and broker.
type asks [2][2]atomic.Int64

func (c *cluster) countAsks() *asks {
	n := new(asks)
	c.fake.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				n[p.Partition][c.fake.CurrentNode()].Add(1)
			}
		}
		return nil, nil, false
	})
	return n
}

// A split that has become idle holds nobody up, however far behind it is. When it is active again, with more than a fetch brings, it
// is waited for again.
func TestAnIdleSplitIsNotWaitedForUntilItIsActive(t *testing.T) {
	c := newCluster(t, 2, "views")
	const n, more, idleAt = 2000, 1000, fetched
	produceTimes(c, times(n, 1), times(idleAt, 1))
	a := NewTimeAlignment()
	var clock atomic.Int64
	clock.Store(1_000_000)
	s := c.openIn(Env{TimeAlignment: a, Now: clock.Load, Steady: clock.Load}, KafkaOptions{
		Topics: []string{"views"}, MaxBatchRecords: 10, PartitionMaxBytes: 1024, IdleTimeout: time.Minute, DiscoveryInterval: -1,
	})
	alignedTo(a, 2)
	slow := timedAs(t, s, a, 1, 1)
	slow.follows(-1)
	quick := timedAs(t, s, a, 0, 0)
	quick.span(0, slow.times[0]+testDrift+1)
	eventually(t, "the quick one waits", a.Split("views", "views", 0).Waits)
	quickAt := quick.times[0]

	// To its end the slow one is read alone: it is never more than the drift ahead.
	for slow.times[0] < idleAt-1 {
		slow.follows(slow.times[0])
		if slow.times[0] >= quickAt+testDrift {
			quick.span(0, slow.times[0])
			quickAt = quick.times[0]
		}
	}
	eventually(t, "the end of the slow one is known", func() bool { return !a.Split("views", "views", 1).isBehind() })
	clock.Add(time.Minute.Milliseconds())
	if e := slow.event(); e.Kind != EventIdle {
		t.Fatalf("an event of kind %d, want that the slow one is idle", e.Kind)
	}
	quick.span(0, n-1)

	produceTimes(c, nil, timesFrom(idleAt, n))
	if e := slow.event(); e.Kind != EventActive {
		t.Fatalf("an event of kind %d, want that the slow one is active", e.Kind)
	}
	// It counts from the first fetch on that leaves something.
	for slow.follows(idleAt - 1); !a.Split("views", "views", 0).Waits(); slow.follows(slow.times[0]) {
		if slow.times[0] >= n-1-testDrift-10 {
			t.Fatalf("the quick one at %d has not waited for the other, which is active again and at %d", quick.times[0], slow.times[0])
		}
	}
	produceTimes(c, timesFrom(n, n+more))
	slow.span(0, n-1)
	quick.span(0, n+more-1)
}

// Leaders move while what was fetched of a split lies with the reader, since the split is ahead. What lies there is handed on before
// what the new leader has, and nothing of it comes again.
func TestALeaderMovesWhileASplitThatIsAheadIsUnread(t *testing.T) {
	c := newCluster(t, 2, "views")
	const n, moves = 3000, 5
	produceTimes(c, times(n, 1), times(n, 1))
	asked := c.countAsks()
	a := NewTimeAlignment()
	s := c.openIn(Env{TimeAlignment: a}, KafkaOptions{Topics: []string{"views"}, StopAt: "latest", MaxBatchRecords: 10, PartitionMaxBytes: 1024})
	alignedTo(a, 2)
	slow := timedAs(t, s, a, 1, 1)
	slow.follows(-1)
	quick := timedAs(t, s, a, 0, 0)
	quick.until(EventSplit)
	// No record is taken of the quick one yet: of what was fetched, two parts lie there.
	eventually(t, "two parts of the quick one", func() bool { return asked[0][0].Load()+asked[0][1].Load() == mostUnread })
	for i := range moves {
		quick.span(0, slow.times[0]+testDrift+1)
		eventually(t, "the quick one waits", a.Split("views", "views", 0).Waits)
		// Each time the quick one's, and now and then that of the one that is waited for.
		to := 1 - c.fake.LeaderFor("views", 0)
		if err := c.fake.MoveTopicPartition("views", 0, to); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			if err := c.fake.MoveTopicPartition("views", 1, 1-c.fake.LeaderFor("views", 1)); err != nil {
				t.Fatal(err)
			}
		}
		before := asked[0][to].Load()
		// The move is found out by the first fetch after a part was handed on, with the other still there.
		for asked[0][to].Load() == before {
			slow.follows(slow.times[0])
			for quick.times[0] <= slow.times[0] {
				quick.follows(quick.times[0])
			}
		}
	}
	for quick.times[0] < n-1 || slow.times[0] < n-1 {
		if slow.times[0] < n-1 {
			slow.follows(slow.times[0])
		}
		for quick.times[0] < min(slow.times[0]+1, n-1) {
			quick.follows(quick.times[0])
		}
	}
	same(t, slow.rest(), nil)
	same(t, quick.rest(), nil)
}

// A partition that is found while the readers run waits for those that are behind it, and is waited for.
func TestAPartitionThatIsDiscoveredIsAligned(t *testing.T) {
	for _, ahead := range []bool{true, false} {
		name := "it is behind"
		if ahead {
			name = "it is ahead"
		}
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1, "views")
			const n = 2000
			produceTimes(c, times(n, 1))
			a := NewTimeAlignment()
			s := c.openIn(Env{TimeAlignment: a}, KafkaOptions{
				Topics: []string{"views"}, MaxBatchRecords: 10, PartitionMaxBytes: 1024, DiscoveryInterval: 5 * time.Millisecond,
			})
			alignedTo(a, 1)
			// It is found by its owner, so that the known one goes to the other reader.
			owner := OwnerOf("views", 1, 2)
			known := timedAs(t, s, a, 1-owner, 0)
			known.follows(-1)
			found := timedAs(t, s, a, owner)
			c.grow("views", 2)
			produceTimes(c, nil, times(n, 1))
			if e := found.event(); e.Kind != EventSplit || e.Split.Partition != 1 {
				t.Fatalf("got %+v, want the new partition", e)
			}
			found.times[0] = -1
			a.Split("views", "views", 1).Open(testDrift, stream.MinTime) // as a job does
			found.follows(-1)

			quick, slow, partition := known, found, int32(0)
			if ahead {
				quick, slow, partition = found, known, 1
			}
			quick.span(0, slow.times[0]+testDrift+1)
			for range 3 {
				eventually(t, "the quick one waits", a.Split("views", "views", partition).Waits)
				for range 3 {
					slow.follows(slow.times[0])
				}
				quick.span(0, slow.times[0]+testDrift+1)
			}
			for slow.times[0] < quick.times[0]-testDrift-10 {
				quick.nothing()
				slow.follows(slow.times[0])
			}
			for slow.times[0] < n-1 {
				slow.follows(slow.times[0])
				quick.span(0, min(slow.times[0]+1, n-1))
			}
			quick.span(0, n-1)
		})
	}
}

// A reader ends while a split has to wait, as when the job is stopped or drained.
func TestAReaderEndsWhileASplitWaits(t *testing.T) {
	c := newCluster(t, 2, "views")
	produceTimes(c, times(2000, 1))
	asked := c.countAsks()
	a := NewTimeAlignment()
	s := c.openIn(Env{TimeAlignment: a}, KafkaOptions{Topics: []string{"views"}, MaxBatchRecords: 10, PartitionMaxBytes: 1024})
	alignedTo(a, 2)
	behind := a.Split("views", "views", 1)
	behind.Advance(0)
	behind.setBehind(true)
	quick := timedAs(t, s, a, 0, 0)
	quick.until(EventSplit)
	eventually(t, "two parts", func() bool { return asked[0][0].Load()+asked[0][1].Load() == mostUnread })
	quick.span(0, testDrift+1)
	eventually(t, "it waits", a.Split("views", "views", 0).Waits)
	quick.stop()
	for {
		select {
		case e := <-quick.events:
			if e.Kind == EventBatch && e.Batch.Records[0].Offset > quick.times[0]+10 {
				t.Fatalf("records from %d on, after %d", e.Batch.Records[0].Offset, quick.times[0])
			}
			continue
		case err := <-quick.err:
			if err == nil {
				t.Error("it ended as if all had been read")
			}
		case <-time.After(patience):
			t.Fatal("it does not end")
		}
		break
	}
}
