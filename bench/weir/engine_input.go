package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// batchRecords is how many records a batch of the input has, inputBatches how many batches of a partition differ if time
	// need not move on: after them the first one comes again.
	batchRecords = 1000
	inputBatches = 128
	inputUsers   = 200_000
	// inputBase is when the input begins, and inputDisorder how much a record may be behind, milliseconds.
	inputBase     = 1_795_977_600_000
	inputDisorder = 2000
)

// inputLog is one partition of the input: batches, which may repeat.
type inputLog struct {
	batches [][]byte
	end     int64 // offset behind the last record
}

// newInputLog makes a partition of about so many records, of the form that bench/peers/go/gen writes. At most so many batches
// differ; event time goes on within these, a millisecond a record.
func newInputLog(partition, records int, differ int64) (inputLog, error) {
	l := inputLog{end: int64(max(1, records/batchRecords)) * batchRecords}
	rng := rand.New(rand.NewPCG(1, uint64(partition)))
	for i := range min(differ, l.end/batchRecords) {
		b, err := inputBatch(rng, inputBase+i*batchRecords)
		if err != nil {
			return inputLog{}, err
		}
		if b, err = outsideHeap(b); err != nil {
			return inputLog{}, err
		}
		l.batches = append(l.batches, b)
	}
	return l, nil
}

// outsideHeap moves bytes to where the garbage collector does not count them: with all of the input on its heap it would
// hardly ever run. The memory is the process's to its end.
func outsideHeap(b []byte) ([]byte, error) {
	mapped, err := syscall.Mmap(-1, 0, len(b), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	return mapped[:copy(mapped, b)], nil
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
func inputBatch(rng *rand.Rand, base int64) ([]byte, error) {
	var records, key, value []byte
	for i := range batchRecords {
		key = appendDigits(append(key[:0], 'u'), rng.IntN(inputUsers), 7)
		value = append(append(append(value[:0], `{"user":"`...), key...), `","page":"/p/`...)
		value = strconv.AppendInt(value, rng.Int64N(1000), 10)
		value = strconv.AppendInt(append(value, `","ts":`...), base+int64(i)-rng.Int64N(inputDisorder), 10)
		value = strconv.AppendFloat(append(value, `,"amount":`...), float64(1+rng.IntN(4000))/100, 'f', 2, 64)
		value = strconv.AppendUint(append(value, `,"country":"DE","ref":"`...), rng.Uint64()|1<<63, 16)
		value = append(strconv.AppendUint(value, uint64(rng.Uint32()|1<<31), 16), `"}`...)
		r := kmsg.Record{TimestampDelta64: int64(i), OffsetDelta: int32(i), Key: key, Value: value}
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

// appendDigits writes n with that many digits.
func appendDigits(b []byte, n, digits int) []byte {
	at := len(b) + digits
	b = append(b, "00000000"[:digits]...)
	for ; n > 0; n /= 10 {
		at--
		b[at] = '0' + byte(n%10)
	}
	return b
}
