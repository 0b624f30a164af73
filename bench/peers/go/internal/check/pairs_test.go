package check

import (
	"math/rand/v2"
	"testing"
)

func TestPairsAreThoseOfALoopOverAll(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var list []timed
		for range rnd.IntN(60) {
			list = append(list, timed{rnd.Int64N(400) * 500, 1 + rnd.Int64N(4000)})
		}
		var want userPairs
		for _, a := range list {
			for _, b := range list {
				if a.amount > 2000 && b.amount <= 2000 && b.ts >= a.ts && b.ts <= a.ts+60_000 {
					want.add(7, a.amount, b.amount, a.ts, b.ts)
				}
			}
		}
		if got := pairsOf(7, list); got != want {
			t.Fatalf("%+v, want %+v: %v", got, want, list)
		}
	}
}

func TestASumTellsPairsApart(t *testing.T) {
	sum := func(pairs ...[4]int64) (p userPairs) {
		for _, v := range pairs {
			p.add(7, v[0], v[1], v[2], v[3])
		}
		return p
	}
	one, two := [4]int64{2100, 100, 5, 9}, [4]int64{2200, 200, 5, 9}
	if sum(one, two) != sum(two, one) {
		t.Error("the order counts")
	}
	for _, other := range []userPairs{sum(one, one), sum(two, two), sum([4]int64{2100, 200, 5, 9}, [4]int64{2200, 100, 5, 9}), sum(one, [4]int64{2200, 200, 9, 5})} {
		if other == sum(one, two) {
			t.Errorf("%+v is of other pairs", other)
		}
	}
}

func TestAmountsAreReadAsTheProgramsWriteThem(t *testing.T) {
	for text, want := range map[string]int64{
		`{"user":"u1","a":20.01,"b":3,"ts_a":5}`: 2001, `{"a":20}`: 2000, `{"a":20.0,"b":1}`: 2000, `{"a":0.29}`: 29, `{"a":1.0E1}`: 1000,
	} {
		if got, ok := cents([]byte(text), "a"); !ok || got != want {
			t.Errorf("%s: %d, %t; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{`{"b":1}`, `{"a":"x"}`, `{"a":1`} {
		if _, ok := cents([]byte(text), "a"); ok {
			t.Errorf("%s has an amount", text)
		}
	}
}
