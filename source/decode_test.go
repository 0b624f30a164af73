package source

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/stream"
)

// stored returns a partition as a broker sends it: record batches of the given sizes, with keys and headers.
func stored(t testing.TB, codec kgo.CompressionCodec, sizes ...int) *kmsg.FetchResponseTopicPartition {
	c := newCluster(t.(*testing.T), 1, "in")
	cl := c.client(kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	n := 0
	for _, size := range sizes {
		var recs []*kgo.Record
		for range size {
			recs = append(recs, &kgo.Record{Topic: "in", Key: fmt.Appendf(nil, "key %d", n), Value: fmt.Appendf(nil, "value %d", n),
				Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, n)}}})
			n++
		}
		if err := cl.ProduceSync(context.Background(), recs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	meta, err := lookup{cl}.metadata(context.Background(), []string{"in"})
	if err != nil {
		t.Fatal(err)
	}
	r := &kafkaReader{src: &kafkaSource{opts: KafkaOptions{FetchMaxBytes: 1 << 20, PartitionMaxBytes: 1 << 20}}}
	r.splits = []*split{{Split: checkpoint.Split{Topic: "in", TopicID: meta["in"].id, Stop: -1}, leaderEpoch: -1, place: NewTimeAlignment().Split("", "in", 0)}}
	req, _ := r.request(&broker{id: 0})
	resp, err := cl.Broker(int(meta["in"].partitions[0].leader)).Request(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return &resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

var codecs = newDecompressor()

// decode runs a stored partition through a split and the unpacker.
func decode(p *kmsg.FetchResponseTopicPartition, from, stop int64) ([]stream.Record, error) {
	o := KafkaOptions{Topics: []string{"in"}}
	o.EnsureDefaults()
	s := &split{Split: checkpoint.Split{Topic: "in", Stop: stop}, position: from, high: new(atomic.Int64)}
	out, something, err := s.fetched(p, &o, 0)
	if err != nil || !something {
		return nil, err
	}
	var recs []stream.Record
	u := &unpacker{max: 7, committed: true, codecs: codecs, emit: func(b Batch) error {
		recs = append(recs, b.Records...)
		return nil
	}}
	err = u.unpack(&out)
	return recs, err
}

func TestAnyRangeOfOffsetsIsCutOut(t *testing.T) {
	p := stored(t, kgo.Lz4Compression(), 1, 20, 3)
	for from := range int64(24) {
		for stop := from + 1; stop <= 24; stop++ {
			recs, err := decode(p, from, stop)
			if err != nil || int64(len(recs)) != stop-from {
				t.Fatalf("[%d,%d): %d records, %v", from, stop, len(recs), err)
			}
			for i, r := range recs {
				if n := from + int64(i); r.Offset != n || string(r.Value) != fmt.Sprint("value ", n) || string(r.Headers[0].Value) != fmt.Sprint(n) {
					t.Fatalf("[%d,%d): record %d is %+v", from, stop, i, r)
				}
			}
		}
	}
}

// A broker cuts a response by bytes: what is not whole is left for the next fetch.
func TestBatchThatIsCutOffIsLeftForLater(t *testing.T) {
	p := stored(t, kgo.NoCompression(), 4, 4)
	all := p.RecordBatches
	first, _, _, err := cutBatch(all)
	if err != nil {
		t.Fatal(err)
	}
	for n := range all {
		p.RecordBatches = all[:n]
		recs, err := decode(p, 0, -1)
		want := 0
		if n >= len(first.bytes) {
			want = 4
		}
		if n > 0 && want == 0 {
			if err != errNoProgress { // else it would be asked for again and again without a pause
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil || len(recs) != want {
			t.Fatalf("%d bytes: %d records, %v", n, len(recs), err)
		}
	}
}

// Whatever a disk or a broker does to the bytes, the answer is the records or an error, never others and never a panic.
func TestDamageIsAnError(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "zstd": kgo.ZstdCompression()} {
		t.Run(name, func(t *testing.T) {
			p := stored(t, codec, 5, 5)
			good := p.RecordBatches
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rnd := rand.New(rand.NewPCG(seed, 1))
			for range 3000 {
				bad := append([]byte(nil), good...)
				at, bit := rnd.IntN(len(bad)), byte(1)<<rnd.IntN(8)
				bad[at] ^= bit
				p.RecordBatches = bad
				recs, err := decode(p, 0, -1)
				if err != nil {
					continue
				}
				// What the checksum does not cover (base offset, length, leader epoch) can move or hide records.
				for _, r := range recs {
					if string(r.Value) != "value "+string(r.Headers[0].Value) {
						t.Fatalf("byte %d: got %+v", at, r)
					}
				}
			}
		})
	}
}
