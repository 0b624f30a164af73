package source

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestReleasedRecordsAreZero: who still looks at a record of a batch that was given back finds nothing, and not another
// batch's record that looks right. The bytes it pointed to stay.
func TestReleasedRecordsAreZero(t *testing.T) {
	var batches []Batch
	u := &unpacker{max: 100, committed: true, codecs: newDecompressor(), emit: func(b Batch) error {
		batches = append(batches, b)
		return nil
	}}
	const records = 300
	raw := stored(t, kgo.Lz4Compression(), records).RecordBatches
	for round := range 3 {
		batches = nil
		if err := u.unpack(&part{split: &split{}, raw: raw, from: 0, next: records, count: records}); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, b := range batches {
			kept, value := b.Records, b.Records[0].Value
			for i := range b.Records {
				if got, want := string(b.Records[i].Value), fmt.Sprint("value ", n); got != want {
					t.Fatalf("round %d: record %d has value %s", round, n, got)
				}
				n++
			}
			want := string(value)
			b.Release()
			for i := range kept {
				if kept[i].Key != nil || kept[i].Value != nil || kept[i].Offset != 0 {
					t.Fatalf("round %d: record %d was not cleared: %+v", round, i, kept[i])
				}
			}
			if b.Records != nil || string(value) != want {
				t.Fatalf("round %d: after the release: records %v, value %q", round, b.Records, value)
			}
		}
		if n != records {
			t.Fatalf("round %d: %d records, want %d", round, n, records)
		}
	}
}
