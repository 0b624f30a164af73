package operators_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

const second = time.Second

type sided struct {
	key, value string
	ts         int64
	late       bool
}

// A join beside a loop over all pairs: with events out of order and late, several at one time, evicted, and restored at another
// parallelism.
func TestAnIntervalJoinFindsEachPairOnce(t *testing.T) {
	for i, c := range []struct {
		lower, upper, lateness time.Duration
	}{
		{0, 10 * second, 0}, {-10 * second, 0, 0}, {-3 * second, 2 * second, 0}, {0, 0, 0}, {4 * second, 6 * second, 0},
		{-6 * second, -4 * second, 0}, {-time.Millisecond, 5 * second, 3 * second}, {4 * second, 6 * second, 9 * second},
	} {
		t.Run(fmt.Sprintf("%s to %s, %s late", c.lower, c.upper, c.lateness), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(11, uint64(i)))
			lateA, lateB := operators.Tag[string]{Name: "late a"}, operators.Tag[string]{Name: "late b"}
			sideA, sideB := operatortest.NewSide(lateA), operatortest.NewSide(lateB)
			spec := operators.IntervalJoin(operators.Between(c.lower, c.upper), func(p operators.Pair[string, string]) (string, error) {
				return fmt.Sprintf("%s %s@%d %s@%d", p.Key, p.A, p.TimeA, p.B, p.TimeB), nil
			}, operators.JoinOptions[string, string]{AllowedLateness: c.lateness, LateA: lateA, LateB: lateB})
			h := operatortest.New2(t, spec, operatortest.Parallelism(2), sideA, sideB)

			var as, bs []sided
			var got, late []string
			watermark, most := int64(stream.MinTime), 0
			collect := func() {
				for _, ev := range h.Output() {
					got = append(got, fmt.Sprintf("%s at %d", ev.Value, ev.Timestamp))
					if string(ev.Key) != ev.Value[:1] {
						t.Fatalf("%q has the key %q", ev.Value, ev.Key)
					}
				}
				for _, side := range []*operatortest.Side[string]{sideA, sideB} {
					for _, ev := range side.Output() {
						late = append(late, ev.Value)
					}
				}
			}
			for n := range 3000 {
				now := int64(n) * 200
				switch r := rnd.IntN(60); {
				case r < 4 && now > 5000:
					watermark = max(watermark, now-5000)
					h.Watermark(watermark)
				case r == 4:
					h.Evict()
				case r == 5:
					collect()
					h = operatortest.Restore2(t, spec, h.Snapshot(), operatortest.Parallelism(1+rnd.IntN(3)), sideA, sideB)
					h.Watermark(watermark)
				default:
					ev := sided{key: string(rune('a' + rnd.IntN(3))), value: fmt.Sprint(n), ts: (now - rnd.Int64N(9000)) / 100 * 100}
					ev.late = watermark != stream.MinTime && ev.ts+c.lateness.Milliseconds() < watermark
					if rnd.IntN(2) == 0 {
						as = append(as, ev)
						h.ProcessA(ev.key, ev.value, ev.ts)
					} else {
						bs = append(bs, ev)
						h.ProcessB(ev.key, ev.value, ev.ts)
					}
				}
				most = max(most, h.Entries())
			}
			h.Watermark(stream.MaxTime)
			collect()

			var want, wantLate []string
			for _, a := range as {
				for _, b := range bs {
					if d := b.ts - a.ts; a.key == b.key && d >= c.lower.Milliseconds() && d <= c.upper.Milliseconds() && !a.late && !b.late {
						want = append(want, fmt.Sprintf("%s %s@%d %s@%d at %d", a.key, a.value, a.ts, b.value, b.ts, max(a.ts, b.ts)))
					}
				}
			}
			for _, ev := range slices.Concat(as, bs) {
				if ev.late {
					wantLate = append(wantLate, ev.value)
				}
			}
			for _, list := range [][]string{got, want, late, wantLate} {
				slices.Sort(list)
			}
			if len(want) == 0 || len(wantLate) == 0 && c.lateness < 9*second {
				t.Fatalf("%d pairs and %d late events: the test asks nothing", len(want), len(wantLate))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d pairs, want %d", len(got), len(want))
			}
			if !slices.Equal(late, wantLate) {
				t.Errorf("late: %v, want %v", late, wantLate)
			}
			if h.Entries() > 0 {
				t.Errorf("%d entries are left at the end", h.Entries())
			}
			// 60 s of time are 300 events; what is kept is of the interval, the lateness and what the watermark is behind.
			if most > 400 {
				t.Errorf("%d entries at one time: what cannot have a partner any more is kept", most)
			}
		})
	}
}

// A job may go on with another interval: what is left of the old one still goes.
func TestAJoinGoesOnWithAnotherInterval(t *testing.T) {
	spec := func(upper time.Duration) operators.Spec2[string, string, string] {
		return operators.IntervalJoin(operators.Between(0, upper), func(p operators.Pair[string, string]) (string, error) { return p.A + p.B, nil },
			operators.JoinOptions[string, string]{})
	}
	for _, upper := range []time.Duration{second, 100 * second} {
		h := operatortest.New2(t, spec(10*second))
		h.ProcessA("k", "a", 0)
		h.ProcessA("k", "b", 9000)
		h = operatortest.Restore2(t, spec(upper), h.Snapshot())
		h.ProcessB("k", "c", 9500)
		want := []string{"bc"}
		if upper > 10*second {
			want = []string{"ac", "bc"}
		}
		if got := h.Values(); !slices.Equal(got, want) {
			t.Errorf("at %s: %q, want %q", upper, got, want)
		}
		h.Watermark(9000 + upper.Milliseconds()*9/8 + 1250)
		if n := h.Entries(); n > 0 {
			t.Errorf("at %s: %d entries are left", upper, n)
		}
	}
}

// wasMap has the states that a join had once: maps, and timers.
type wasMap struct{ never[string, string, string] }

func (*wasMap) Open(ctx *operators.Context) error {
	events, err := operators.NewMap[int64, string](ctx, "a", nil, nil)
	if err == nil {
		ctx.SetKey(stream.KeyGroupOf([]byte("k"), stream.DefaultKeyGroups), "k")
		err = events.Put(1, "x")
	}
	return err
}

type never[A, B, Out any] struct{}

func (never[A, B, Out]) ProcessA(*operators.ProcessContext, *stream.Event[A], func(Out) error) error {
	return nil
}
func (never[A, B, Out]) ProcessB(*operators.ProcessContext, *stream.Event[B], func(Out) error) error {
	return nil
}
func (never[A, B, Out]) OnTimer(*operators.ProcessContext, operators.Timer, func(Out) error) error {
	return nil
}

func TestAJoinRefusesAStateOfAnotherKind(t *testing.T) {
	snap := operatortest.New2(t, operators.Connect(func() operators.Processor2[string, string, string] { return new(wasMap) })).Snapshot()
	defer func() {
		if err := fmt.Sprint(recover()); !strings.Contains(err, `state "a" of operator "op" was`) {
			t.Errorf("error %s", err)
		}
	}()
	operatortest.Restore2(nil, operators.IntervalJoin(operators.Between(0, second), func(operators.Pair[string, string]) (string, error) { return "", nil },
		operators.JoinOptions[string, string]{}), snap)
}

func TestBadJoinsAreRefused(t *testing.T) {
	join := func(operators.Pair[int, int]) (int, error) { return 0, nil }
	for _, c := range []struct {
		between operators.Interval
		join    func(operators.Pair[int, int]) (int, error)
		late    time.Duration
		want    string
	}{
		{operators.Interval{}, join, 0, "no interval: use Between"},
		{operators.Between(second, -second), join, 0, "between 1s and -1s is nothing"},
		{operators.Between(0, time.Microsecond), join, 0, "not whole milliseconds"},
		{operators.Between(0, second), join, -second, "allowed lateness -1s is negative"},
		{operators.Between(0, second), nil, 0, "interval_join"},
	} {
		err := operators.IntervalJoin(c.between, c.join, operators.JoinOptions[int, int]{AllowedLateness: c.late}).Err
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	if err := operators.IntervalJoin(operators.Between(0, 0), join, operators.JoinOptions[int, int]{}).Err; err != nil {
		t.Error(err)
	}
}
