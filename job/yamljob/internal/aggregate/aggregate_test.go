package aggregate

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/operators"
)

var _ operators.Codec[Acc] = (*Plan)(nil)

var schema = row.NewSchema([]row.Field{{Name: "i", Kind: row.KindInt}, {Name: "f", Kind: row.KindFloat}, {Name: "s", Kind: row.KindString},
	{Name: "b", Kind: row.KindBool}, {Name: "ts", Kind: row.KindTimestamp}, {Name: "js", Kind: row.KindJSON}})

func plan(t testing.TB, aggregates ...string) *Plan {
	t.Helper()
	var calls []*expression.Call
	for _, text := range aggregates {
		c, errs := expression.CompileAggregate(text, schema)
		if errs != nil {
			t.Fatalf("%s: %v", text, errs[0])
		}
		calls = append(calls, c)
	}
	return New(calls)
}

// record makes a row of values in the order of the schema; nil is null.
func record(values ...any) row.Row {
	r := row.Row{Values: make([]row.Value, len(schema.Fields))}
	for i, v := range values {
		switch v := v.(type) {
		case int:
			r.Values[i] = row.Int(int64(v))
			if schema.Fields[i].Kind == row.KindTimestamp {
				r.Values[i] = row.Timestamp(int64(v))
			}
		case float64:
			r.Values[i] = row.Float(v)
		case string:
			r.Values[i] = row.String(v)
			if schema.Fields[i].Kind == row.KindJSON {
				r.Values[i] = row.JSON(v)
			}
		case bool:
			r.Values[i] = row.Bool(v)
		}
	}
	return r
}

func results(p *Plan, acc Acc) string {
	values := make([]row.Value, len(p.steps))
	p.Results(acc, values)
	return texts(values)
}

func texts(values []row.Value) string {
	var s []string
	for _, v := range values {
		s = append(s, string(row.AppendValue(nil, v)))
	}
	return strings.Join(s, " ")
}

func add(t testing.TB, p *Plan, acc Acc, rows ...row.Row) Acc {
	t.Helper()
	for _, r := range rows {
		var err error
		if acc, err = p.Add(acc, r); err != nil {
			t.Fatal(err)
		}
	}
	return acc
}

var everything = []string{"count()", "count(i)", "sum(i)", "sum(f)", "avg(i)", "avg(f)", "min(i)", "max(i)", "min(f)", "max(f)", "min(s)",
	"max(s)", "min(ts)", "max(ts)", "first(i)", "last(i)", "first(s)", "last(s)", "first(b)", "last(b)", "first(js)", "last(js)",
	"count_distinct(i)", "count_distinct(s)", "count_distinct(f)", "count_if(i > 3)"}

func TestAggregates(t *testing.T) {
	p := plan(t, everything...)
	nothing := "0 0" + strings.Repeat(" null", 20) + " 0 0 0 0"
	if got := results(p, Acc{}); got != nothing {
		t.Errorf("of nothing: %s", got)
	}
	acc := add(t, p, Acc{}, record(nil, nil, nil, nil, nil, nil))
	if got := results(p, acc); got != "1"+nothing[1:] {
		t.Errorf("of nulls: %s", got)
	}
	acc = add(t, p, acc,
		record(3, 1.5, "b", true, 1000, `{"n":1}`),
		record(-4, nil, "a", nil, 500, nil),
		record(nil, -0.5, nil, false, nil, `[2]`),
		record(3, 0.0, "a", nil, 500, nil),
		record(8, math.Copysign(0, -1), "c", nil, 2000, nil))
	want := `6 4 10 1 2.5 0.25 -4 8 -0.5 1.5 "a" "c" "1970-01-01T00:00:00.500Z" "1970-01-01T00:00:02.000Z" 3 8 "b" "c" true false {"n":1} [2] 3 3 3 1`
	if got := results(p, acc); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAccumulatorNeverChangesBehindACheckpoint(t *testing.T) {
	p := plan(t, everything...)
	rng := rand.New(rand.NewPCG(1, 2))
	var acc Acc
	type version struct {
		acc     Acc
		encoded string
	}
	var versions []version
	for range 200 {
		acc = add(t, p, acc, randomRow(rng))
		b, err := p.Append(nil, acc)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, version{acc, string(b)})
	}
	for i, v := range versions {
		if b, _ := p.Append(nil, v.acc); string(b) != v.encoded {
			t.Fatalf("version %d changed", i)
		}
	}
}

func TestDecodedAccumulatorGoesOnLikeTheOriginal(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, aggregates := range [][]string{everything, {"count()", "sum(f)"}, {"max(s)"}, {"count_distinct(s)"}, {"avg(f)", "avg(i)", "count()"}} {
		p := plan(t, aggregates...)
		var acc, copied Acc
		for i := range 100 {
			r := randomRow(rng)
			acc, copied = add(t, p, acc, r), add(t, p, copied, r)
			b, err := p.Append(nil, copied)
			if err != nil {
				t.Fatal(err)
			}
			if copied, err = p.Decode(b); err != nil {
				t.Fatal(err)
			}
			if got, want := results(p, copied), results(p, acc); got != want {
				t.Fatalf("%v after %d: got %s, want %s", aggregates, i, got, want)
			}
			if len(b) > 0 {
				if _, err := p.Decode(b[:len(b)-1]); err == nil {
					t.Fatalf("%v: a cut accumulator was taken", aggregates)
				}
			}
		}
	}
}

// Sessions merge from parts that were cut anywhere.
func TestMergeIsTheSameAsOneRun(t *testing.T) {
	exact := slices.DeleteFunc(slices.Clone(everything), func(s string) bool { return s == "sum(f)" || s == "avg(f)" })
	p := plan(t, exact...)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		rows := make([]row.Row, rng.IntN(12))
		for i := range rows {
			rows[i] = randomRow(rng)
		}
		cut := rng.IntN(len(rows) + 1)
		a, b := add(t, p, Acc{}, rows[:cut]...), add(t, p, Acc{}, rows[cut:]...)
		merged, err := p.Merge(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := results(p, merged), results(p, add(t, p, Acc{}, rows...)); got != want {
			t.Fatalf("cut at %d of %d: got %s, want %s", cut, len(rows), got, want)
		}
	}
}

func randomRow(rng *rand.Rand) row.Row {
	maybe := func(v any) any {
		if rng.IntN(4) == 0 {
			return nil
		}
		return v
	}
	text := fmt.Sprint("s", rng.IntN(20))
	return record(maybe(rng.IntN(20)-10), maybe(float64(rng.IntN(100))/8), maybe(text), maybe(rng.IntN(2) == 0), maybe(rng.IntN(1000)),
		maybe(fmt.Sprintf(`{"n":%d}`, rng.IntN(10))))
}

func TestSumOfFloatsIsCompensated(t *testing.T) {
	p := plan(t, "sum(f)", "avg(f)")
	var acc Acc
	exact := new(big.Float).SetPrec(2000)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		x := (rng.Float64() - 0.5) * math.Pow(10, float64(rng.IntN(20)))
		acc = add(t, p, acc, record(nil, x))
		exact.Add(exact, big.NewFloat(x))
	}
	values := make([]row.Value, 2)
	p.Results(acc, values)
	want, _ := exact.Float64()
	if got := values[0].Float(); math.Abs(got-want) > math.Abs(want)*1e-15 {
		t.Errorf("sum is %v, want %v", got, want)
	}
	acc = add(t, p, acc, record(nil, math.Inf(1)))
	if p.Results(acc, values); !math.IsInf(values[0].Float(), 1) {
		t.Errorf("sum with an infinity is %v", values[0].Float())
	}
}

func TestSumOfIntsFailsOnOverflow(t *testing.T) {
	p := plan(t, "sum(i)")
	acc := add(t, p, Acc{}, record(math.MaxInt64-1), record(1))
	if got := results(p, acc); got != "9223372036854775807" {
		t.Errorf("got %s", got)
	}
	want := "sum(i): integer overflow: sum float(i) instead"
	if _, err := p.Add(acc, record(1)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := p.Merge(acc, acc); err == nil || err.Error() != want {
		t.Errorf("merge: got %v, want %s", err, want)
	}
	if _, err := plan(t, "sum(i * 2)").Add(Acc{}, record(math.MaxInt64)); err == nil || err.Error() != "i * 2: integer overflow" {
		t.Errorf("argument: got %v", err)
	}
}

// The bytes and the type are the format: state written by one version is read by the next.
func TestEncodedFormIsFrozen(t *testing.T) {
	p := plan(t, "count()", "sum(i)", "sum(f)", "avg(f)", "max(s)", "min(ts)", "last(b)", "count_distinct(i)", "first(js)")
	acc := add(t, p, Acc{}, record(3, 1.5, "b", true, 1000, nil), record(-4, 2.0, "a", nil, 500, nil))
	b, _ := p.Append(nil, acc)
	got := fmt.Sprintf("%x", b)
	want := "ff01" + "02" + "01" + "400c0000000000000000000000000000" + "400c000000000000000000000000000002" +
		"0162" + "00000000000001f4" + "0000000000000001" + "02" + "080000000000000003" + "08fffffffffffffffc"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := p.Type(), "aggregates count(), sum(i: int), sum(f: float), avg(f: float), max(s: string), min(ts: timestamp), last(b: bool), count_distinct(i: int), first(js: json)"; got != want {
		t.Errorf("type is %s", got)
	}
	if p.Version() != 1 {
		t.Errorf("version is %d", p.Version())
	}
}

func FuzzDecodeNeverPanics(f *testing.F) {
	p := plan(f, everything...)
	b, _ := p.Append(nil, add(f, p, Acc{}, record(3, 1.5, "b", true, 1000, "{}")))
	f.Add(b)
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		acc, err := p.Decode(b)
		if err != nil {
			return
		}
		again, err := p.Append(nil, acc)
		if err != nil {
			t.Fatal(err)
		}
		second, err := p.Decode(again)
		if err != nil || results(p, second) != results(p, acc) && !reflect.DeepEqual(second, acc) {
			t.Fatalf("%x came back as %x (%v)", b, again, err)
		}
	})
}

func BenchmarkCountAndSum(b *testing.B) {
	p := plan(b, "count()", "sum(f)")
	r := record(nil, 1.25)
	var acc Acc
	b.ReportAllocs()
	for b.Loop() {
		acc, _ = p.Add(acc, r)
	}
}
