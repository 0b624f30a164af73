package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// batchRecords is how many records a batch of the input has, inputBatches how many batches of a partition differ: after
	// them the first one comes again.
	batchRecords = 1000
	inputBatches = 128
	inputUsers   = 200_000
)

// inputLog is one partition of the input: batches that repeat.
type inputLog struct {
	batches [][]byte
	end     int64 // offset behind the last record
}

// newInputLog makes a partition of about so many records, of the form that bench/peers/go/gen writes.
func newInputLog(partition, records int) (inputLog, error) {
	l := inputLog{end: int64(max(1, records/batchRecords)) * batchRecords}
	rng := rand.New(rand.NewPCG(1, uint64(partition)))
	for range min(inputBatches, l.end/batchRecords) {
		b, err := inputBatch(rng)
		if err != nil {
			return inputLog{}, err
		}
		l.batches = append(l.batches, b)
	}
	return l, nil
}

// read returns whole batches from the one that holds the offset on: at least one, as a broker does, if any is left.
func (l *inputLog) read(offset int64, most int) (out []byte) {
	for base := offset / batchRecords * batchRecords; base < l.end; base += batchRecords {
		b := l.batches[base/batchRecords%int64(len(l.batches))]
		if len(out) > 0 && len(out)+len(b) > most {
			break
		}
		if out == nil {
			out = make([]byte, 0, max(most, len(b)))
		}
		at := len(out)
		out = append(out, b...)
		binary.BigEndian.PutUint64(out[at:], uint64(base)) // the checksum begins behind it
	}
	return out
}

// inputBatch makes a record batch, compressed with lz4 as the peers' input.
func inputBatch(rng *rand.Rand) ([]byte, error) {
	const base = 1_795_977_600_000
	var records []byte
	for i := range batchRecords {
		user := fmt.Sprintf("u%07d", rng.IntN(inputUsers))
		value := fmt.Sprintf(`{"user":"%s","page":"/p/%d","ts":%d,"amount":%.2f,"country":"DE","ref":"%016x%08x"}`,
			user, rng.IntN(1000), base+i, float64(1+rng.IntN(4000))/100, rng.Uint64(), rng.Uint32())
		r := kmsg.Record{TimestampDelta64: int64(i), OffsetDelta: int32(i), Key: []byte(user), Value: []byte(value)}
		body := r.AppendTo(nil)[1:] // behind the length 0, a varint
		records = binary.AppendVarint(records, int64(len(body)))
		records = append(records, body...)
	}
	compressor, err := kgo.DefaultCompressor(kgo.Lz4Compression())
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	compressed, codec := compressor.Compress(&packed, records)
	b := kmsg.RecordBatch{
		Magic: 2, Attributes: int16(codec), LastOffsetDelta: batchRecords - 1, FirstTimestamp: base, MaxTimestamp: base + batchRecords - 1,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: batchRecords, Records: compressed,
	}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw, nil
}
