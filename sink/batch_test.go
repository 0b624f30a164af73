package sink

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/stream"
)

func timeOf(ms int64) time.Time { return time.UnixMilli(ms) }

func describe(r *kgo.Record) string {
	return fmt.Sprintf("%#v %#v %v %d", r.Key, r.Value, r.Headers, r.Timestamp.UnixMilli())
}

func variedRecords() []stream.Record {
	const now = 1_700_000_000_000
	records := []stream.Record{
		{Key: []byte("k"), Value: []byte("v"), Timestamp: now},
		{Key: nil, Value: nil, Timestamp: now - 1},
		{Key: []byte{}, Value: []byte{}, Timestamp: now + 1<<40},
		{Key: []byte("h"), Value: []byte("v"), Timestamp: 0, Headers: []stream.Header{{Key: "a", Value: nil}, {Key: "", Value: []byte("x")}}},
		{Key: []byte(strings.Repeat("key", 100)), Value: []byte(strings.Repeat("value ", 5000)), Timestamp: now},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		value := make([]byte, rng.IntN(200))
		for j := range value {
			value[j] = byte(rng.IntN(256))
		}
		records = append(records, stream.Record{Key: fmt.Appendf(nil, "key-%d", i), Value: value, Timestamp: now + int64(rng.IntN(1000)-500)})
	}
	return records
}

// What we write is what kgo reads, record by record, and the sizes computed ahead are exact.
func TestABatchIsReadAsWritten(t *testing.T) {
	for _, compression := range Compressions {
		t.Run(compression, func(t *testing.T) {
			codec, err := newCodec(compression)
			must(t, err)
			records := variedRecords()
			b := openBatch(0)
			b.producer, b.epoch, b.sequence, b.transactional = 7, 3, 11, true
			for i := range records {
				before := len(b.raw.b)
				body, total := b.recordSize(&records[i])
				b.append(&records[i], body, total, 1<<20)
				if got := len(b.raw.b) - before; got != total {
					t.Fatalf("record %d takes %d bytes, computed %d", i, got, total)
				}
			}
			b.encode(codec)
			var raw kmsg.RecordBatch
			must(t, raw.ReadFrom(b.out.b))
			if raw.ProducerID != 7 || raw.ProducerEpoch != 3 || raw.FirstSequence != 11 || raw.Attributes&(1<<4) == 0 {
				t.Errorf("header %+v", raw)
			}
			p := kmsg.NewFetchResponseTopicPartition()
			p.RecordBatches = b.out.b
			fetched, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t"}, &p, kgo.DefaultDecompressor(), nil)
			must(t, fetched.Err)
			if len(fetched.Records) != len(records) {
				t.Fatalf("%d records, want %d", len(fetched.Records), len(records))
			}
			for i, got := range fetched.Records {
				want := records[i]
				if !bytes.Equal(got.Key, want.Key) || (got.Key == nil) != (want.Key == nil) ||
					!bytes.Equal(got.Value, want.Value) || (got.Value == nil) != (want.Value == nil) ||
					got.Timestamp.UnixMilli() != want.Timestamp || got.Offset != int64(i) || len(got.Headers) != len(want.Headers) {
					t.Fatalf("record %d: %s, want %+v", i, describe(got), want)
				}
				for j, h := range got.Headers {
					if h.Key != want.Headers[j].Key || !bytes.Equal(h.Value, want.Headers[j].Value) {
						t.Errorf("record %d header %d: %v", i, j, h)
					}
				}
			}
		})
	}
}

func TestVarintSizeIsThatOfTheVarint(t *testing.T) {
	for shift := range 64 {
		for _, v := range []int64{1 << shift, 1<<shift - 1, -1 << shift, 0, -1} {
			want := binary.AppendVarint(nil, v)
			var room [binary.MaxVarintLen64]byte
			if got := room[:putVarint(room[:], v)]; !bytes.Equal(got, want) || varintSize(v) != len(want) {
				t.Errorf("%d: %x with size %d, want %x", v, got, varintSize(v), want)
			}
		}
	}
}

// The values are those of Kafka's UtilsTest.
func TestMurmur2IsKafkas(t *testing.T) {
	for key, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestPartitionsAreThoseOfKafkasProducers(t *testing.T) {
	hash := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for i := range 1000 {
		key := fmt.Appendf(nil, "key-%08d", i*i)[i%9:]
		for _, n := range []int{1, 3, 4, 50} {
			if got, want := partitionOf(key, n), hash.Partition(&kgo.Record{Key: key}, n); int(got) != want {
				t.Fatalf("key %q of %d: %d, want %d", key, n, got, want)
			}
		}
	}
}
