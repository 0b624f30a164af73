package job_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// allKinds keeps something of each kind of state for a key: its sum, its last three numbers, how often it had each last digit,
// and a timer at each full 100 ms.
type allKinds struct {
	sum    *operators.Value[int64]
	last   *operators.List[int64]
	digits *operators.MapState[int64, int64]
	fired  *operators.Value[int64]
}

func (a *allKinds) Open(ctx *operators.Context) (err error) {
	if a.sum, err = operators.NewValue[int64](ctx, "sum", nil); err != nil {
		return err
	}
	if a.last, err = operators.NewList[int64](ctx, "last", nil); err != nil {
		return err
	}
	if a.digits, err = operators.NewMap(ctx, "digits", operators.CBOR[int64](1), operators.CBOR[int64](1)); err != nil {
		return err
	}
	a.fired, err = operators.NewValue[int64](ctx, "fired", nil)
	return err
}

func (a *allKinds) Process(c *operators.ProcessContext, ev *stream.Event[keyed], emit func(keyed) error) error {
	n := ev.Value.N
	sum, _, err := a.sum.Get()
	if err != nil {
		return err
	}
	if err := a.sum.Put(sum + n); err != nil {
		return err
	}
	if err := a.last.Add(n); err != nil {
		return err
	}
	var last []int64
	if err := a.last.All(func(_ int, n int64) error { last = append(last, n); return nil }); err != nil {
		return err
	}
	if len(last) > 3 {
		last = last[1:]
		if err := a.last.Set(last); err != nil {
			return err
		}
	}
	digit, _, err := a.digits.Get(n % 10)
	if err != nil {
		return err
	}
	if err := a.digits.Put(n%10, digit+1); err != nil {
		return err
	}
	if err := c.SetTimer(n/100*100 + 100); err != nil {
		return err
	}
	return emit(keyed{ev.Value.Key, (sum+n)*1_000_000 + total(last)*10 + digit})
}

func (a *allKinds) OnTimer(c *operators.ProcessContext, t operators.Timer, emit func(keyed) error) error {
	n, _, err := a.fired.Get()
	if err != nil {
		return err
	}
	if err := a.fired.Put(n + 1); err != nil {
		return err
	}
	return emit(keyed{"timer " + c.Key(), t.Time*1000 + n + 1})
}

// wantKinds is the plain loop of allKinds and of the windows behind it, over the numbers of each key in order.
func wantKinds(input map[string][]int64) map[string][]string {
	out := map[string][]string{}
	for key, numbers := range input {
		var sum int64
		var last []int64
		digits, windows := map[int64]int64{}, map[int64]int64{}
		for _, n := range numbers {
			sum += n
			last = append(last, n)
			last = last[max(0, len(last)-3):]
			out[key] = append(out[key], strconv.FormatInt(sum*1_000_000+total(last)*10+digits[n%10], 10))
			digits[n%10]++
			windows[n/100*100]++
		}
		fired := int64(0)
		for at := int64(0); int(fired) < len(windows); at += 100 {
			if windows[at] > 0 {
				fired++
				out["timer "+key] = append(out["timer "+key], strconv.FormatInt((at+100)*1000+fired, 10))
				out["window "+key] = append(out["window "+key], fmt.Sprint(at*1000+windows[at]))
			}
		}
	}
	return out
}

// kindsJob counts the records that it decodes.
func kindsJob(read *atomic.Int64) *job.Graph {
	g := job.New("sums")
	spec := source.Kafka(source.KafkaOptions{Topics: []string{"in"}, IdleTimeout: -1})
	in := job.From(g, "in", spec, func(r *stream.Record) (keyed, error) {
		read.Add(1)
		return decodeKeyed(r)
	})
	timed := job.Via(in, "time", operators.EventTime(func(k keyed) time.Time { return time.UnixMilli(k.N) }, 0))
	byKey := job.KeyBy(timed, "by-key", func(k keyed) string { return k.Key })
	kinds := job.Via(byKey, "kinds", operators.Process(func() operators.Processor[keyed, keyed] { return new(allKinds) }))
	windows := job.Via(byKey, "windows", operators.WindowCount[keyed](operators.Tumbling(100*time.Millisecond), operators.WindowOptions[keyed]{}))
	counts := job.Via(windows, "counts", mapping(func(c operators.KeyWindowCount) keyed { return keyed{"window " + c.Key, c.Start*1000 + c.Count} }))
	job.To(job.Union("both", kinds, counts), "out", sink.Kafka(sink.KafkaOptions{Topic: "out"}), func(k keyed, r *stream.Record) error {
		r.Key, r.Value = append([]byte(nil), k.Key...), strconv.AppendInt(r.Value, k.N, 10)
		return nil
	})
	return g
}

// C45: parallelism and partitions change between two starts, from a checkpoint after a crash, from the last one of a stop and
// from a savepoint. Values, lists, maps, timers, windows and the event time of each partition go on as if nothing had been;
// what was committed is not read again, so after a stop nothing is.
func TestRescaledJobsAreExact(t *testing.T) {
	for _, path := range []string{"checkpoint after a crash", "stop", "savepoint"} {
		for _, shrink := range []bool{false, true} {
			name := path
			parallelism := []int{1, 4, 3}
			if shrink {
				name, parallelism = path+", the other way", []int{3, 4, 1}
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, "in", "out")
				o := c.options(10 * time.Millisecond)
				input := map[string][]int64{}
				partitions, records, next := 4, int64(0), map[int]int64{}
				// Partition 0 is far ahead of the others, which therefore hold time back: none of their records is late.
				feed := func(n int64) {
					var batch []*kgo.Record
					for p := range partitions {
						for end := next[p] + n + int64(max(0, 1-p))*4*n; next[p] < end; next[p]++ {
							key := fmt.Sprintf("k%d-%d", p, next[p]%7)
							batch = append(batch, &kgo.Record{Topic: "in", Partition: int32(p), Key: []byte(key), Value: strconv.AppendInt(nil, next[p], 10)})
							input[key] = append(input[key], next[p])
							records++
						}
					}
					if err := c.client.ProduceSync(context.Background(), batch...).FirstErr(); err != nil {
						t.Fatal(err)
					}
				}
				var read atomic.Int64
				var committed int64 // records behind which no start reads again
				for i, p := range parallelism {
					if i > 0 { // partitions that are added begin at 0
						partitions++
						next[partitions-1] = next[1] // no event of theirs is behind the others
						if _, err := kadm.NewClient(c.client).UpdatePartitions(context.Background(), partitions, "in"); err != nil {
							t.Fatal(err)
						}
						c.client = c.connect(kgo.RecordPartitioner(kgo.ManualPartitioner())) // the old one knows how many there were
					}
					feed(60)
					o.Parallelism = p
					o.Checkpoint.LocalDir = t.TempDir()
					read.Store(0)
					j := start(t, kindsJob(&read), o)
					eventually(t, "all to be committed", func() bool {
						select {
						case err := <-j.done:
							t.Fatal(err)
						default:
						}
						return j.Ran() && c.committedOffsets() == records
					})
					if got := read.Load(); got != records-committed {
						t.Errorf("parallelism %d read %d records, want the %d that were not committed", p, got, records-committed)
					}
					before := committed
					committed = records
					if i == len(parallelism)-1 {
						if st := j.ask(runtime.StopRequest{Drain: true}); st.Phase != runtime.StopDone || st.Error != "" {
							t.Errorf("%+v", st)
						}
						break
					}
					switch path {
					case "checkpoint after a crash":
						j.kill()
					case "stop": // in the middle of the work
						feed(20)
						j.stop()
						committed = c.committedOffsets()
						if got := read.Load(); got != committed-before {
							t.Errorf("parallelism %d has read %d records, and committed %d", p, got, committed-before)
						}
					case "savepoint":
						dir := filepath.Join(t.TempDir(), "savepoint")
						j.stoppedWith(j.ask(runtime.StopRequest{Savepoint: dir}), dir)
						o.Start = job.Start{From: dir}
						o.Checkpoint.Storage = t.TempDir() // it has all that it needs
					}
				}
				if err := diff(c.read("out"), wantKinds(input)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// committedOffsets is how many records of the input are behind the offsets of the job's group.
func (c *cluster) committedOffsets() (n int64) {
	for _, at := range c.groupOffsets("sums", "in") {
		n += at
	}
	return n
}
