package checkpoint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestSchemas runs testdata/schema. "grows" has two lines, the schema that values were written with and the job's, and shows
// what does not fit; if all fits, what is lost and the schema of the state from then on. "parse" shows the canonical form.
func TestSchemas(t *testing.T) {
	datadriven.Walk(t, "testdata/schema", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				s, err := ParseSchema(d.Input)
				if err != nil {
					return err.Error() + "\n"
				}
				return s.String() + "\n"
			case "grows":
				lines := strings.Split(strings.TrimSpace(d.Input), "\n")
				if len(lines) != 2 {
					d.Fatalf(t, "want two lines")
				}
				was, is := schemaText(t, lines[0]), schemaText(t, lines[1])
				var out strings.Builder
				for _, f := range Grows(was, is) {
					fmt.Fprintln(&out, f)
				}
				if out.Len() > 0 {
					return out.String()
				}
				fmt.Fprintln(&out, "fits")
				for _, f := range Lost(was, is) {
					fmt.Fprintln(&out, "lost:", f)
				}
				joined := JoinSchemas(lines[0], lines[1])
				if joined != lines[1] {
					fmt.Fprintln(&out, "from now on:", joined)
				}
				if f := CheckSchemas(joined, lines[1]); len(f) > 0 {
					fmt.Fprintln(&out, "DOES NOT FIT ITSELF:", f)
				}
				if again := JoinSchemas(joined, lines[1]); again != joined {
					fmt.Fprintln(&out, "AND AFTER A RESTART:", again)
				}
				return out.String()
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func schemaText(t *testing.T, text string) Schema {
	t.Helper()
	s, err := ParseSchema(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAllFindingsOfStatesAreNamed(t *testing.T) {
	was := []Operator{{Name: "count", States: []State{
		{Name: "total", Kind: "value", Type: "cbor:main.Total", Version: 1, Schema: "cbor {n int64, sum float64}"},
		{Name: "seen", Kind: "list", Type: "cbor:int64", Version: 1, Schema: "cbor int64"},
		{Name: "moved", Kind: "value", Type: "cbor:main.Old", Version: 1, Schema: "cbor {a int64}"},
		{Name: "no schema", Kind: "value", Type: "cbor:main.Old", Version: 1},
		{Name: "raised", Kind: "value", Type: "cbor:int64", Version: 1, Schema: "cbor int64"},
	}}}
	is := []Operator{{Name: "count", States: []State{
		{Name: "total", Kind: "value", Type: "cbor:main.Total", Version: 1, Schema: "cbor {n int32, sum string}"},
		{Name: "seen", Kind: "list", Type: "cbor:string", Version: 1, Schema: "cbor string"},
		{Name: "moved", Kind: "value", Type: "cbor:other.New", Version: 1, Schema: "cbor {b int64}"},
		{Name: "no schema", Kind: "value", Type: "cbor:other.New", Version: 1, Schema: "cbor {a int64}"},
		{Name: "raised", Kind: "value", Type: "cbor:int64", Version: 2, Schema: "cbor int64"},
	}}}
	want := []string{
		`operator "count": state "total": field n: was int64, is int32: values may not fit`,
		`operator "count": state "total": field sum: was float64, is string`,
		`operator "count": state "seen": was int64, is string`,
		`operator "count": state "no schema": was of type cbor:main.Old and is of type cbor:other.New`,
		`operator "count": state "raised": was written by version 1 of its codec, the job has version 2`,
	}
	if got := CheckStates(was, is); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lost := []string{`operator "count": state "moved": field a is gone: its data goes when an entry is written next`}
	if got := LostFields(was, is); strings.Join(got, "\n") != strings.Join(lost, "\n") {
		t.Errorf("lost: got %q", got)
	}
}

func FuzzParseSchemaNeverPanics(f *testing.F) {
	for _, seed := range []string{
		"cbor {a int64, -b []string, =1 map[string]#0} in tumbling(1m0s)", "cbor map[int64@1][3]bytes[16]", `cbor (a *self("main.T"))`,
		`columns {clicks "count()"} {-clicks, "a b" "sum(x: int)"} in session`, "json {}", "cbor " + strings.Repeat("[]", 100) + "any",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSchema(text)
		if err != nil {
			return
		}
		canonical := s.String()
		again, err := ParseSchema(canonical)
		if err != nil || again.String() != canonical {
			t.Fatalf("%q is written as %q, which is read as %q (%v)", text, canonical, again.String(), err)
		}
		Grows(s, again)
		Lost(s, again)
		Join(s, again)
	})
}
