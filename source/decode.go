package source

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/stream"
)

// A record batch as Kafka stores it (format 2, since 0.11; "Record Batch" in Kafka's documentation):
//
//	 0 base offset (8)       16 magic (1)              27 first timestamp (8)   51 producer epoch (2)
//	 8 length from 12 on (4) 17 CRC-32C from 21 on (4) 35 max timestamp (8)     53 base sequence (4)
//	12 leader epoch (4)      21 attributes (2)         43 producer ID (8)       57 records (4)
//	                         23 last offset delta (4)                           61 the records, compressed or not
const batchHeader = 61

const (
	attrCompression   = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rawBatch is one record batch of a fetch, not decoded. Of messages in the formats before 2 only base, last and magic are
// known.
type rawBatch struct {
	bytes      []byte
	base, last int64
	magic      byte
	attributes uint16
	count      int
}

func (b *rawBatch) control() bool { return b.attributes&attrControl != 0 }

// cutBatch splits the first record batch off. ok is false at the end of in, which may be in the middle of a batch: a
// broker cuts a fetch by bytes.
func cutBatch(in []byte) (b rawBatch, rest []byte, ok bool, err error) {
	if len(in) < 17 {
		return b, nil, false, nil
	}
	b.base = int64(binary.BigEndian.Uint64(in))
	length := int64(int32(binary.BigEndian.Uint32(in[8:]))) + 12
	if length < 17 {
		return b, nil, false, fmt.Errorf("its length is %d", length)
	}
	if int64(len(in)) < length {
		return b, nil, false, nil
	}
	b.bytes, b.magic = in[:length:length], in[16]
	switch {
	case b.magic < 2:
		b.last = b.base // of a compressed set it is the offset of its last message
	case b.magic > 2:
		return b, nil, false, fmt.Errorf("its format %d is not known", b.magic)
	case length < batchHeader:
		return b, nil, false, fmt.Errorf("its length is %d", length)
	default:
		b.attributes = binary.BigEndian.Uint16(in[21:])
		b.last = b.base + int64(binary.BigEndian.Uint32(in[23:]))
		b.count = int(int32(binary.BigEndian.Uint32(in[57:])))
		if b.count < 0 || b.last < b.base {
			return b, nil, false, fmt.Errorf("it claims %d records up to offset %d", b.count, b.last)
		}
	}
	return b, in[length:], true, nil
}

func (b *rawBatch) leaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b.bytes[12:])) }
func (b *rawBatch) producer() int64    { return int64(binary.BigEndian.Uint64(b.bytes[43:])) }

// payload checks the batch and returns its records, decompressed.
func (b *rawBatch) payload(d *decompressor) ([]byte, error) {
	if sum := binary.BigEndian.Uint32(b.bytes[17:]); sum != crc32.Checksum(b.bytes[21:], castagnoli) {
		return nil, fmt.Errorf("its checksum does not match")
	}
	codec := kgo.CompressionCodecType(b.attributes & attrCompression)
	if codec == 0 {
		return b.bytes[batchHeader:], nil
	}
	return d.decompress(b.bytes[batchHeader:], codec)
}

// isAbort reports whether a control batch says that its producer's transaction was aborted. The key of a control record
// is a version and a type, 2 bytes each; type 0 is an abort.
func isAbort(payload []byte) bool {
	r := recordReader{in: payload}
	r.varint() // length
	r.skip(1)
	r.varint()
	r.varint()
	key := r.bytes()
	return !r.bad && len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}

// aborts knows the transactions that a fetch says were aborted: by producer, the first offsets, least first.
type aborts map[int64][]int64

func newAborts(list []kmsg.FetchResponseTopicPartitionAbortedTransaction) aborts {
	if len(list) == 0 {
		return nil
	}
	a := aborts{}
	for _, t := range list {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, first := range a {
		slices.Sort(first)
	}
	return a
}

// covers reports whether a batch belongs to an aborted transaction.
func (a aborts) covers(b *rawBatch) bool {
	if len(a) == 0 || b.attributes&attrTransactional == 0 {
		return false
	}
	first := a[b.producer()]
	return len(first) > 0 && b.base >= first[0]
}

// marker notes the end of the producer's aborted transaction.
func (a aborts) marker(b *rawBatch) {
	if first := a[b.producer()]; len(first) > 0 && b.base >= first[0] {
		a[b.producer()] = first[1:]
	}
}

// recordReader reads the fields of records one after the other; bad says that it ran over the end.
type recordReader struct {
	in  []byte
	pos int // what is before it has been read
	bad bool
}

// varint takes the one or two bytes that most are by the short way.
func (r *recordReader) varint() int64 {
	if p := r.pos; p < len(r.in) && r.in[p] < 0x80 {
		r.pos++
		return int64(r.in[p]>>1) ^ -int64(r.in[p]&1)
	}
	return r.longVarint()
}

func (r *recordReader) longVarint() int64 {
	if p := r.pos; p+1 < len(r.in) && r.in[p+1] < 0x80 {
		r.pos += 2
		u := uint(r.in[p]&0x7f) | uint(r.in[p+1])<<7
		return int64(u>>1) ^ -int64(u&1)
	}
	v, n := binary.Varint(r.in[r.pos:])
	if n <= 0 {
		r.fail()
		return 0
	}
	r.pos += n
	return v
}

func (r *recordReader) fail() { r.bad, r.pos = true, len(r.in) }

func (r *recordReader) skip(n int) {
	if r.pos += n; r.pos > len(r.in) {
		r.fail()
	}
}

// bytes reads a length and as many bytes; nil for Kafka's null.
func (r *recordReader) bytes() []byte {
	n := r.varint()
	if n < 0 {
		return nil
	}
	if n > int64(len(r.in)-r.pos) {
		r.fail()
		return nil
	}
	from := r.pos
	r.pos += int(n)
	return r.in[from:r.pos:r.pos]
}

// batchReader hands out the records of one decoded batch. What they point to is the batch's payload.
type batchReader struct {
	recordReader
	base, first, maxTime int64
	appendTime           bool
	left                 int
	// headers is the rest of an allocation that headers of several records share.
	headers []stream.Header
}

func (r *batchReader) reset(b *rawBatch, payload []byte) {
	r.recordReader = recordReader{in: payload}
	r.base, r.left = b.base, b.count
	r.first = int64(binary.BigEndian.Uint64(b.bytes[27:]))
	r.maxTime = int64(binary.BigEndian.Uint64(b.bytes[35:]))
	r.appendTime = b.attributes&attrLogAppendTime != 0
}

// read fills rec with the next record; bad is set if there is none.
func (r *batchReader) read(rec *stream.Record) {
	r.left--
	r.varint() // length
	r.skip(1)  // attributes, not used by Kafka
	rec.Timestamp = r.first + r.varint()
	if r.appendTime {
		rec.Timestamp = r.maxTime
	}
	rec.Offset = r.base + r.varint()
	rec.Key = r.bytes()
	rec.Value = r.bytes()
	if n := r.varint(); n != 0 {
		r.readHeaders(rec, n)
	}
}

func (r *batchReader) readHeaders(rec *stream.Record, n int64) {
	if n < 0 || n > int64(len(r.in)-r.pos)/2 { // a header takes two bytes at least
		r.fail()
		return
	}
	if int64(len(r.headers)) < n {
		r.headers = make([]stream.Header, max(int(n), min(int(n)*(r.left+1), 1024)))
	}
	rec.Headers, r.headers = r.headers[:n:n], r.headers[n:]
	for i := range rec.Headers {
		key := r.bytes()
		if len(key) > 0 {
			rec.Headers[i].Key = unsafe.String(&key[0], len(key)) // the payload is never changed
		}
		rec.Headers[i].Value = r.bytes()
	}
}
