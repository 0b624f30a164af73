package source

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// oneBatch is a record batch with the given records, in the form that brokers send.
func oneBatch(attributes uint16, count int32, records []byte) []byte {
	b := make([]byte, batchHeader, batchHeader+len(records))
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], attributes)
	binary.BigEndian.PutUint32(b[23:], uint32(max(0, count-1)))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	return sealed(append(b, records...))
}

// sealed makes length and checksum of a record batch right.
func sealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

// oneRecord is a record with a key, a value and a header.
func oneRecord(delta byte) []byte {
	body := []byte{0, 0, 2 * delta, 2, 'k', 2, 'v', 2, 2, 'h', 2, '1'}
	return append([]byte{byte(2 * len(body))}, body...)
}

// Whatever a broker sends, with whatever checksum: records within what was asked for, or an error, and no more memory than
// the bytes can be worth.
func FuzzRecordBatches(f *testing.F) {
	two := append(oneRecord(0), oneRecord(1)...)
	f.Add(oneBatch(0, 2, two), int64(0), int64(5), true)
	f.Add(append(oneBatch(0, 2, two), oneBatch(attrControl|attrTransactional, 1, oneRecord(0))...), int64(1), int64(-1), true)
	f.Add(oneBatch(attrLogAppendTime, 1<<30, two), int64(0), int64(-1), true)
	// A record that claims 2^62 headers.
	huge := []byte{0, 0, 0, 0, 1, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}
	f.Add(oneBatch(0, 1, huge), int64(0), int64(-1), true)
	for codec := range uint16(5) {
		f.Add(oneBatch(codec, 2, two), int64(0), int64(-1), true)
	}
	f.Add(make([]byte, 20), int64(0), int64(-1), false)
	f.Fuzz(func(t *testing.T, in []byte, from, stop int64, seal bool) {
		if from < 0 || stop < from && stop != -1 || len(in) > 1<<20 {
			return
		}
		if seal && len(in) >= batchHeader && in[16] == 2 {
			in = sealed(in)
		}
		plain := len(in) >= batchHeader && in[16] == 2 && binary.BigEndian.Uint16(in[21:])&attrCompression == 0
		p := &kmsg.FetchResponseTopicPartition{RecordBatches: in, HighWatermark: 1 << 40, LastStableOffset: 1 << 40,
			AbortedTransactions: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 0, FirstOffset: 3}}}
		var before, after goruntime.MemStats
		measured := rand.IntN(64) == 0 // it stops the world
		if measured {
			goruntime.ReadMemStats(&before)
		}
		recs, err := decode(p, from, stop)
		if measured && plain && seal {
			goruntime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20+1000*uint64(len(in)) {
				t.Errorf("%d bytes took %d bytes of memory", len(in), used)
			}
		}
		if err != nil {
			return
		}
		for _, r := range recs {
			if r.Offset < from || stop >= 0 && r.Offset >= stop {
				t.Errorf("a record at offset %d of [%d,%d)", r.Offset, from, stop)
			}
			for _, h := range r.Headers {
				_ = h.Key + string(h.Value)
			}
		}
	})
}
