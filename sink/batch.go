package sink

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
	"sync"
	"time"

	"github.com/weirstream/weir/stream"
)

// headerSize is the size of a record batch (format 2) before its records.
const headerSize = 61

// batch is a record batch of one partition on its way: open in a writer, then in its partition's queue until it is
// acknowledged. Who has it owns it; once queued, its fields belong to the lock of the Transactions, but for the encoder.
type batch struct {
	part       *partition
	checkpoint int64
	slot       *slot
	// raw holds room for the header and then the records, uncompressed; out is what is sent. Without compression out is raw.
	raw, out *buffer
	// size is what the batch counts for in the bytes that are buffered.
	size int
	n    int32
	// firstTime and maxTime are timestamps, milliseconds since the Unix epoch.
	firstTime, maxTime int64
	// transactional batches are part of their slot's transaction. The others have no producer: id, epoch and sequence are -1.
	transactional bool
	producer      int64
	epoch         int16
	sequence      int32
	encoded       bool
	// deadline is when the attempt ends if the batch is not acknowledged; it counts from the first try.
	deadline time.Time
	// done, if set, is told the offset of the first record.
	done func(offset int64)
	next *batch
}

// buffer is a pooled slice.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// getBuffer returns an empty buffer with room for n bytes.
func getBuffer(n int) *buffer {
	buf := buffers.Get().(*buffer)
	if cap(buf.b) < n {
		buf.b = make([]byte, 0, n)
	}
	buf.b = buf.b[:0]
	return buf
}

// putBuffer gives a buffer back, unless it is so large that only a rare record needs it.
func putBuffer(buf *buffer) {
	if buf != nil && cap(buf.b) <= 4<<20 {
		buffers.Put(buf)
	}
}

// openBatch begins a batch with room for n bytes.
func openBatch(n int) *batch {
	b := &batch{raw: getBuffer(max(n, 512))}
	b.raw.b = b.raw.b[:headerSize]
	return b
}

// recordSize returns how many bytes the record takes as the next of the batch: body without, total with its length prefix.
func (b *batch) recordSize(rec *stream.Record) (body, total int) {
	body = 1 + varintSize(b.delta(rec.Timestamp)) + varintSize(int64(b.n)) + bytesSize(rec.Key) + bytesSize(rec.Value) +
		varintSize(int64(len(rec.Headers)))
	for i := range rec.Headers {
		h := &rec.Headers[i]
		body += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}
	return body, varintSize(int64(body)) + body
}

// delta is relative to the first record; it wraps around, and so does the reader's sum.
func (b *batch) delta(timestamp int64) int64 {
	if b.n == 0 {
		return 0
	}
	return timestamp - b.firstTime
}

// append adds a record; sizes come from recordSize, and limit is what the buffer need not grow beyond ahead of need.
func (b *batch) append(rec *stream.Record, body, total, limit int) {
	at := len(b.raw.b)
	if need := at + total; need > cap(b.raw.b) {
		b.grow(need, limit)
	}
	delta := b.delta(rec.Timestamp)
	if b.n == 0 {
		b.firstTime, b.maxTime = rec.Timestamp, rec.Timestamp
	}
	b.maxTime = max(b.maxTime, rec.Timestamp)
	b.raw.b = b.raw.b[:at+total]
	dst := b.raw.b[at:]
	dst = dst[putVarint(dst, int64(body)):]
	dst[0] = 0 // attributes: none are defined
	dst = dst[1:]
	dst = dst[putVarint(dst, delta):]
	dst = dst[putVarint(dst, int64(b.n)):]
	dst = dst[putBytes(dst, rec.Key):]
	dst = dst[putBytes(dst, rec.Value):]
	dst = dst[putVarint(dst, int64(len(rec.Headers))):]
	for i := range rec.Headers {
		h := &rec.Headers[i]
		dst = dst[putVarint(dst, int64(len(h.Key))):]
		dst = dst[copy(dst, h.Key):]
		dst = dst[putBytes(dst, h.Value):]
	}
	b.n++
}

func (b *batch) grow(need, limit int) {
	bigger := getBuffer(max(need, min(4*cap(b.raw.b), limit)))
	bigger.b = append(bigger.b, b.raw.b...)
	putBuffer(b.raw)
	b.raw = bigger
}

// encode turns raw into out: compressed, and with its header. Sequence, producer and epoch must be known.
func (b *batch) encode(c *codec) {
	attributes := uint16(0)
	b.out = b.raw
	if c.attribute != 0 {
		records := b.raw.b[headerSize:]
		b.out = getBuffer(headerSize + c.bound(len(records)))
		b.out.b = c.compress(b.out.b[:headerSize], records)
		attributes = c.attribute
		putBuffer(b.raw)
	}
	b.raw = nil
	if b.transactional {
		attributes |= 1 << 4
	}
	b.header(attributes)
}

// header fills in the first 61 bytes of out; see the format of a record batch in Kafka's protocol guide.
func (b *batch) header(attributes uint16) {
	h, be := b.out.b, binary.BigEndian
	be.PutUint64(h[0:], 0)                                   // base offset: the broker's business
	be.PutUint32(h[8:], uint32(len(h)-12))                   // length of what follows
	be.PutUint32(h[12:], math.MaxUint32)                     // partition leader epoch: -1
	h[16] = 2                                                // magic
	be.PutUint16(h[21:], attributes)                         //
	be.PutUint32(h[23:], uint32(b.n-1))                      // last offset delta
	be.PutUint64(h[27:], uint64(b.firstTime))                //
	be.PutUint64(h[35:], uint64(b.maxTime))                  //
	be.PutUint64(h[43:], uint64(b.producer))                 //
	be.PutUint16(h[51:], uint16(b.epoch))                    //
	be.PutUint32(h[53:], uint32(b.sequence))                 //
	be.PutUint32(h[57:], uint32(b.n))                        // number of records
	be.PutUint32(h[17:], crc32.Checksum(h[21:], castagnoli)) // of all that follows it
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// free gives the buffers back.
func (b *batch) free() {
	putBuffer(b.out)
	if b.raw != nil && b.raw != b.out {
		putBuffer(b.raw)
	}
	b.raw, b.out = nil, nil
}

// Numbers in records are zigzag varints, as encoding/binary writes them; most take one or two bytes. The put functions write to
// a slice that has room, and return how much they wrote.

func putVarint(dst []byte, v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	if u < 0x80 {
		dst[0] = byte(u)
		return 1
	}
	return putLongVarint(dst, u)
}

func putLongVarint(dst []byte, u uint64) int {
	if u < 1<<14 {
		dst[1] = byte(u >> 7)
		dst[0] = byte(u) | 0x80
		return 2
	}
	return binary.PutUvarint(dst, u)
}

func varintSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	if u < 0x80 {
		return 1
	}
	return (bits.Len64(u) + 6) / 7
}

// putBytes writes nil as null, which is not the same as empty.
func putBytes(dst, b []byte) int {
	if b == nil {
		dst[0] = 1 // -1
		return 1
	}
	n := putVarint(dst, int64(len(b)))
	return n + copy(dst[n:], b)
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}
