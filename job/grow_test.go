package job_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// Three versions of what a job keeps for each key.
type (
	tally struct {
		N     int32
		Least float32 `cbor:"least"`
		Note  string
	}
	// renamed is tally under another name and grown.
	renamed struct {
		N     int64
		Least *float64 `cbor:"least"`
		Since time.Time
	}
	narrowed struct {
		N     string
		Least float32 `cbor:"least"`
		Since time.Time
	}
)

func growing[T any](add func(acc T, v int64) (T, error)) *job.Graph {
	g := job.New("growing")
	in := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), decodeVisit)
	byUser := job.KeyBy(in, "by-user", func(v visit) string { return v.User })
	totals := job.Via(byUser, "totals", operators.Aggregate(operators.Aggregator[visit, T, string]{
		Add: func(acc T, v visit) (T, error) { return add(acc, v.N) },
		Result: func(_ operators.Pane, acc T) (string, error) {
			return strings.Trim(fmt.Sprintf("%+v", show(acc)), "{}"), nil
		},
	}))
	job.To(totals, "out", out("out"), func(s string, r *stream.Record) error {
		r.Value = append(r.Value, s...)
		return nil
	})
	return g
}

// show has the value of a pointer.
func show(v any) any {
	if r, ok := v.(renamed); ok {
		return fmt.Sprintf("N:%d least:%v Since:%t", r.N, *r.Least, r.Since.IsZero())
	}
	return v
}

// TestATypeInStateGrows starts a job again and again whose type in state has another name, new, wider and removed fields, and
// then one that does not fit: that is said before anything starts.
func TestATypeInStateGrows(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	c.feed("in", 3, 1, 2) // k1
	first := start(t, growing(func(acc tally, v int64) (tally, error) {
		return tally{acc.N + int32(v), float32(v) / 2, "gone"}, nil
	}), o)
	eventually(t, "the first result", func() bool { return c.read("out")["k1"] != nil })
	first.stop()

	c.feed("in", 5, 1, 2)
	least := 0.25
	second := start(t, growing(func(acc renamed, v int64) (renamed, error) {
		if acc.Least == nil || *acc.Least != 1.5 {
			return acc, fmt.Errorf("the field least is lost: %+v", acc)
		}
		return renamed{acc.N + v, &least, acc.Since}, nil
	}), o)
	eventually(t, "the second result", func() bool { return len(c.read("out")["k1"]) == 2 })
	second.stop()
	if got := c.read("out")["k1"]; got[1] != "N:8 least:0.25 Since:true" {
		t.Errorf("got %q", got)
	}

	third := start(t, growing(func(acc narrowed, _ int64) (narrowed, error) { return acc, nil }), o)
	err := <-third.done
	for _, want := range []string{
		`operator "totals": state "accumulator": field N: was int64, is string`,
		`field least: was *float64, is float32: values may not fit`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}

	// The field Note is gone, but values that were not written since have it still: it cannot come back as something else.
	fourth := start(t, growing(func(acc struct {
		N    int64
		Note int
	}, _ int64) (struct {
		N    int64
		Note int
	}, error) {
		return acc, nil
	}), o)
	if err := <-fourth.done; err == nil || !strings.Contains(err.Error(), "field Note: was string, is int64 (it was removed since, but older values have it)") {
		t.Errorf("got %v", err)
	}
}
