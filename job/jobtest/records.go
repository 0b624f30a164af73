package jobtest

import (
	"fmt"
	"slices"

	"github.com/weirstream/weir/stream"
)

// KV is a record with a key and a value. A null is a nil Key or Value of a stream.Record.
func KV(key, value string) stream.Record {
	return stream.Record{Key: []byte(key), Value: []byte(value)}
}

// Records are records of a topic, in order within each partition.
type Records []stream.Record

// ByKey returns the values of each key, in order. A record without a key counts as one with the empty key.
func (r Records) ByKey() map[string][]string {
	out := map[string][]string{}
	for _, rec := range r {
		out[string(rec.Key)] = append(out[string(rec.Key)], string(rec.Value))
	}
	return out
}

// diff says where the values of some key differ. Those of the empty key have no order.
func diff(got, want map[string][]string) error {
	for k, w := range want {
		g := got[k]
		if k == "" {
			g, w = slices.Sorted(slices.Values(g)), slices.Sorted(slices.Values(w))
		}
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				return fmt.Errorf("key %q: result %d is %s, want %s", k, i, g[i], w[i])
			}
		}
		if len(g) != len(w) {
			return fmt.Errorf("key %q: %d results, want %d", k, len(g), len(w))
		}
	}
	for k, g := range got {
		if _, ok := want[k]; !ok {
			return fmt.Errorf("key %q: %d results, want none", k, len(g))
		}
	}
	return nil
}
