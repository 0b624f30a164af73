package expression

import (
	"testing"

	"github.com/weirstream/weir/job/yamljob/internal/row"
)

// A text is refused with a position inside it, or computes values of the kind that was promised.
func FuzzExpressions(f *testing.F) {
	for _, s := range []string{`i + f * 2 > 3 and not b`, `s[1:3] + lower(s) ?? "x"`, `i in [1, 2] or s in ["a"]`, `js.a[0]["b"] == nil ? 1 : nil`,
		`truncate(ts, "1h") - ts`, `if b { i } else { int(f) }`, `i in 1..9`, `s matches "a+"`, `-9223372036854775807 - 1`, `coalesce(i, nil, 2)`,
		`$env["i"] % 0`, `s | upper()`, `let x = 1; x`, `{a: 1}`, `[1][0]`, `i ?. j`, `# > 1`, `all(s, # > 1)`, "\xff", `1 < i < 3`, `::len(s)`} {
		f.Add(s)
	}
	schema := row.SourceSchema([]row.Field{{Name: "i", Kind: row.KindInt}, {Name: "f", Kind: row.KindFloat}, {Name: "s", Kind: row.KindString},
		{Name: "b", Kind: row.KindBool}, {Name: "ts", Kind: row.KindTimestamp}, {Name: "js", Kind: row.KindJSON}}, new(row.Wants))
	full := row.Row{Values: []row.Value{row.Int(-7), row.Float(2.5), row.String("aé"), row.Bool(true), row.Timestamp(1357034400250),
		row.JSON(`{"a":[{"b":1}]}`), row.String("raw"), row.String("k"), row.Timestamp(1), row.String("t"), row.Int(1), row.Int(2), row.JSON("{}")}}
	null := row.Row{Values: make([]row.Value, len(full.Values))}
	f.Fuzz(func(t *testing.T, text string) {
		if _, errs := CompileAggregate(text, schema); len(errs) > 0 && errs[0].Message == "" {
			t.Fatal("a mistake without words")
		}
		e, errs := Compile(text, schema)
		for _, err := range errs {
			if err.Offset < 0 || err.Offset > len(text) || err.Message == "" {
				t.Fatalf("mistake %+v in a text of %d bytes", err, len(text))
			}
		}
		if (e == nil) != (len(errs) > 0) {
			t.Fatalf("%v, %v", e, errs)
		}
		if e == nil {
			return
		}
		for _, r := range []row.Row{full, null} {
			v := e.Eval(r)
			if v.Err() != nil && !e.MayFail {
				t.Fatalf("%q failed: %v", text, v.Err())
			}
			if !v.Missing() && v.Kind() != e.Kind {
				t.Fatalf("%q is %v, not %v", text, v.Kind(), e.Kind)
			}
			if v.Kind() == row.KindTimestamp || v.Kind() == row.KindJSON {
				row.AppendValue(nil, v)
			}
		}
	})
}
