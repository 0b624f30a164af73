package aggregate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job/yamljob/internal/row"
)

var (
	_ Kernel[Acc]    = (*Plan)(nil)
	_ Kernel[uint64] = One{}
	_ Kernel[FewAcc] = Few{}
)

func TestSizeIsTheSmallestThatFits(t *testing.T) {
	for _, c := range []struct {
		aggregates []string
		want       Size
	}{
		{[]string{"count()"}, SizeOne},
		{[]string{"count(s)"}, SizeOne},
		{[]string{"count_if(i > 3)"}, SizeOne},
		{[]string{"sum(i)"}, SizeFew},
		{[]string{"avg(f)"}, SizeFew},
		{[]string{"count()", "sum(f)"}, SizeFew},
		{[]string{"min(i)", "max(ts)", "last(b)"}, SizeFew},
		{[]string{"count()", "avg(f)"}, SizeAny},
		{[]string{"max(s)"}, SizeAny},
		{[]string{"first(js)"}, SizeAny},
		{[]string{"count_distinct(i)"}, SizeAny},
		{everything, SizeAny},
	} {
		if got := plan(t, c.aggregates...).Size(); got != c.want {
			t.Errorf("%v: size %d, want %d", c.aggregates, got, c.want)
		}
	}
}

// inWords are the aggregates whose accumulators are words, and how many they need.
var inWords = map[string]int{"count()": 1, "count(i)": 1, "count_if(i > 3)": 1, "sum(i)": 1, "sum(f)": 2, "sum(f * 0.1)": 2, "avg(i)": 3, "avg(f)": 3,
	"min(i)": 1, "max(i)": 1, "min(f)": 1, "max(f)": 1, "min(ts)": 1, "max(ts)": 1, "first(i)": 1, "last(i)": 1, "first(b)": 1, "last(b)": 1}

// fewOf draws aggregates that fit into so many words.
func fewOf(rng *rand.Rand, words int) (aggregates []string) {
	var texts []string
	for _, text := range append(everything, "sum(f * 0.1)") {
		if inWords[text] > 0 {
			texts = append(texts, text)
		}
	}
	for _, i := range rng.Perm(len(texts)) {
		if n := inWords[texts[i]]; n <= words {
			words -= n
			aggregates = append(aggregates, texts[i])
		}
	}
	return aggregates
}

// TestSmallKernelsDoWhatThePlanDoes runs random aggregates over random rows in both: results, bytes and merges are the same, and
// either goes on with what the other wrote.
func TestSmallKernelsDoWhatThePlanDoes(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p := plan(t, fewOf(rng, 1+rng.IntN(3))...)
		sameAsPlan(t, rng, p, Kernel[FewAcc](Few{p}))
		for _, text := range []string{"count()", "count(i)", "count_if(i > 3)"} {
			one := plan(t, text)
			sameAsPlan(t, rng, one, Kernel[uint64](One{one}))
		}
	}
}

func sameAsPlan[A any](t *testing.T, rng *rand.Rand, p *Plan, k Kernel[A]) {
	t.Helper()
	if k.Type() != p.Type() || k.Version() != p.Version() || k.Schema() != p.Schema() {
		t.Fatalf("%s: %s, version %d, schema %q", p.Type(), k.Type(), k.Version(), k.Schema())
	}
	var want, wants [2]Acc
	var got, gots [2]A
	check := func(what string, want Acc, got A) {
		t.Helper()
		values := make([]row.Value, len(p.steps))
		k.Results(got, values)
		if got, want := texts(values), results(p, want); got != want {
			t.Fatalf("%s: %s: got %s, want %s", p.Type(), what, got, want)
		}
	}
	for i := range 2 {
		check("nothing", want[i], got[i])
		for range rng.IntN(12) {
			r := randomRow(rng)
			want[i] = add(t, p, want[i], r)
			var err error
			if got[i], err = k.Add(got[i], r); err != nil {
				t.Fatal(err)
			}
			check("added", want[i], got[i])
		}
		a, _ := p.Append(nil, want[i])
		b, _ := k.Append(nil, got[i])
		var err, err2 error
		if wants[i], err = p.Decode(b); err != nil {
			t.Fatal(err)
		}
		if gots[i], err2 = k.Decode(a); err2 != nil {
			t.Fatal(err2)
		}
		check("decoded", wants[i], gots[i])
		check("decoded", want[i], gots[i])
		// A count of 0 has two forms.
		if _, one := any(k).(One); string(a) != string(b) && !(one && want[i].words[0] == 0) {
			t.Fatalf("%s: bytes %x, want %x", p.Type(), b, a)
		}
	}
	merged, err := p.Merge(want[0], want[1])
	if err != nil {
		t.Fatal(err)
	}
	small, err := k.Merge(got[0], gots[1])
	if err != nil {
		t.Fatal(err)
	}
	check("merged", merged, small)
}

func TestSmallKernelsFailAsThePlanDoes(t *testing.T) {
	for _, c := range []struct {
		text string
		size Size
	}{{"sum(i)", SizeFew}, {"min(i * 4611686018427387904)", SizeFew}, {"count(i * 4611686018427387904)", SizeOne}, {"count_if(i * 4611686018427387904 > 0)", SizeOne}} {
		p := plan(t, c.text)
		p.Locate = func(err error) error { return fmt.Errorf("here: %w", err) }
		r := record(1<<62, nil, nil, nil, nil, nil)
		acc, want := p.Add(Acc{}, r)
		if want == nil {
			_, want = p.Add(acc, r)
		}
		var got error
		if c.size == SizeFew {
			var few FewAcc
			if few, got = (Few{p}).Add(few, r); got == nil {
				_, got = Few{p}.Add(few, r)
			}
		} else {
			_, got = One{p}.Add(0, r)
		}
		if p.Size() != c.size || want == nil || got == nil || got.Error() != want.Error() {
			t.Errorf("%s: got %v, want %v", c.text, got, want)
		}
	}
}

// A state may get smaller: aggregates that were texts and sets go, those that stay go on.
func TestSmallKernelsGoOnWithLargerAccumulators(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		stay := fewOf(rng, 1+rng.IntN(3))
		before := append([]string{"max(s)", "count_distinct(i)", "first(js)"}, stay...)
		rng.Shuffle(len(before), func(i, j int) { before[i], before[j] = before[j], before[i] })
		old, now := named(t, before), named(t, stay)
		now.Name(stay, []string{"max(s)", "count_distinct(i)", "first(js)"})
		schema := checkpoint.JoinSchemas(old.Schema(), now.Schema())
		goesOn(t, rng, schema, old, now, Kernel[FewAcc](Few{now}))

		fresh, counts := named(t, []string{"max(s)"}), named(t, []string{"count()"})
		counts.Name([]string{"count()"}, []string{"max(s)"})
		goesOn(t, rng, checkpoint.JoinSchemas(fresh.Schema(), counts.Schema()), fresh, counts, Kernel[uint64](One{counts}))
	}
}

func goesOn[A any](t *testing.T, rng *rand.Rand, schema string, old, now *Plan, k Kernel[A]) {
	t.Helper()
	was := add(t, old, Acc{}, randomRow(rng), randomRow(rng))
	b, _ := old.Append(nil, was)
	plain, err := now.Continue(schema)
	if err != nil {
		t.Fatal(err)
	}
	small, err := k.Continue(schema)
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := small.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r := randomRow(rng)
		want = add(t, now, want, r)
		if got, err = k.Add(got, r); err != nil {
			t.Fatal(err)
		}
		values := make([]row.Value, len(now.steps))
		if k.Results(got, values); texts(values) != results(now, want) {
			t.Fatalf("%s: got %s, want %s", schema, texts(values), results(now, want))
		}
		b1, _ := plain.Append(nil, want)
		b2, _ := small.Append(nil, got)
		if string(b1) != string(b2) {
			t.Fatalf("%s: bytes %x, want %x", schema, b2, b1)
		}
		if got, err = small.Decode(b2); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkCountAndSumInFewWords(b *testing.B) {
	k := Few{plan(b, "count()", "sum(f)")}
	r := record(nil, 1.25)
	var acc FewAcc
	b.ReportAllocs()
	for b.Loop() {
		acc, _ = k.Add(acc, r)
	}
}
