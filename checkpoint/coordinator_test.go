package checkpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/weirstream/weir/stream"
)

// TestCoordinator runs the transcripts of testdata/coordinator. "new" makes a coordinator; "run" gives it one input a
// line, with the time in milliseconds in front, and prints each line with the decisions below it, and when it wants to
// be woken next.
func TestCoordinator(t *testing.T) {
	datadriven.Walk(t, "testdata/coordinator", func(t *testing.T, path string) {
		var c *Coordinator
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				c = newTestCoordinator(t, d)
				return ""
			case "run":
				var b strings.Builder
				for line := range strings.Lines(d.Input) {
					line = strings.TrimSpace(line)
					fmt.Fprintln(&b, line)
					for _, decision := range input(t, c, line) {
						fmt.Fprintln(&b, "   ", decision)
					}
				}
				if at, ok := c.NextWake(); ok {
					fmt.Fprintf(&b, "(wakes at %d)\n", at.Sub(epoch).Milliseconds())
				}
				return b.String()
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

var epoch = time.Unix(1_700_000_000, 0)

func newTestCoordinator(t *testing.T, d *datadriven.TestData) *Coordinator {
	o := Options{Interval: 100 * time.Millisecond, Timeout: 30 * time.Second}
	var pause int
	var last int64
	d.MaybeScanArgs(t, "concurrent", &o.MaxConcurrent)
	d.MaybeScanArgs(t, "pause", &pause)
	d.MaybeScanArgs(t, "last", &last)
	o.MinPause = time.Duration(pause) * time.Millisecond
	o.EnsureDefaults()
	return NewCoordinator(o, []stream.SubtaskID{{Operator: "views"}, {Operator: "count"}, {Operator: "out"}}, last)
}

func input(t *testing.T, c *Coordinator, line string) []Decision {
	f := strings.Fields(line)
	ms, err := strconv.Atoi(f[0])
	if err != nil {
		t.Fatal(err)
	}
	now := epoch.Add(time.Duration(ms) * time.Millisecond)
	id := func(i int) int64 {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch f[1] {
	case "start":
		return c.Start(now)
	case "tick":
		return c.Tick(now)
	case "activity":
		c.Activity()
		return c.Tick(now)
	case "ack":
		if f[3] == "all" {
			var out []Decision
			for _, s := range []string{"views", "count", "out"} {
				out = append(out, c.Ack(stream.SubtaskID{Operator: s}, id(2))...)
			}
			return out
		}
		return c.Ack(stream.SubtaskID{Operator: f[3]}, id(2))
	case "finished":
		return c.Finished(stream.SubtaskID{Operator: f[2]})
	case "waits":
		c.Waits(stream.SubtaskID{Operator: f[3]}, id(2), strings.Join(f[4:], " "))
		return nil
	case "persisted":
		return c.Persisted(id(2))
	case "prepared":
		return c.Prepared(id(2))
	case "committed":
		return c.Committed(id(2), now)
	case "failed":
		return c.Failed(id(2), errors.New(strings.Join(f[3:], " ")))
	case "savepoint":
		return c.Savepoint(f[2], now)
	case "stop":
		return c.Stop(now)
	case "record":
		return c.Record(now)
	case "end":
		return c.EndOfInput(now)
	case "last-savepoint":
		c.LastSavepoint(f[2])
		return nil
	case "resume":
		if !c.Resume(now) {
			t.Log("nothing to go on with")
		}
		return nil
	}
	t.Fatalf("unknown input %q", line)
	return nil
}

// Whatever the order in which the steps report: IDs are dense, n is committed after n-1, at most max_concurrent are in
// flight, each commit is asked for once, and a job that is stopped ends with its last checkpoint committed.
func TestCoordinatorKeepsTheRulesInEveryOrder(t *testing.T) {
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		o := Options{Interval: time.Second, MinPause: time.Duration(rnd.IntN(2)) * 500 * time.Millisecond, MaxConcurrent: 1 + rnd.IntN(3)}
		o.EnsureDefaults()
		o.Timeout = time.Hour
		subtasks := []stream.SubtaskID{{Operator: "a"}, {Operator: "b"}, {Operator: "b", Index: 1}}
		now := epoch
		last := int64(rnd.IntN(10))
		c := NewCoordinator(o, subtasks, last)
		var todo []func() []Decision // what the runtime still has to report
		triggered, committed, done := last+1, last, false
		var handle func([]Decision)
		handle = func(ds []Decision) {
			for _, d := range ds {
				n := d.Checkpoint
				switch d.Kind {
				case DecideTrigger:
					triggered++
					if n != triggered || d.Slot != int(n%4) || int(n-committed) > o.MaxConcurrent {
						t.Fatalf("seed %d: %v with %d committed", seed, d, committed)
					}
					for _, s := range subtasks {
						todo = append(todo, func() []Decision { return c.Ack(s, n) })
					}
				case DecidePersist:
					todo = append(todo, func() []Decision { return c.Persisted(n) })
				case DecidePrepare:
					todo = append(todo, func() []Decision { return c.Prepared(n) })
				case DecideCommit:
					if n != committed+1 {
						t.Fatalf("seed %d: %v with %d committed", seed, d, committed)
					}
					todo = append(todo, func() []Decision { committed = n; return c.Committed(n, now) })
				case DecideAbort, DecideExpire:
					t.Fatalf("seed %d: %v", seed, d)
				case DecideDone:
					done = true
				}
			}
		}
		handle(c.Start(now))
		for i := 0; !done; i++ {
			next := c.NextTrigger()
			now = now.Add(100 * time.Millisecond)
			c.Activity()
			before := triggered
			if handle(c.Tick(now)); triggered > before && now.Before(next) {
				t.Fatalf("seed %d: triggered at %s, before %s", seed, now, next)
			}
			if next.IsZero() != (committed <= last+1 || i > 100) { // from then on it is being stopped
				t.Fatalf("seed %d: the next trigger is at %s, with %d committed", seed, next, committed)
			}
			if i == 100 {
				handle(c.Stop(now))
			}
			if len(todo) > 0 {
				k := rnd.IntN(len(todo))
				report := todo[k]
				todo = append(todo[:k], todo[k+1:]...)
				handle(report())
			}
		}
		if committed != triggered || committed < last+5 {
			t.Fatalf("seed %d: triggered %d, committed %d", seed, triggered, committed)
		}
	}
}
