package accumulator

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
)

var definitions = []string{
	"count()", "count_if(n > 1: bool)", "sum(n: int)", "sum(x: float)", "avg(x: float)", "min(n: int)", "max(at: timestamp)",
	"first(name: string)", "last(m: json)", `count_distinct(name + ", (": string)`,
}

var values = []Value{
	{Words: []uint64{3}}, {Words: []uint64{1 << 40}}, {Words: []uint64{^uint64(6)}}, {Words: []uint64{math.Float64bits(1.5), 7}},
	{Words: []uint64{math.Float64bits(-2), 0, 300}}, {Words: []uint64{5}}, {Words: []uint64{1767225600000}},
	{Text: "home"}, {Text: `{"a":1}`}, {Elements: []string{"a", "", "b"}},
}

func forms(t *testing.T) (out []Form) {
	t.Helper()
	for _, d := range definitions {
		a, err := Parse(d)
		if err != nil || a.String() != d {
			t.Fatalf("%s is %+v, %v", d, a, err)
		}
		f, err := a.Form()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// What was written is read, with any of the aggregates missing and of any set, and nothing that was cut short is.
func TestWhatIsWrittenIsReadAndWhatIsCutIsNot(t *testing.T) {
	forms := forms(t)
	for _, seen := range []uint64{0, 1, 1 << 9, 1<<10 - 1, 0b1010101010} {
		for _, set := range []uint64{0, 1, 200} {
			b := AppendSeen(AppendSet(nil, set), seen)
			for i, f := range forms {
				if seen&(1<<i) != 0 {
					b = Append(b, f, values[i])
				}
			}
			read := func(b []byte) (got []Value, at uint64, err error) {
				r := NewReader(b)
				at = r.Set()
				has := r.Seen(len(forms))
				for i, f := range forms {
					if has&(1<<i) != 0 {
						v := Value{Words: slices.Repeat([]uint64{0}, f.Words())}
						r.Value(f, &v)
						got = append(got, v)
					}
				}
				return got, at, r.Err()
			}
			got, at, err := read(b)
			if err != nil || at != set {
				t.Fatalf("seen %b of set %d: set %d, %v", seen, set, at, err)
			}
			for i := range forms {
				if seen&(1<<i) == 0 {
					continue
				}
				want := values[i]
				if want.Words == nil {
					want.Words = []uint64{}
				}
				if got[0].Words == nil {
					got[0].Words = []uint64{}
				}
				if !reflect.DeepEqual(got[0], want) {
					t.Errorf("%s: %+v, want %+v", definitions[i], got[0], want)
				}
				got = got[1:]
			}
			for n := range b {
				if _, _, err := read(b[:n]); !errors.Is(err, ErrDamaged) {
					t.Errorf("seen %b of set %d, %d of %d bytes: %v", seen, set, n, len(b), err)
				}
			}
			if _, _, err := read(append(b, 0)); !errors.Is(err, ErrDamaged) {
				t.Errorf("seen %b of set %d, one byte more: %v", seen, set, err)
			}
		}
	}
}

func TestATypeNamesItsDefinitions(t *testing.T) {
	got, ok := OfType(Type(definitions))
	if !ok || !slices.Equal(got, definitions) {
		t.Errorf("%q", got)
	}
	if _, ok := OfType("cbor:int64"); ok {
		t.Error("a type of another codec")
	}
	for _, d := range []string{"median(x: float)", "min(x: null)"} {
		a, err := Parse(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Form(); err == nil {
			t.Errorf("%s has a form", d)
		}
	}
	if _, err := Parse("count"); err == nil {
		t.Error("no parentheses")
	}
}
