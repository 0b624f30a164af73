package job_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// visit is a record of the jobs whose savepoints are kept.
type visit struct {
	User string
	N    int64
	At   int64 // milliseconds
}

// formatJob is a job whose savepoint is kept in testdata/savepoints: every kind of state is in one of them.
type formatJob struct {
	name    string
	outputs []string
	build   func(in *job.Stream[visit], g *job.Graph)
}

func (f formatJob) graph() *job.Graph {
	g := job.New("kept-" + f.name)
	in := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), decodeVisit)
	timed := job.Via(in, "time", operators.EventTimeMillis(func(v visit) int64 { return v.At }, 0))
	f.build(job.KeyBy(timed, "by-user", func(v visit) string { return v.User }), g)
	return g
}

func decodeVisit(r *stream.Record) (visit, error) {
	n, err := strconv.ParseInt(string(r.Value), 10, 64)
	return visit{string(r.Key), n, r.Timestamp}, err
}

var formatJobs = []formatJob{
	{"running", []string{"count", "reduce", "aggregate"}, func(in *job.Stream[visit], _ *job.Graph) {
		textTo(job.Via(in, "count", operators.Count[visit]()), "count")
		textTo(job.Via(in, "reduce", operators.Reduce(func(a, b visit) visit { return visit{b.User, a.N + b.N, max(a.At, b.At)} })), "reduce")
		textTo(job.Via(in, "aggregate", operators.Aggregate(spread)), "aggregate")
	}},
	{"expiring", []string{"short", "long"}, func(in *job.Stream[visit], _ *job.Graph) {
		textTo(job.Via(in, "short", operators.WithTTL(operators.Count[visit](), operators.TTL{After: 3 * time.Second})), "short")
		textTo(job.Via(in, "long", operators.WithTTL(operators.Aggregate(spread), operators.TTL{After: time.Minute})), "long")
	}},
	{"windows", []string{"tumbling", "hopping", "session"}, func(in *job.Stream[visit], _ *job.Graph) {
		late := operators.WindowOptions[visit]{AllowedLateness: 5 * time.Second}
		textTo(job.Via(in, "tumbling", operators.WindowCount(operators.Tumbling(10*time.Second), late)), "tumbling")
		textTo(job.Via(in, "hopping", operators.WindowAggregate(operators.Hopping(20*time.Second, 10*time.Second), spread, operators.WindowOptions[visit]{})), "hopping")
		textTo(job.Via(in, "session", operators.WindowAggregate(operators.Session(7*time.Second), spread, late)), "session")
	}},
	{"process", []string{"ledger", "join"}, func(in *job.Stream[visit], g *job.Graph) {
		textTo(job.Via(in, "ledger", operators.Process(func() operators.Processor[visit, string] { return new(ledger) })), "ledger")
		right := job.From(g, "right", source.Kafka(source.KafkaOptions{Topics: []string{"right"}}), decodeVisit)
		byUser := job.KeyBy(right, "right-by-user", func(v visit) string { return v.User })
		textTo(job.Connect(in, byUser, "join", operators.Connect(func() operators.Processor2[visit, visit, string] { return new(sideBySide) })), "join")
	}},
}

// textTo writes results as fmt shows them.
func textTo[T any](in *job.Stream[T], topic string) {
	job.To(in, "to-"+topic, sink.Kafka(sink.KafkaOptions{Topic: topic}), func(v T, r *stream.Record) error {
		r.Value = fmt.Appendf(r.Value, "%+v", v)
		return nil
	})
}

// between is an accumulator with fields of several types.
type between struct {
	N     int32
	Least *int64  `cbor:"least,omitempty"`
	Sum   float64 `json:"sum"`
	Users map[string]uint16
	Times []time.Time
}

var spread = operators.Aggregator[visit, between, string]{
	Add: func(acc between, v visit) (between, error) {
		next := between{N: acc.N + 1, Least: acc.Least, Sum: acc.Sum + float64(v.N)/4, Users: map[string]uint16{}, Times: append(acc.Times[:len(acc.Times):len(acc.Times)], time.UnixMilli(v.At).UTC())}
		if acc.Least == nil || v.N < *acc.Least {
			next.Least = &v.N
		}
		for k, n := range acc.Users {
			next.Users[k] = n
		}
		next.Users[v.User]++
		return next, nil
	},
	Merge: func(a, b between) (between, error) {
		next := between{N: a.N + b.N, Least: a.Least, Sum: a.Sum + b.Sum, Users: map[string]uint16{}, Times: append(a.Times[:len(a.Times):len(a.Times)], b.Times...)}
		if *b.Least < *a.Least {
			next.Least = b.Least
		}
		for _, m := range []map[string]uint16{a.Users, b.Users} {
			for k, n := range m {
				next.Users[k] += n
			}
		}
		return next, nil
	},
	Result: func(p operators.Pane, acc between) (string, error) {
		return fmt.Sprintf("%d-%d n=%d least=%d sum=%g users=%v first=%s", p.Start, p.End, acc.N, *acc.Least, acc.Sum, acc.Users, acc.Times[0].Format("15:04:05.000")), nil
	},
}

// ledger has a value, a list, a map and timers.
type ledger struct {
	last *operators.Value[visit]
	all  *operators.List[int64]
	by   *operators.MapState[string, [2]int64]
}

func (l *ledger) Open(ctx *operators.Context) (err error) {
	if l.last, err = operators.NewValue[visit](ctx, "last", nil); err != nil {
		return err
	}
	if l.all, err = operators.NewList[int64](ctx, "all", nil); err != nil {
		return err
	}
	l.by, err = operators.NewMap[string, [2]int64](ctx, "by", nil, nil)
	return err
}

func (l *ledger) Process(c *operators.ProcessContext, ev *stream.Event[visit], emit func(string) error) error {
	last, ok, err := l.last.Get()
	if err != nil {
		return err
	}
	if err := l.last.Put(ev.Value); err != nil {
		return err
	}
	if err := l.all.Add(ev.Value.N); err != nil {
		return err
	}
	parity := []string{"even", "odd"}[ev.Value.N%2]
	sum, _, err := l.by.Get(parity)
	if err != nil {
		return err
	}
	if err := l.by.Put(parity, [2]int64{sum[0] + 1, sum[1] + ev.Value.N}); err != nil {
		return err
	}
	if err := c.SetTimer(ev.Timestamp + 20_000); err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "last=%v,%t all=", last, ok)
	if err := l.all.All(func(_ int, v int64) error { fmt.Fprintf(&out, "%d ", v); return nil }); err != nil {
		return err
	}
	if err := l.by.All(func(k string, v [2]int64) error { fmt.Fprintf(&out, "%s=%v ", k, v); return nil }); err != nil {
		return err
	}
	return emit(out.String())
}

// OnTimer tells nothing of the state: how many events come before a timer fires is not known.
func (l *ledger) OnTimer(_ *operators.ProcessContext, t operators.Timer, emit func(string) error) error {
	return emit(fmt.Sprintf("timer=%d", t.Time))
}

// sideBySide remembers a list of the one side and a value of the other.
type sideBySide struct {
	operators.NoTimers[string]
	left  *operators.List[visit]
	right *operators.Value[float64]
}

func (s *sideBySide) Open(ctx *operators.Context) (err error) {
	if s.left, err = operators.NewList[visit](ctx, "left", nil); err != nil {
		return err
	}
	s.right, err = operators.NewValue[float64](ctx, "right", nil)
	return err
}

func (s *sideBySide) ProcessA(_ *operators.ProcessContext, ev *stream.Event[visit], emit func(string) error) error {
	if err := s.left.Add(ev.Value); err != nil {
		return err
	}
	right, _, err := s.right.Get()
	if err != nil {
		return err
	}
	n, err := s.left.Len()
	if err != nil || right == 0 {
		return err // before the savepoint nothing is written that depends on the order of the sides
	}
	return emit(fmt.Sprintf("left=%d right=%g", n, right))
}

func (s *sideBySide) ProcessB(_ *operators.ProcessContext, ev *stream.Event[visit], _ func(string) error) error {
	sum, _, err := s.right.Get()
	if err != nil {
		return err
	}
	return s.right.Put(sum + float64(ev.Value.N)/2)
}
