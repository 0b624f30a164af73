package job_test

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/jobtest"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// A key's long values live for 40 s of event time, and what it gathers is told at each full 10 s.
const longTTL, longSlot = int64(40_000), int64(10_000)

// longValue is one or two kilobytes of a number, of a few numbers 100 KB.
func longValue(n int64) string {
	size := 600 + int(n%7)*300
	if n%499 == 0 {
		size = 100_000
	}
	return strconv.FormatInt(n, 10) + ":" + strings.Repeat(string(rune('a'+n%26)), size)
}

// large keeps large lists and maps, with a TTL and without.
type large struct {
	list, brief *operators.List[string]
	table       *operators.MapState[string, string]
	recent      *operators.MapState[int64, string]
	slots       *operators.MapState[int64, string]
}

func (l *large) Open(c *operators.Context) error {
	ttl := operators.TTL{After: time.Duration(longTTL) * time.Millisecond}
	read := ttl
	read.Refresh = operators.TTLOnReadAndWrite
	var errs [5]error
	l.list, errs[0] = operators.NewList[string](c, "list", nil)
	l.brief, errs[1] = operators.NewList[string](c, "brief", nil, ttl)
	l.table, errs[2] = operators.NewMap[string, string](c, "table", nil, nil)
	l.recent, errs[3] = operators.NewMap[int64, string](c, "recent", nil, nil, read)
	l.slots, errs[4] = operators.NewMap[int64, string](c, "slots", nil, nil)
	return errors.Join(errs[:]...)
}

// Process changes each state in a way that depends on the number, and emits a hash of all that the key has.
func (l *large) Process(c *operators.ProcessContext, ev *stream.Event[datum], emit func(datum) error) error {
	n, p, slot := ev.Value.N, longValue(ev.Value.N), ev.Timestamp/longSlot*longSlot+longSlot
	var has []string
	note := func(key any, v string) error {
		has = append(has, fmt.Sprint(key, "=", v))
		return nil
	}
	err := errors.Join(l.changeLists(n, p), l.changeMaps(n, p),
		l.list.All(func(i int, v string) error { return note(i, v) }),
		l.brief.All(func(i int, v string) error { return note(i, v) }),
		l.table.All(func(k, v string) error { return note(k, v) }),
		l.recent.All(func(k int64, v string) error { return note(k, v) }))
	if err != nil {
		return err
	}
	s, _, err := l.slots.Get(slot)
	if err := errors.Join(err, l.slots.Put(slot, s+p), c.SetTimer(slot)); err != nil {
		return err
	}
	return emit(datum{ev.Value.Key, hashOf(has...), 0})
}

func (l *large) changeLists(n int64, p string) error {
	var err error
	switch {
	case n%41 == 0:
		err = l.list.Clear()
	case n%9 == 0:
		err = l.list.Set([]string{p, p})
	default:
		err = l.list.Add(p)
	}
	if n%2 == 0 {
		err = errors.Join(err, l.brief.Add(p))
	}
	return err
}

func (l *large) changeMaps(n int64, p string) error {
	var err error
	if n%53 == 0 {
		err = l.table.All(func(k, _ string) error { return l.table.Delete(k) })
	}
	if n%5 == 1 {
		err = errors.Join(err, l.recent.Delete(n%7))
	}
	return errors.Join(err, l.table.Delete(fmt.Sprint(n%12)), l.table.Put(fmt.Sprint(n%13), p), l.recent.Put(n%9, p))
}

func (l *large) OnTimer(c *operators.ProcessContext, t operators.Timer, emit func(datum) error) error {
	s, _, err := l.slots.Get(t.Time)
	if err := errors.Join(err, l.slots.Delete(t.Time)); err != nil {
		return err
	}
	return emit(datum{"slot " + c.Key(), hashOf(s), 0})
}

func hashOf(texts ...string) int64 {
	h := fnv.New32a()
	for _, s := range texts {
		h.Write([]byte(s + "|"))
	}
	return int64(h.Sum32())
}

// largeLoop is the same for one key as a plain loop.
type largeLoop struct {
	list, brief             []string
	table                   map[string]string
	recent, slots           map[int64]string
	briefUntil, recentUntil int64
}

func (l *largeLoop) add(d datum) int64 {
	n, p := d.N, longValue(d.N)
	switch {
	case n%41 == 0:
		l.list = nil
	case n%9 == 0:
		l.list = []string{p, p}
	default:
		l.list = append(l.list, p)
	}
	if d.At >= l.briefUntil {
		l.brief = nil
	}
	if n%2 == 0 {
		l.brief, l.briefUntil = append(l.brief, p), d.At+longTTL
	}
	if n%53 == 0 {
		clear(l.table)
	}
	delete(l.table, fmt.Sprint(n%12))
	l.table[fmt.Sprint(n%13)] = p
	if d.At >= l.recentUntil {
		clear(l.recent)
	}
	if n%5 == 1 {
		delete(l.recent, n%7)
	}
	l.recent[n%9], l.recentUntil = p, d.At+longTTL
	l.slots[d.At/longSlot*longSlot+longSlot] += p

	var has []string
	for _, list := range [][]string{l.list, l.brief} {
		for i, v := range list {
			has = append(has, fmt.Sprint(i, "=", v))
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(l.table), func(x, y string) int { return cmp.Or(len(x)-len(y), strings.Compare(x, y)) }) { // as CBOR sorts
		has = append(has, fmt.Sprint(k, "=", l.table[k]))
	}
	for _, k := range slices.Sorted(maps.Keys(l.recent)) {
		has = append(has, fmt.Sprint(k, "=", l.recent[k]))
	}
	return hashOf(has...)
}

// TestWhatIsEvictedComesBackWhateverCrashes: the state of a job is several times what may stay in memory, so that lists, maps and
// what expires of them leave it all the time. It is crashed at a step at random in each run, and goes on from savepoints too.
func TestWhatIsEvictedComesBackWhateverCrashes(t *testing.T) {
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	rnd := rand.New(rand.NewPCG(seed, 1))
	c := jobtest.New(t)
	c.Topic("in", 3)
	c.Topic("out", 2)
	dir, from := t.TempDir(), ""
	loops, want := map[string]*largeLoop{}, map[string][]string{}
	now, n := int64(1_700_000_000_000), int64(0)
	produce := func(count int) {
		var batches [3][]stream.Record
		for range count {
			n, now = n+1, now+rnd.Int64N(20)
			k := rnd.IntN(500)
			d := datum{fmt.Sprint("k", k), n, now}
			if loops[d.Key] == nil {
				loops[d.Key] = &largeLoop{table: map[string]string{}, recent: map[int64]string{}, slots: map[int64]string{}}
			}
			want[d.Key] = append(want[d.Key], strconv.FormatInt(loops[d.Key].add(d), 10))
			batches[k%3] = append(batches[k%3], stream.Record{Key: []byte(d.Key), Value: strconv.AppendInt(nil, n, 10), Timestamp: now})
		}
		for p, records := range batches {
			c.ProduceTo("in", p, records...)
		}
	}
	run := func(count int, opts ...jobtest.Option) {
		start := from
		from = ""
		opts = append(opts, jobtest.Configure(func(o *job.Options) {
			o.Parallelism, o.Start.From = 1+rnd.IntN(3), start
			k := &o.Checkpoint
			k.Interval, k.MaxConcurrent, k.Memory, k.KeyGroups = 20*time.Millisecond, 1+rnd.IntN(3), 16<<20, 16
			k.BaseAfter = checkpoint.Bytes([]int{1, 100_000, 4 << 20}[rnd.IntN(3)])
			k.Storage, k.LocalDir = filepath.Join(dir, "state"), filepath.Join(dir, "local")
		}))
		r := c.Run(largeJob(), opts...)
		produce(count)
		if err := r.WaitCommitted(); errors.Is(err, jobtest.ErrCrashed) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if savepoint := filepath.Join(dir, fmt.Sprint("savepoint-", n)); rnd.IntN(2) == 0 && r.Savepoint(savepoint) == nil {
			from = savepoint
		}
		r.Kill()
	}
	for range 4 {
		steps := jobtest.Steps()
		run(750, jobtest.CrashAt(steps[rnd.IntN(len(steps))], 1+rnd.IntN(12)))
	}
	run(250)
	for p := range 3 { // every timer fires
		c.ProduceTo("in", p, stream.Record{Key: fmt.Append(nil, "end", p), Value: []byte("0"), Timestamp: now + 1_000_000})
	}
	run(0)
	for key, l := range loops {
		for _, at := range slices.Sorted(maps.Keys(l.slots)) {
			want["slot "+key] = append(want["slot "+key], fmt.Sprint(hashOf(l.slots[at])))
		}
	}
	got := c.Read("out").ByKey()
	for p := range 3 {
		delete(got, fmt.Sprint("end", p))
	}
	if err := diff(got, want); err != nil {
		t.Error(err)
	}
}

func largeJob() *job.Graph {
	g := job.New("random")
	in := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}, IdleTimeout: -1, FetchMaxWait: 20 * time.Millisecond}), decodeDatum)
	at := job.Via(in, "time", operators.EventTimeMillis(func(d datum) int64 { return d.At }, 0))
	byKey := job.KeyBy(at, "key", func(d datum) string { return d.Key })
	s := job.Via(byKey, "large", operators.Process(func() operators.Processor[datum, datum] { return new(large) }))
	job.To(s, "out", out("out"), encodeDatum)
	return g
}
