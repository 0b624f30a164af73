package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"peers/internal/x"

	"github.com/twmb/franz-go/pkg/kgo"
)

// W7: each record with amount > 20 with those of the same user, with less, whose ts is 0 to 60 s after it. None of the input may be
// later than the bound of 5 s: what a job makes of such records is not said.
const (
	joinWithin = 60_000
	joinBound  = 5_000
)

// userPairs says how many pairs of a user there are, and which: the sum of their hashes. A pair too few, too many or
// twice changes it, the order does not.
type userPairs struct {
	Count int64  `json:"n"`
	Sum   uint64 `json:"sum"`
}

func (p *userPairs) add(user int, a, b, tsA, tsB int64) {
	p.Count++
	h := uint64(user)
	for _, v := range [...]int64{a, b, tsA, tsB} {
		h = mix(h ^ uint64(v))
	}
	p.Sum += h
}

// mix is the finalizer of MurmurHash3 behind a step of SplitMix64.
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// timed is a record of the input: when, and its amount in cents.
type timed struct {
	ts     int64
	amount int64
}

// loadPairs makes the pairs of the input by a loop over it, and caches what it found, by user.
func loadPairs(brokers, in string) ([]userPairs, error) {
	file := PairsFile(in)
	var users []userPairs
	if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &users) == nil && len(users) > 0 {
		return users, nil
	}
	var events [][]timed // by user
	greatest := map[int32]int64{}
	late, bad := 0, 0
	x.Scan(context.Background(), brokers, in, func(r *kgo.Record) {
		ts, user := x.Int(r.Value, "ts"), number(r.Key)
		amount, ok := cents(r.Value, "amount")
		if user < 0 || !ok || ts < 0 {
			bad++
			return
		}
		if m, ok := greatest[r.Partition]; ok && ts < m-joinBound {
			late++
		}
		greatest[r.Partition] = max(greatest[r.Partition], ts)
		events = atUser(events, user)
		events[user] = append(events[user], timed{ts, amount})
	})
	if bad > 0 || late > 0 {
		return nil, fmt.Errorf("the input of w7 has %d records of another form and %d that are late", bad, late)
	}
	users = make([]userPairs, len(events))
	for user, list := range events {
		users[user] = pairsOf(user, list)
	}
	_ = os.MkdirAll("data", 0o755)
	b, err := json.Marshal(users)
	if err != nil {
		return nil, err
	}
	return users, os.WriteFile(file, b, 0o644)
}

// pairsOf makes the pairs of one user, whose events it sorts.
func pairsOf(user int, list []timed) (p userPairs) {
	slices.SortFunc(list, func(a, b timed) int { return cmp.Compare(a.ts, b.ts) })
	first := 0 // of those that are not before a
	for _, a := range list {
		for list[first].ts < a.ts {
			first++
		}
		if a.amount <= 2000 {
			continue
		}
		for _, b := range list[first:] {
			if b.ts > a.ts+joinWithin {
				break
			}
			if b.amount <= 2000 {
				p.add(user, a.amount, b.amount, a.ts, b.ts)
			}
		}
	}
	return p
}

// PairsFile is where the pairs of an input topic are kept.
func PairsFile(in string) string { return "data/" + in + "-pairs.json" }

// checkPairs says whether the output has each pair of the input once, and none else.
func checkPairs(brokers, in, out string) string {
	want, err := loadPairs(brokers, in)
	if err != nil {
		return verdict(false, err.Error())
	}
	var n, pairs int64
	bad := 0
	var got []userPairs
	lso, hw := x.Scan(context.Background(), brokers, out, func(r *kgo.Record) {
		n++
		a, ok1 := cents(r.Value, "a")
		b, ok2 := cents(r.Value, "b")
		user := number(r.Key)
		if !ok1 || !ok2 || user < 0 || !strings.HasPrefix(string(r.Value), `{"user":"`+string(r.Key)+`",`) {
			bad++
			return
		}
		got = atUser(got, user)
		got[user].add(user, a, b, x.Int(r.Value, "ts_a"), x.Int(r.Value, "ts_b"))
	})
	few, many, other, first := 0, 0, 0, ""
	for user := range max(len(want), len(got)) {
		var w, g userPairs
		if user < len(want) {
			w = want[user]
		}
		if user < len(got) {
			g = got[user]
		}
		pairs += w.Count
		switch {
		case g.Count < w.Count:
			few++
		case g.Count > w.Count:
			many++
		case g.Sum != w.Sum:
			other++
		default:
			continue
		}
		if first == "" {
			first = fmt.Sprintf(" first=u%07d:%d-of-%d", user, g.Count, w.Count)
		}
	}
	return verdict(n == pairs && pairs > 0 && bad+few+many+other == 0,
		fmt.Sprintf("out=%d want=%d users-with-too-few=%d too-many=%d others=%d bad=%d%s lso=%d hw=%d", n, pairs, few, many, other, bad, first, lso, hw))
}

// atUser makes a list long enough to have this user.
func atUser[T any](list []T, user int) []T {
	if user >= len(list) {
		list = append(list, make([]T, user+1-len(list))...)
	}
	return list
}

// cents finds "name":<number> in a JSON value.
func cents(v []byte, name string) (n int64, ok bool) {
	_, rest, ok := strings.Cut(string(v), `"`+name+`":`)
	if !ok {
		return 0, false
	}
	end := strings.IndexAny(rest, ",}")
	if end < 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(rest[:end], 64)
	return int64(math.Round(f * 100)), err == nil
}
