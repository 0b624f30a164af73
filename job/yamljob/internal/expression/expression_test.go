package expression

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/stream"
)

// Transcripts: "row" sets the record, one "name: type" line a field and then its JSON; "eval" has one expression a line
// and answers with its kind and value, or with the position and text of its mistakes; "aggregate" likewise.
func TestExpressions(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var schema *row.Schema
		var rec row.Row
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.SplitSeq(strings.TrimSpace(d.Input), "\n") {
				switch d.Cmd {
				case "row":
					if strings.HasPrefix(line, "{") {
						rec = decode(t, schema, line)
						continue
					}
					schema = newSchema(t, line)
				case "eval":
					out.WriteString(line + "  =>  " + eval(line, schema, rec) + "\n")
				case "aggregate":
					call, errs := CompileAggregate(line, schema)
					if errs != nil {
						out.WriteString(line + "  =>  " + mistakes(errs) + "\n")
						continue
					}
					arg := "nothing"
					if call.Arg != nil {
						arg = call.Arg.Text
					}
					fmt.Fprintf(&out, "%s  =>  %s of %s: %v\n", line, call.Name, arg, call.ResultKind())
				default:
					d.Fatalf(t, "unknown command %s", d.Cmd)
				}
			}
			return out.String()
		})
	})
}

func newSchema(t *testing.T, line string) *row.Schema {
	var fields []row.Field
	for f := range strings.SplitSeq(line, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(f), ": ")
		k, ok := map[string]row.Kind{"int": row.KindInt, "float": row.KindFloat, "string": row.KindString, "bool": row.KindBool,
			"timestamp": row.KindTimestamp, "json": row.KindJSON}[kind]
		if !ok {
			t.Fatalf("bad field %q", f)
		}
		fields = append(fields, row.Field{Name: name, Kind: k})
	}
	return row.SourceSchema(fields, new(row.Wants))
}

func decode(t *testing.T, schema *row.Schema, line string) row.Row {
	r, err := row.NewJSONDecoder(schema, &row.Wants{Raw: true, Meta: true}).Decode(&stream.Record{Value: []byte(line), Key: []byte("k1"), Topic: "views",
		Partition: 3, Offset: 42, Timestamp: 1357034400000, Headers: []stream.Header{{Key: "trace", Value: []byte("t-1")}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func eval(text string, schema *row.Schema, rec row.Row) string {
	e, errs := Compile(text, schema)
	if errs != nil {
		return mistakes(errs)
	}
	v := e.Eval(rec)
	if err := v.Err(); err != nil {
		return "failed: " + err.Error()
	}
	if !v.IsNull() && v.Kind() != e.Kind {
		return fmt.Sprintf("WRONG KIND: said %v, is %v", e.Kind, v.Kind())
	}
	return fmt.Sprintf("%v %s", e.Kind, row.AppendValue(nil, v))
}

func mistakes(errs []*Error) string {
	var s []string
	for _, e := range errs {
		s = append(s, fmt.Sprintf("error at %d: %s", e.Offset, e.Message))
	}
	return strings.Join(s, "; ")
}

func BenchmarkFilter(b *testing.B) {
	schema := row.NewSchema([]row.Field{{Name: "type", Kind: row.KindString}, {Name: "amount", Kind: row.KindFloat}})
	e, errs := Compile(`type == "click" and amount * 1.2 > 10`, schema)
	if errs != nil {
		b.Fatal(errs)
	}
	r := row.Row{Values: []row.Value{row.String("click"), row.Float(12)}}
	b.ReportAllocs()
	for b.Loop() {
		if !e.Eval(r).Bool() {
			b.Fatal("not kept")
		}
	}
}
