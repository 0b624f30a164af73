package yamljob

import (
	"fmt"
	"log/slog"
	"testing"
	"unsafe"

	"github.com/weirstream/weir/job/yamljob/internal/aggregate"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// BenchmarkCountAndSum is what examples/clicks.yaml does with a record, in one goroutine and without Kafka: JSON in, key,
// running count and sum (20,000 users, a checkpoint each 100,000 records), JSON out.
func BenchmarkCountAndSum(b *testing.B) {
	const users = 20_000
	records := make([]stream.Record, 100_000)
	for i := range records {
		user := fmt.Sprintf("u%07d", (i*7919)%users)
		records[i] = stream.Record{Key: []byte(user), Value: fmt.Appendf(nil,
			`{"user":"%s","page":"/p/%d","ts":%d,"amount":%.2f,"country":"DE","ref":"%024x"}`, user, i%1000, 1795977600000+i, float64(1+i%4000)/100, i)}
	}
	wants := new(row.Wants)
	schema := row.SourceSchema([]row.Field{{Name: "user", Kind: row.KindString}, {Name: "page", Kind: row.KindString},
		{Name: "amount", Kind: row.KindFloat}, {Name: "ts", Kind: row.KindTimestamp}}, wants)
	decoder := row.NewJSONDecoder(schema, wants)
	user, _ := expression.Compile("user", schema)
	var calls []*expression.Call
	for _, text := range []string{"count()", "sum(amount)"} {
		c, _ := expression.CompileAggregate(text, schema)
		calls = append(calls, c)
	}
	key := []row.Field{{Name: "user", Kind: row.KindString}}
	op := (&aggregation{key: key, calls: len(calls)}).spec(aggregate.New(calls)).New()
	ctx := &operators.Context{Parallelism: 1, KeyGroups: 128, Groups: stream.RangeOf(0, 1, 128), Store: &operatortest.Store{}, Logger: slog.New(slog.DiscardHandler)}
	if err := op.Open(ctx); err != nil {
		b.Fatal(err)
	}
	enc := &encoder{raw: -1, json: row.NewEncoder(row.NewSchema([]row.Field{key[0], {Name: "clicks", Kind: row.KindInt}, {Name: "total", Kind: row.KindFloat}}), false)}
	keys := &keyer{exprs: []*expression.Expr{user}}
	var out stream.Record
	buf := make([]byte, 0, 256)
	bytes := 0
	emit := stream.Emit[row.Row](func(ev *stream.Event[row.Row]) error {
		out = stream.Record{Key: ev.Key, Value: buf}
		err := enc.encode(ev.Value, &out)
		bytes += len(out.Value)
		return err
	})

	b.ReportAllocs()
	i, checkpoint := 0, int64(0)
	var ev stream.Event[row.Row]
	for b.Loop() {
		if i == len(records) {
			i = 0
			checkpoint++
			for _, t := range ctx.Tables() {
				t.Freeze(checkpoint)
			}
		}
		r, err := decoder.Decode(&records[i])
		if err != nil {
			b.Fatal(err)
		}
		user := keys.key(r)
		k := unsafe.Slice(unsafe.StringData(user), len(user))
		ev = stream.Event[row.Row]{Value: r, Key: k, Group: stream.KeyGroupOf(k, 128)}
		if err := op.Process(&ev, emit); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
