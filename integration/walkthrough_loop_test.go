//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
)

// walkLeg is one stretch of a job of the walk-through: what its state has counted when it begins, and what it reads then. The numbers
// are those of the calls of generate, from 1.
type walkLeg struct {
	counted, totalled []int // batches in the count, and in the total
	reads             []int
	totals            bool // whether the job has a total
}

// walkLegs are the legs of each topic, in the order of docs/walk-through.md.
var walkLegs = map[string][]walkLeg{
	"clicks-per-user": {
		{reads: []int{1, 2}},
		{counted: []int{1, 2}, reads: []int{3}, totals: true},                              // from v1
		{counted: []int{1, 2, 3}, totalled: []int{3}, reads: []int{4}, totals: true},       // rescaled
		{counted: []int{1, 2, 3}, totalled: []int{3}, reads: []int{4}, totals: true},       // from checkpoint:ID
		{counted: []int{1, 2}, reads: []int{3, 4}},                                         // the old job, from v1
		{counted: []int{1, 2, 3, 4}, totalled: []int{3, 4}, reads: []int{5}, totals: true}, // from second
		{reads: []int{1, 2, 3, 4, 5}, totals: true},                                        // from again
		{reads: []int{5}, totals: true},                                                    // fresh
	},
	"clicks-per-page": {
		{reads: []int{1, 2}},
		{counted: []int{1, 2}, reads: []int{3, 4}},
	},
	"fork-per-user": {
		{counted: []int{1, 2, 3, 4}, totalled: []int{3, 4}, reads: []int{5}, totals: true},
	},
}

// walkResult is a result of a key. Where the order of the records is not defined, only the last total is: AnyTotal.
type walkResult struct {
	Clicks   int64
	Total    *float64
	AnyTotal bool `json:"-"`
}

func (r walkResult) String() string {
	if r.Total == nil {
		return fmt.Sprint(r.Clicks)
	}
	return fmt.Sprintf("%d/%v", r.Clicks, *r.Total)
}

// inputEnds are the ends of the partitions of views.
func (w *walker) inputEnds(t *testing.T) map[int32]int64 {
	t.Helper()
	ends, err := w.cluster.Admin.ListEndOffsets(harness.Context(t, 10*time.Second), "views")
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	offsets := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) { offsets[o.Partition] = o.Offset })
	return offsets
}

// batch is the number of the generate that wrote a record, from 1.
func (w *walker) batch(r *kgo.Record) int {
	for i, ends := range w.batches {
		if r.Offset < ends[r.Partition] {
			return i + 1
		}
	}
	return 0
}

type walkView struct {
	User, Page string
	Amount     float64
	Click      bool
	batch      int
	partition  int32
}

// checkOutput compares each topic with what a loop over the input computes, leg by leg.
func (w *walker) checkOutput(t *testing.T) {
	t.Helper()
	var views []walkView
	for partition, records := range w.cluster.Read(t, "views") {
		for _, r := range records {
			v := walkView{batch: w.batch(r), partition: partition}
			if err := json.Unmarshal(r.Value, &v); err != nil {
				t.Fatal(err)
			}
			views = append(views, v)
		}
	}
	if len(views) != 5000 || len(w.batches) != 5 {
		t.Fatalf("%d views in %d batches", len(views), len(w.batches))
	}
	for topic, legs := range walkLegs {
		key := func(v walkView) string { return v.User }
		if strings.HasSuffix(topic, "-page") {
			key = func(v walkView) string { return v.Page }
		}
		want := map[string][]walkResult{}
		for _, leg := range legs {
			leg.run(views, key, want)
		}
		got, results := map[string][]walkResult{}, 0
		for _, records := range w.cluster.Read(t, topic) {
			for _, r := range records {
				var result walkResult
				if err := json.Unmarshal(r.Value, &result); err != nil {
					t.Fatal(err)
				}
				got[string(r.Key)] = append(got[string(r.Key)], result)
				results++
			}
		}
		t.Logf("%s: %d results of %d keys", topic, results, len(got))
		for k, wanted := range want {
			if !sameResults(wanted, got[k]) {
				t.Errorf("%s: %s:\nwant %v\ngot  %v", topic, k, wanted, got[k])
			}
			delete(got, k)
		}
		for k, results := range got {
			t.Errorf("%s: %s: made up: %v", topic, k, results)
		}
	}
}

// run adds the results of the leg to those of the legs before it.
func (l walkLeg) run(views []walkView, key func(walkView) string, results map[string][]walkResult) {
	clicks, totals := map[string]int64{}, map[string]float64{}
	for _, v := range views {
		if v.Click && slices.Contains(l.counted, v.batch) {
			clicks[key(v)]++
		}
		if v.Click && slices.Contains(l.totalled, v.batch) {
			totals[key(v)] += v.Amount
		}
	}
	at := map[string]int32{} // the partition of a key's latest record
	first, mixed := map[string]int{}, map[string]bool{}
	for _, v := range views {
		if !v.Click || !slices.Contains(l.reads, v.batch) {
			continue
		}
		k := key(v)
		if partition, seen := at[k]; !seen {
			first[k] = len(results[k])
		} else if partition != v.partition {
			mixed[k] = true
		}
		at[k] = v.partition
		clicks[k]++
		totals[k] += v.Amount
		r := walkResult{Clicks: clicks[k]}
		if l.totals {
			total := totals[k]
			r.Total = &total
		}
		results[k] = append(results[k], r)
	}
	for k := range mixed {
		for i := first[k]; i < len(results[k])-1; i++ {
			results[k][i].AnyTotal = true
		}
	}
}

func sameResults(want, got []walkResult) bool {
	if len(want) != len(got) {
		return false
	}
	for i, w := range want {
		g := got[i]
		if w.Clicks != g.Clicks || (w.Total == nil) != (g.Total == nil) {
			return false
		}
		if w.Total != nil && *w.Total != *g.Total && !w.AnyTotal {
			return false
		}
	}
	return true
}
