package operators

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/stream"
)

// joinRun drives one subtask of a join with random calls, while checkpoints are encoded in the background.
type joinRun struct {
	t     *testing.T
	rnd   *rand.Rand
	store *modelStore
	ctx   *Context
	op    *intervalJoin[string, string, string]
	spec  func() Spec2[string, string, string]

	got, want  []string
	events     [2][]joinEvent
	watermark  int64
	late       int
	checkpoint int64
	encoding   chan encodeJob
	results    chan encodeResult
	inFlight   int
}

type joinEvent struct {
	key, value string
	ts         int64
}

func (r *joinRun) open() {
	r.ctx = modelContext(r.store)
	r.ctx.Late = func() { r.late++ }
	r.op = r.spec().New().(*intervalJoin[string, string, string])
	must0(r.t, r.op.Open(r.ctx))
	if r.watermark != stream.MinTime {
		must0(r.t, r.op.OnWatermark(r.watermark, nil))
	}
}

func (r *joinRun) drain(n int) {
	for range n {
		res := <-r.results
		must0(r.t, res.err)
		r.inFlight--
		r.store.add(res)
	}
}

func (r *joinRun) freeze() {
	if r.inFlight == 3 {
		r.drain(1)
	}
	r.checkpoint++
	job := encodeJob{checkpoint: r.checkpoint}
	for _, t := range r.ctx.Tables() {
		if f := t.Freeze(r.checkpoint); f != nil {
			job.frozen = append(job.frozen, f)
		}
	}
	r.inFlight++
	r.encoding <- job
}

func (r *joinRun) event(side int, e joinEvent) {
	key := []byte(e.key)
	group, hash := stream.Locate(key, 16)
	ev := stream.Event[string]{Key: key, Value: e.value, Timestamp: e.ts, Group: group, Hash: hash}
	emit := func(out *stream.Event[string]) error {
		r.got = append(r.got, fmt.Sprintf("%s@%d", out.Value, out.Timestamp))
		return nil
	}
	late := r.late
	if side == 0 {
		r.op.PrefetchA([]stream.Event[string]{ev})
		must0(r.t, r.op.ProcessA(&ev, emit))
	} else {
		r.op.PrefetchB([]stream.Event[string]{ev})
		must0(r.t, r.op.ProcessB(&ev, emit))
	}
	clear(key) // the record's bytes are the engine's, not the operator's
	if r.late > late {
		return
	}
	for _, o := range r.events[1-side] {
		a, b := e, o
		if side == 1 {
			a, b = o, e
		}
		if d := b.ts - a.ts; a.key == b.key && d >= r.op.between.lower && d <= r.op.between.upper {
			r.want = append(r.want, fmt.Sprintf("%s+%s@%d", a.value, b.value, max(a.ts, b.ts)))
		}
	}
	r.events[side] = append(r.events[side], e)
}

// TestAJoinIsAPlainLoopWhateverIsInFlight: up to three checkpoints are being encoded, their changes get into the store at any
// time, cells are evicted and operators restored; busy keys have many bunches in a span.
func TestAJoinIsAPlainLoopWhateverIsInFlight(t *testing.T) {
	for i, between := range []Interval{
		Between(0, 10*time.Second), Between(-3*time.Second, 2*time.Second), Between(4*time.Second, 6*time.Second), Between(0, 0), Between(-time.Minute, 0),
	} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%d to %d, seed %d", between.lower, between.upper, seed), func(t *testing.T) {
				lateness := time.Duration(seed%2) * 3 * time.Second
				r := &joinRun{t: t, rnd: rand.New(rand.NewPCG(seed, uint64(i))), store: newModelStore(), watermark: stream.MinTime}
				r.encoding, r.results = make(chan encodeJob, 4), make(chan encodeResult, 4)
				go encodeAll(newNumberLedger(r.store), r.encoding, r.results)
				defer close(r.encoding)
				r.spec = func() Spec2[string, string, string] {
					return IntervalJoin(between, func(p Pair[string, string]) (string, error) { return p.A + "+" + p.B, nil },
						JoinOptions[string, string]{AllowedLateness: lateness})
				}
				r.open()
				pairs := 0
				for n := range 3000 {
					now := int64(n) * 40
					switch p := r.rnd.IntN(100); {
					case p < 5 && now > 5000:
						r.watermark = now - 5000
						must0(t, r.op.OnWatermark(r.watermark, nil))
						for side := range r.events { // what is in time has no partners that are so old
							r.events[side] = slices.DeleteFunc(r.events[side], func(e joinEvent) bool { return e.ts < now-140_000 })
						}
					case p < 9:
						r.freeze()
					case p == 9:
						r.drain(r.rnd.IntN(r.inFlight + 1))
						r.store.base()
					case p < 13:
						for _, table := range r.ctx.Tables() {
							table.Evict(r.rnd.Int64N(table.Bytes()+1), 1+r.rnd.IntN(1000))
						}
					case p == 13 && n%8 == 0:
						r.freeze()
						r.drain(r.inFlight)
						r.store.applyAll()
						r.open()
					default:
						key := "busy"
						if r.rnd.IntN(2) == 0 {
							key = fmt.Sprintf("a key that fits into no cell, %d", r.rnd.IntN(30))
						}
						r.event(r.rnd.IntN(2), joinEvent{key, fmt.Sprint(n), (now - r.rnd.Int64N(9000)) / 50 * 50})
					}
					slices.Sort(r.got)
					slices.Sort(r.want)
					if !slices.Equal(r.got, r.want) {
						t.Fatalf("step %d: %d pairs, want %d", n, len(r.got), len(r.want))
					}
					pairs += len(r.want)
					r.got, r.want = r.got[:0], r.want[:0]
				}
				if pairs == 0 || r.late == 0 {
					t.Fatalf("%d pairs and %d late events: the test asks nothing", pairs, r.late)
				}
				must0(t, r.op.OnWatermark(stream.MaxTime, nil))
				checkEmpty(t, r.op)
				r.freeze()
				r.drain(r.inFlight)
				r.store.applyAll()
				for k := range r.store.entries {
					t.Errorf("%q is left in the store", k)
				}
			})
		}
	}
}

// checkEmpty checks that nothing waits, and that nothing is noted of what has waited.
func checkEmpty(t *testing.T, op *intervalJoin[string, string, string]) {
	t.Helper()
	for _, w := range []*waiting[string]{op.a, op.b} {
		if w.Entries() > 0 || len(w.cold) > 0 || len(w.older) > 0 || len(w.queue.times) > 0 || w.queue.bytes != 0 {
			t.Errorf("%s: %d entries, cold %v, older %v, %d times in the queue, %d bytes of it", w.desc.Name, w.Entries(), w.cold, w.older, len(w.queue.times), w.queue.bytes)
		}
	}
}

// TestASpanIsWhereATimeSays, from one end of time to the other, and its parts come out of its namespace again.
func TestASpanIsWhereATimeSays(t *testing.T) {
	for _, length := range []int64{0, 1, 63, 64, 100, 127, 128, 60_000, 86_400_000, math.MaxInt64} {
		grain := grainFor(length)
		if size := int64(1) << grain; length >= 64 && length < 1<<spanBits && (size > length || size <= length/2) {
			t.Errorf("an interval of %d ms has spans of %d", length, size)
		}
		before := int64(-1)
		for _, ts := range []int64{stream.MinTime, -farthest - 1, -farthest, -1 << 30, -60_001, -1, 0, 1, 60_000, 1 << 41, farthest - 1, farthest, stream.MaxTime} {
			span := spanOf(ts, grain)
			place := placeOf(grain, span)
			if span < before || span < 0 || span >= 1<<spanBits || grainOf(place) != grain || spanIn(place) != span || bunchIn(place|77) != 77 || bunchIn(place) != 0 {
				t.Errorf("length %d, time %d: grain %d span %d place %x", length, ts, grain, span, place)
			}
			before = span
		}
	}
}

// TestTheFormatOfABunchIsFrozen, and broken ones are errors.
func TestTheFormatOfABunchIsFrozen(t *testing.T) {
	codec := bunchCodec[string]{CBOR[string](1)}
	at := func(ts int64, v string) placed[string] { return placed[string]{ts, v} }
	for want, b := range map[string]bunch[string]{
		"\x80\x00\x00\x00\x00\x00\x03\xe8" + "\x00\x01" + "\x00" + "\x61x": {first: at(1000, "x"), newest: 1000},
		"\x80\x00\x00\x00\x00\x00\x03\xe8" + "\x81\x02\x03" + "\xe8\x07\x00\xd0\x0f" + "\x00\x00\x00\x02\x61x" + "\x00\x00\x00\x01\x60" + "\x61z": {
			first: at(0, "x"), others: []placed[string]{at(1000, ""), at(-1000, "z")}, newest: 1000, last: 257},
	} {
		got, err := codec.Append(nil, b)
		must0(t, err)
		if string(got) != want {
			t.Errorf("%+v: %q, want %q", b, got, want)
		}
		back, err := codec.Decode(got)
		must0(t, err)
		if fmt.Sprint(back) != fmt.Sprint(b) {
			t.Errorf("%+v is read back as %+v", b, back)
		}
		for n := range got {
			if _, err := codec.Decode(got[:n]); err == nil {
				t.Errorf("the first %d bytes of %q are read", n, got)
			}
		}
	}
	ends := bunch[string]{first: at(stream.MinTime, "x"), others: []placed[string]{at(stream.MaxTime, "y")}, newest: stream.MaxTime}
	b, err := codec.Append(nil, ends)
	must0(t, err)
	if back, err := codec.Decode(b); err != nil || fmt.Sprint(back) != fmt.Sprint(ends) {
		t.Errorf("%+v is read back as %+v, %v", ends, back, err)
	}
}
