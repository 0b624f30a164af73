package runtime

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/stream"
)

// A barrier divides what an exchange sends: it reaches every channel, and behind all that was sent before it, also where
// that is still being gathered.
func TestABarrierReachesEveryChannelBehindWhatWasSent(t *testing.T) {
	const groups = 16
	var to []*channel
	for range 3 {
		to = append(to, newGate(t.Context(), 1, time.Second).channels[0])
	}
	x := &exchangeOut{to: to}
	emit, flush := TypeOf[int]().sender(to, route{mode: byGroup, groups: groups})
	x.flush = flush
	sent := map[int]int{}
	for i := range 10 {
		group := stream.KeyGroup(i % groups)
		sent[stream.SubtaskOf(group, len(to), groups)]++
		if err := emit.(stream.Emit[int])(&stream.Event[int]{Key: []byte("k"), Group: group, Value: i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.send(message{kind: barrier, checkpoint: 7}); err != nil {
		t.Fatal(err)
	}
	for i, c := range to {
		events := 0
		for {
			_, m, ok := c.gate.tryPop()
			if !ok {
				t.Fatalf("channel %d: no barrier", i)
			}
			if m.kind == barrier {
				break
			}
			events += m.events
		}
		if events != sent[i] {
			t.Errorf("channel %d: %d events before the barrier, want %d", i, events, sent[i])
		}
		if _, _, ok := c.gate.tryPop(); ok {
			t.Errorf("channel %d: something came behind the barrier", i)
		}
	}
}

// A subtask takes its snapshot with the last barrier, with all that is before the barriers in it and nothing of what is
// behind them.
func TestNoRecordOvertakesABarrier(t *testing.T) {
	errTaken := errors.New("the snapshot is taken")
	var seen []int
	a := &attempt{cfg: &Config{Listener: &checkpoint.Listener{}}, ctx: t.Context()}
	a.coord = &coordination{a: a, in: make(chan any, 16)}
	s := &operatorSubtask{
		subtask: subtask{a: a, chain: &chain{exchange: []*exchangeOut{{flush: func() error { return errTaken }}}}},
		gate:    newGate(t.Context(), 2, time.Second), aligner: checkpoint.NewAligner(2, checkpoint.ExactlyOnce),
		from: make([]stream.SubtaskID, 2),
	}
	for range 2 {
		s.receive = append(s.receive, func(data any) error {
			seen = append(seen, data.(int))
			return nil
		})
	}
	push := func(ch int, m message) {
		if err := s.gate.channels[ch].push(m); err != nil {
			t.Fatal(err)
		}
	}
	event := func(n int) message { return message{kind: data, data: n, events: 1} }
	push(0, event(1))
	push(0, message{kind: barrier, checkpoint: 5})
	push(0, event(100))
	push(0, event(101))
	push(1, event(2))
	push(1, event(3))
	push(1, event(4))
	push(1, message{kind: barrier, checkpoint: 5})
	push(1, event(102))
	for {
		ch, m, ok := s.gate.tryPop()
		if !ok {
			t.Fatal("no snapshot")
		}
		err := s.handle(ch, m)
		if errors.Is(err, errTaken) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(seen)
	if want := []int{1, 2, 3, 4}; !slices.Equal(seen, want) {
		t.Errorf("the snapshot has %v, want %v", seen, want)
	}
}

// What subtasks report of one operator or source becomes one: the least watermark, since more would make records of the
// slower ones late, and every split, in order.
func TestThePointerHasTheLeastWatermarkAndEverySplit(t *testing.T) {
	a := &attempt{
		cfg: &Config{}, now: func() int64 { return 0 }, graph: &Graph{Nodes: []*Node{{Name: "in"}, {Name: "window"}}},
		last: &checkpoint.Pointer{Sources: []checkpoint.Source{{Name: "in"}}},
	}
	split := func(topic string, partition int32, offset int64) splitPosition {
		return splitPosition{"in", checkpoint.Split{Topic: topic, Partition: partition, Offset: offset}}
	}
	p := a.pointer(&completion{checkpoint: 9, snapshots: []*snapshot{
		{watermarks: map[string]int64{"window": 30}, splits: []splitPosition{split("b", 0, 7), split("a", 2, 5)}},
		{watermarks: map[string]int64{"window": 10}, splits: []splitPosition{split("a", 0, 3)}},
		{watermarks: map[string]int64{"window": 20, "in": 40}, splits: []splitPosition{split("a", 10, 4)}},
	}})
	var got []string
	for _, o := range p.Operators {
		got = append(got, fmt.Sprintf("%s at %d", o.Name, o.Watermark))
	}
	for _, s := range p.Sources[0].Splits {
		got = append(got, fmt.Sprintf("%s/%d at %d", s.Topic, s.Partition, s.Offset))
	}
	want := []string{"in at 40", "window at 10", "a/0 at 3", "a/2 at 5", "a/10 at 4", "b/0 at 7"}
	if p.Checkpoint != 9 || !slices.Equal(got, want) {
		t.Errorf("checkpoint %d with %q, want %q", p.Checkpoint, got, want)
	}
}
