package operators

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirstream/weir/stream"
)

// modelState is what plain Go maps say.
type modelState struct {
	values  map[string]string
	windows map[string]string
	maps    map[string]map[int64]string
	lists   map[string][]string
	timers  map[string]bool
}

func (m modelState) clone() modelState {
	c := modelState{maps.Clone(m.values), maps.Clone(m.windows), map[string]map[int64]string{}, map[string][]string{}, maps.Clone(m.timers)}
	for k, v := range m.maps {
		c.maps[k] = maps.Clone(v)
	}
	for k, v := range m.lists {
		c.lists[k] = slices.Clone(v)
	}
	return c
}

// modelRun drives one of each table with random calls and compares what they return with modelState.
type modelRun struct {
	// bases: some are made before the end; else nothing is in the store until a restart.
	bases  bool
	t      *testing.T
	rnd    *rand.Rand
	store  *modelStore
	ctx    *Context
	value  *Value[string]
	window *Window[string]
	mapped *MapState[int64, string]
	list   *List[string]
	timers *Timers

	now        modelState
	checkpoint int64
	snapshots  map[int64]modelState
	encoding   chan encodeJob
	results    chan encodeResult
	inFlight   int
}

type encodeJob struct {
	checkpoint int64
	frozen     []Frozen
}

type encodeResult struct {
	checkpoint int64
	delta      modelDelta
	err        error
}

func (r *modelRun) open() {
	r.ctx = &Context{Subtask: stream.SubtaskID{Operator: "op"}, Groups: stream.KeyGroupRange{First: 0, Last: 15}, KeyGroups: 16, Store: r.store}
	var err error
	check := func(e error) {
		if err = e; err != nil {
			r.t.Fatal(err)
		}
	}
	r.value, err = NewValue[string](r.ctx, "value", nil)
	check(err)
	r.window, err = NewWindow[string](r.ctx, "window", nil)
	check(err)
	r.mapped, err = NewMap[int64, string](r.ctx, "map", nil, nil)
	check(err)
	r.list, err = NewList[string](r.ctx, "list", nil)
	check(err)
	r.timers, err = NewTimers(r.ctx, "timers")
	check(err)
}

func (r *modelRun) freeze() {
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
	r.snapshots[r.checkpoint] = r.now.clone()
	r.inFlight++
	r.encoding <- job
}

// drain waits for n checkpoints to be encoded.
func (r *modelRun) drain(n int) {
	for range n {
		res := <-r.results
		if res.err != nil {
			r.t.Fatal(res.err)
		}
		r.inFlight--
		r.store.add(res)
	}
}

func encodeAll(ledger *numberLedger, jobs <-chan encodeJob, results chan<- encodeResult) {
	defer close(results)
	for job := range jobs {
		d := modelDelta{}
		w := &numberedDelta{modelDelta: d, ledger: ledger, checkpoint: job.checkpoint}
		var err error
		for _, f := range job.frozen {
			if err == nil {
				err = f.Encode(w)
			}
		}
		results <- encodeResult{job.checkpoint, d, err}
	}
}

// restart goes on from the last checkpoint with new tables.
func (r *modelRun) restart() {
	r.drain(r.inFlight)
	r.store.applyAll()
	r.now = r.snapshots[r.checkpoint].clone()
	r.open()
}

func (r *modelRun) step() {
	key := fmt.Sprintf("k%d", r.rnd.IntN(12))
	buf := []byte(key)
	r.ctx.SetKey(stream.KeyGroupOf(buf, 16), borrow(buf))
	// Tables must copy the key: the record's bytes are somebody else's after the call.
	defer copy(buf, "!!!!")
	val := fmt.Sprint(r.rnd.IntN(1000))
	ns := int64(r.rnd.IntN(4)) - 2
	var err error
	switch n := r.rnd.IntN(100); {
	case n < 6:
		err = r.value.Put(val)
		r.now.values[key] = val
	case n < 12:
		err = r.value.Delete()
		delete(r.now.values, key)
	case n < 18:
		v, ok, e := r.value.Get()
		want, exists := r.now.values[key]
		r.same(e, "value "+key, v, ok, want, exists)
	case n < 24:
		err = r.window.Put(ns, val)
		r.now.windows[fmt.Sprint(key, ns)] = val
	case n < 30:
		err = r.window.Delete(ns)
		delete(r.now.windows, fmt.Sprint(key, ns))
	case n < 36:
		v, ok, e := r.window.Get(ns)
		want, exists := r.now.windows[fmt.Sprint(key, ns)]
		r.same(e, "window "+key, v, ok, want, exists)
	case n < 42:
		err = r.mapped.Put(ns, val)
		if r.now.maps[key] == nil {
			r.now.maps[key] = map[int64]string{}
		}
		r.now.maps[key][ns] = val
	case n < 48:
		err = r.mapped.Delete(ns)
		delete(r.now.maps[key], ns)
	case n < 51:
		v, ok, e := r.mapped.Get(ns)
		want, exists := r.now.maps[key][ns]
		r.same(e, "map "+key, v, ok, want, exists)
	case n < 54:
		got := map[int64]string{}
		err = r.mapped.All(func(k int64, v string) error { got[k] = v; return nil })
		size, e := r.mapped.Len()
		if !maps.Equal(got, r.now.maps[key]) || e != nil || size != len(got) {
			r.t.Fatalf("map %s has %v (length %d, %v), want %v", key, got, size, e, r.now.maps[key])
		}
	case n < 60:
		err = r.list.Add(val)
		r.now.lists[key] = append(r.now.lists[key], val)
	case n < 62:
		err = r.list.Clear()
		delete(r.now.lists, key)
	case n < 65:
		values := make([]string, r.rnd.IntN(4))
		for i := range values {
			values[i] = fmt.Sprint(val, i)
		}
		err = r.list.Set(values)
		r.now.lists[key] = values
	case n < 69:
		var got []string
		err = r.list.All(func(_ int, v string) error { got = append(got, v); return nil })
		if !slices.Equal(got, r.now.lists[key]) {
			r.t.Fatalf("list %s has %q, want %q", key, got, r.now.lists[key])
		}
	case n < 76:
		ts := int64(r.rnd.IntN(6))
		err = r.timers.Add(ts, ns)
		r.now.timers[timerName(ts, key, ns)] = true
	case n < 80:
		ts := int64(r.rnd.IntN(6))
		err = r.timers.Delete(ts, ns)
		delete(r.now.timers, timerName(ts, key, ns))
	case n < 84:
		r.pop(int64(r.rnd.IntN(6)))
	case n < 89:
		r.freeze()
	case n < 91:
		r.drain(r.rnd.IntN(r.inFlight + 1))
	case n < 94 && r.bases:
		r.store.base()
	case n < 98:
		for _, t := range r.ctx.Tables() {
			t.Evict(r.rnd.Int64N(t.Bytes()+1), r.rnd.IntN(100))
			if r.rnd.IntN(4) == 0 {
				t.Evict(r.rnd.Int64N(t.Bytes()+1), math.MaxInt)
			}
			if got, want := r.value.unapplied(), countUnapplied(&r.value.cells); got != want {
				r.t.Fatalf("%d values are counted that the store does not have, there are %d", got, want)
			}
			if got, want := r.window.unapplied(), countUnapplied(&r.window.cells); got != want {
				r.t.Fatalf("%d window values are counted that the store does not have, there are %d", got, want)
			}
		}
	case n < 99:
		r.restart()
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// timerName sorts as timers do.
func timerName(ts int64, key string, ns int64) string {
	return fmt.Sprintf("%02d %-4s %02d", ts, key, ns+50)
}

func (r *modelRun) pop(upTo int64) {
	names := slices.Sorted(maps.Keys(r.now.timers))
	next := stream.MaxTime
	if len(names) > 0 {
		fmt.Sscan(names[0][:2], &next)
	}
	if got := r.timers.Next(); got != next {
		r.t.Fatalf("next timer at %d, want %d", got, next)
	}
	group, key, ts, ns, ok := r.timers.Pop(upTo)
	if want := next <= upTo; ok != want {
		r.t.Fatalf("timer up to %d: %t, want %t", upTo, ok, want)
	}
	if !ok {
		return
	}
	if got := timerName(ts, key, ns); got != names[0] || group != stream.KeyGroupOf([]byte(key), 16) {
		r.t.Fatalf("popped %q of group %d, want %q", got, group, names[0])
	}
	delete(r.now.timers, names[0])
}

func (r *modelRun) same(err error, what, got string, ok bool, want string, exists bool) {
	if err != nil || got != want || ok != exists {
		r.t.Fatalf("%s is %q, %t (%v), want %q, %t", what, got, ok, err, want, exists)
	}
}

const modelSeeds = uint64(200)

// Whatever is frozen, encoded late, written to the store, evicted and restored in between: tables answer as maps do.
func TestTablesAnswerAsPlainMapsDo(t *testing.T) {
	for seed := range modelSeeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &modelRun{
				t: t, bases: seed%3 > 0, rnd: rand.New(rand.NewPCG(seed, 1)), store: &modelStore{entries: map[string]string{}},
				now:       modelState{map[string]string{}, map[string]string{}, map[string]map[int64]string{}, map[string][]string{}, map[string]bool{}},
				snapshots: map[int64]modelState{}, encoding: make(chan encodeJob, 3), results: make(chan encodeResult, 3),
			}
			go encodeAll(newNumberLedger(r.store), r.encoding, r.results)
			defer func() {
				close(r.encoding)
				for range r.results {
				}
			}()
			r.snapshots[0] = r.now.clone()
			r.open()
			for range 3000 {
				r.step()
			}
		})
	}
}
