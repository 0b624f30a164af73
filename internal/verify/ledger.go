package verify

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"

	"github.com/weirstream/weir/stream"
)

// A ledger is a temporary Pebble database. It has, by the first byte of a key:
//
//	'w' records that are wanted, by group and in the order in which the loop made them
//	'g' records that were got from the output, by group, partition and offset
//	'l' the lane of each key of each keyed operator (lane.go)
//	's' state of operators that was too large for the memory (state.go)
//
// A group is the records of one key in one topic:
//
//	| topic (1) | 1 | length of key, uvarint | key |     with a key
//	| topic (1) | 0 | hashes of value and headers (16) |   without one: records have no order, so equal ones meet
type ledger struct {
	dir   string
	db    *pebble.DB
	batch *pebble.Batch
	seq   uint64
	key   []byte
	value []byte
}

const (
	wantedSpace = 'w'
	gotSpace    = 'g'
	laneSpace   = 'l'
	stateSpace  = 's'
)

func openLedger(parent string) (*ledger, error) {
	dir, err := os.MkdirTemp(parent, "weir-verify-")
	if err != nil {
		return nil, fmt.Errorf("temporary directory: %w", err)
	}
	cache := pebble.NewCache(64 << 20)
	defer cache.Unref() // the database has its own reference
	db, err := pebble.Open(filepath.Join(dir, "ledger"), &pebble.Options{
		Cache: cache, DisableWAL: true, MemTableSize: 32 << 20, MemTableStopWritesThreshold: 4, L0CompactionThreshold: 8,
		FormatMajorVersion: pebble.FormatNewest, Logger: quiet{},
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("temporary directory %s: %w", dir, err)
	}
	return &ledger{dir: dir, db: db}, nil
}

// quiet takes Pebble's messages.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

// Fatalf is called when Pebble cannot go on. It must not return.
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (l *ledger) close() error {
	err := l.flush()
	if closing := l.db.Close(); err == nil {
		err = closing
	}
	if removing := os.RemoveAll(l.dir); err == nil {
		err = removing
	}
	return err
}

// put adds an entry to what is written together.
func (l *ledger) put(key, value []byte) error {
	if l.batch == nil {
		l.batch = l.db.NewBatch()
	}
	if err := l.batch.Set(key, value, nil); err != nil {
		return err
	}
	if l.batch.Len() < 1<<20 {
		return nil
	}
	return l.flush()
}

func (l *ledger) flush() error {
	if l.batch == nil {
		return nil
	}
	b := l.batch
	l.batch = nil
	if err := b.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("temporary database: %w", err)
	}
	return b.Close()
}

func appendGroup(dst []byte, topic uint8, key []byte, m mark) []byte {
	if key == nil {
		dst = append(dst, topic, 0)
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, m.value), m.headers)
	}
	return append(binary.AppendUvarint(append(dst, topic, 1), uint64(len(key))), key...)
}

// splitGroup takes a key of the 'w' or 'g' space apart; key is nil for a null key. What it returns points into b.
func splitGroup(b []byte) (group []byte, topic uint8, key []byte) {
	topic = b[1]
	if b[2] == 0 {
		return b[1:19], topic, nil
	}
	n, size := binary.Uvarint(b[3:])
	end := 3 + size + int(n)
	return b[1:end], topic, b[3+size : end : end]
}

// wantedEntry is one record that the loop made.
type wantedEntry struct {
	mark     mark
	lane     uint64
	doubt    int32 // the step because of which it is doubtful, -1 for none
	optional bool
	// input is a topic's number plus one, 0 for none, partition and offset.
	inputTopic     uint8
	inputPartition int32
	inputOffset    int64
	null           bool
	value          []byte // its beginning
}

const wantedFixed = 8*3 + 8 + 4 + 1 + 1 + 4 + 8

func (e *wantedEntry) append(dst []byte) []byte {
	dst = appendMark(dst, e.mark)
	dst = binary.BigEndian.AppendUint64(dst, e.lane)
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.doubt))
	flags := byte(0)
	if e.optional {
		flags |= 1
	}
	if e.null {
		flags |= 2
	}
	dst = append(dst, flags, e.inputTopic)
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.inputPartition))
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.inputOffset))
	return append(dst, e.value...)
}

func decodeWanted(b []byte) (e wantedEntry) {
	e.mark = decodeMark(b)
	e.lane = binary.BigEndian.Uint64(b[24:])
	e.doubt = int32(binary.BigEndian.Uint32(b[32:]))
	e.optional, e.null = b[36]&1 != 0, b[36]&2 != 0
	e.inputTopic = b[37]
	e.inputPartition = int32(binary.BigEndian.Uint32(b[38:]))
	e.inputOffset = int64(binary.BigEndian.Uint64(b[42:]))
	e.value = b[wantedFixed:]
	return e
}

func appendMark(dst []byte, m mark) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.value)
	dst = binary.BigEndian.AppendUint64(dst, m.headers)
	return binary.BigEndian.AppendUint64(dst, uint64(m.timestamp))
}

func decodeMark(b []byte) mark {
	return mark{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), int64(binary.BigEndian.Uint64(b[16:]))}
}

// markOf hashes a record. Null and empty are not the same.
func markOf(value []byte, headers []stream.Header, timestamp int64) mark {
	m := mark{timestamp: timestamp}
	if value != nil {
		m.value = xxhash.Sum64(value) | 1
	}
	if len(headers) == 0 {
		return m
	}
	var b []byte
	for _, h := range headers {
		b = append(binary.AppendUvarint(b, uint64(len(h.Key))), h.Key...)
		if h.Value == nil {
			b = append(b, 0)
			continue
		}
		b = append(binary.AppendUvarint(append(b, 1), uint64(len(h.Value))), h.Value...)
	}
	m.headers = xxhash.Sum64(b) | 1
	return m
}

// want notes a record that the output must have, or may have.
func (l *ledger) want(topic uint8, rec *stream.Record, e *wantedEntry) error {
	e.mark = markOf(rec.Value, rec.Headers, rec.Timestamp)
	e.null, e.value = rec.Value == nil, cut(rec.Value)
	l.key = appendGroup(append(l.key[:0], wantedSpace), topic, rec.Key, e.mark)
	l.key = binary.BigEndian.AppendUint64(l.key, l.seq)
	l.seq++
	l.value = e.append(l.value[:0])
	return l.put(l.key, l.value)
}

// gotEntry is one record of the output.
type gotEntry struct {
	mark      mark
	partition int32
	offset    int64
	null      bool
	value     []byte // its beginning
}

// got notes a record of the output.
func (l *ledger) got(topic uint8, rec *stream.Record) error {
	m := markOf(rec.Value, rec.Headers, rec.Timestamp)
	l.key = appendGroup(append(l.key[:0], gotSpace), topic, rec.Key, m)
	l.key = binary.BigEndian.AppendUint32(l.key, uint32(rec.Partition))
	l.key = binary.BigEndian.AppendUint64(l.key, uint64(rec.Offset))
	null := byte(0)
	if rec.Value == nil {
		null = 1
	}
	l.value = append(append(appendMark(l.value[:0], m), null), cut(rec.Value)...)
	return l.put(l.key, l.value)
}

func decodeGot(key, b []byte) gotEntry {
	n := len(key)
	return gotEntry{
		mark:      decodeMark(b),
		partition: int32(binary.BigEndian.Uint32(key[n-12:])), offset: int64(binary.BigEndian.Uint64(key[n-8:])),
		null: b[24] == 1, value: b[25:],
	}
}
