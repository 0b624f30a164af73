package aggregate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/operators"
)

// named is a plan of some of everything, named by its text.
func named(t testing.TB, aggregates []string) *Plan {
	p := plan(t, aggregates...)
	p.Name(aggregates, nil)
	return p
}

// TestOlderAccumulatorsGoOn takes accumulators from set to set of aggregates: those that stay go on like a plan that had them all
// the time, those that come begin anew.
func TestOlderAccumulatorsGoOn(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		schema, encoded := "", []byte(nil)
		acc := Acc{}
		loops := map[string]Acc{} // of each aggregate alone, since it was added
		for version := range 4 {
			var aggregates []string
			for _, i := range rng.Perm(len(everything))[:1+rng.IntN(len(everything))] {
				aggregates = append(aggregates, everything[i])
			}
			p := named(t, aggregates)
			for text := range loops {
				if !strings.Contains("\n"+strings.Join(aggregates, "\n")+"\n", "\n"+text+"\n") {
					delete(loops, text)
				}
			}
			schema = checkpoint.JoinSchemas(schema, p.Schema())
			var codec operators.Codec[Acc] = p
			if schema != p.Schema() {
				var err error
				if codec, err = p.Continue(schema); err != nil {
					t.Fatal(err)
				}
			}
			if version > 0 {
				var err error
				if acc, err = codec.Decode(encoded); err != nil {
					t.Fatalf("seed %d, version %d: %v", seed, version, err)
				}
			}
			for range rng.IntN(6) {
				r := randomRow(rng)
				acc = add(t, p, acc, r)
				for _, text := range aggregates {
					loops[text] = add(t, plan(t, text), loops[text], r)
				}
			}
			var want []string
			for _, text := range aggregates {
				want = append(want, results(plan(t, text), loops[text]))
			}
			if got := results(p, acc); got != strings.Join(want, " ") {
				t.Fatalf("seed %d, version %d: %s:\ngot  %s\nwant %s", seed, version, schema, got, strings.Join(want, " "))
			}
			// An accumulator need not be written by every version.
			if version == 0 || rng.IntN(3) > 0 {
				var err error
				if encoded, err = codec.Append(nil, acc); err != nil {
					t.Fatal(err)
				}
				continue
			}
			break
		}
	}
}

func TestALaterSetOfAggregatesIsMarked(t *testing.T) {
	first := named(t, []string{"count()"})
	p := named(t, []string{"count()", "sum(i)"})
	codec, err := p.Continue(checkpoint.JoinSchemas(first.Schema(), p.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := codec.Append(nil, add(t, p, Acc{}, record(3, nil, nil, nil, nil, nil)))
	if got := fmt.Sprintf("%x", b); got != "8000"+"01"+"03"+"01"+"06" {
		t.Errorf("got %s", got)
	}
	for n := range b {
		if _, err := codec.Decode(b[:n]); err == nil && n != 0 {
			t.Errorf("the first %d bytes were taken", n)
		}
	}
	if _, err := codec.Decode([]byte{0x80, 0x00, 0x02, 0x00}); err == nil {
		t.Error("a set that there is not was taken")
	}
	if _, err := p.Continue(`columns {a "frobnicate(i: int)"} {b "count()", c "sum(i: int)"}`); err == nil || !strings.Contains(err.Error(), `unknown aggregate "frobnicate(i: int)"`) {
		t.Errorf("got %v", err)
	}
}
