package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Sums holds, per key, the values of a running sum in the order in which they are read.
type Sums map[string][]int64

// RunningSums computes what a job that keeps a running sum of n per key must write for an input: one value for each
// record, in order.
func RunningSums(input map[int32][]*kgo.Record) (Sums, error) {
	sums := Sums{}
	last := map[string]int64{}
	return sums, eachByKey(input, func(key string, v numbers) {
		last[key] += v.N
		sums[key] = append(sums[key], last[key])
	})
}

// ReadSums takes the sums out of what a job wrote.
func ReadSums(output map[int32][]*kgo.Record) (Sums, error) {
	sums := Sums{}
	return sums, eachByKey(output, func(key string, v numbers) { sums[key] = append(sums[key], v.Sum) })
}

type numbers struct {
	Key string `json:"key"`
	N   int64  `json:"n"`
	I   int64  `json:"i"`
	Sum int64  `json:"sum"`
}

// eachByKey decodes records in order of offset. A key must be in one partition only, else its order has no meaning.
func eachByKey(records map[int32][]*kgo.Record, do func(key string, v numbers)) error {
	home := map[string]int32{}
	for _, partition := range slices.Sorted(maps.Keys(records)) {
		for _, r := range records[partition] {
			var v numbers
			if err := json.Unmarshal(r.Value, &v); err != nil {
				return fmt.Errorf("%s partition %d offset %d: %w: %.80q", r.Topic, r.Partition, r.Offset, err, r.Value)
			}
			key := string(r.Key)
			if v.Key != "" && v.Key != key {
				return fmt.Errorf("%s partition %d offset %d: the record's key is %q, its value says %q", r.Topic, r.Partition, r.Offset, key, v.Key)
			}
			if first, seen := home[key]; seen && first != partition {
				return fmt.Errorf("%s: key %q is in partitions %d and %d", r.Topic, key, first, partition)
			}
			home[key] = partition
			do(key, v)
		}
	}
	return nil
}

// Compare says how what was read differs from what should be there: nil if every value of every key is there once and in
// order. The sums of a key grow, so each value stands for one record.
func (want Sums) Compare(got Sums) error {
	var lost, doubled, foreign, disordered int
	var examples []string
	example := func(format string, args ...any) {
		if len(examples) < 5 {
			examples = append(examples, fmt.Sprintf(format, args...))
		}
	}
	keys := map[string]bool{}
	for key := range want {
		keys[key] = true
	}
	for key := range got {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		left := map[int64]int{}
		for _, v := range want[key] {
			left[v]++
		}
		wanted := maps.Clone(left)
		for i, v := range got[key] {
			switch {
			case left[v] > 0:
				left[v]--
			case wanted[v] > 0:
				doubled++
				example("key %s: %d again at place %d", key, v, i)
			default:
				foreign++
				example("key %s: %d at place %d is no sum of its input", key, v, i)
			}
		}
		for _, v := range want[key] {
			if left[v] > 0 {
				left[v]--
				lost++
				example("key %s: %d is missing", key, v)
			}
		}
		for i := 1; i < len(got[key]); i++ {
			if got[key][i] < got[key][i-1] {
				disordered++
				example("key %s: %d stands before %d", key, got[key][i-1], got[key][i])
			}
		}
	}
	if lost+doubled+foreign+disordered == 0 {
		return nil
	}
	return fmt.Errorf("lost %d, doubled %d, wrong %d, out of order %d of %d values: %s",
		lost, doubled, foreign, disordered, want.Len(), strings.Join(examples, "; "))
}

// Len is the number of values of all keys.
func (want Sums) Len() int {
	n := 0
	for _, values := range want {
		n += len(values)
	}
	return n
}

// CountByKey counts the records of each key whose number satisfies the condition.
func CountByKey(input map[int32][]*kgo.Record, counts func(i int64) bool) (map[string]int, error) {
	n := map[string]int{}
	return n, eachByKey(input, func(key string, v numbers) {
		if counts(v.I) {
			n[key]++
		}
	})
}
