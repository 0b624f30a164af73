package verify

import (
	"encoding/binary"
	"errors"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
)

// A lane names the way by which an event came. Two events of one lane come in a known order everywhere below it; of two
// events of different lanes that meet in one place, either may come first.
type lane uint64

// laneOf is the lane of a partition of a source.
func laneOf(source int, topic string, partition int32) lane {
	return lane(xxhash.Sum64String(topic)).then(uint64(source)).then(uint64(partition))
}

// then is the lane of what went a certain way on.
func (l lane) then(way uint64) lane {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(l))
	binary.BigEndian.PutUint64(b[8:], way)
	return lane(xxhash.Sum64(b[:]))
}

// thenKey is the lane after an exchange: events of different keys may be with different subtasks, and no longer follow each
// other.
func (l lane) thenKey(key []byte) lane { return l.then(xxhash.Sum64(key)) }

// firstSeen is how a key first came to an operator.
type firstSeen struct {
	lane      lane
	topic     uint8 // a number of loop.topics
	partition int32
}

// lanes remembers how each key first came to each keyed operator. What was asked for last is in memory.
type lanes struct {
	ledger *ledger
	cache  map[string]firstSeen
	name   []byte
}

// cachedLanes bounds the cache, in keys.
const cachedLanes = 1 << 16

// first returns how the key first came to the operator, now if it never did.
func (l *lanes) first(step int, key []byte, now firstSeen) (firstSeen, error) {
	l.name = append(binary.BigEndian.AppendUint16(append(l.name[:0], laneSpace), uint16(step)), key...)
	if was, ok := l.cache[string(l.name)]; ok {
		return was, nil
	}
	if len(l.cache) >= cachedLanes {
		clear(l.cache)
	}
	db := l.ledger.db
	b, closer, err := db.Get(l.name)
	switch {
	case err == nil:
		was := firstSeen{lane(binary.BigEndian.Uint64(b)), b[8], int32(binary.BigEndian.Uint32(b[9:]))}
		l.cache[string(l.name)] = was
		return was, closer.Close()
	case !errors.Is(err, pebble.ErrNotFound):
		return now, err
	}
	v := append(binary.BigEndian.AppendUint64(nil, uint64(now.lane)), now.topic)
	v = binary.BigEndian.AppendUint32(v, uint32(now.partition))
	l.cache[string(l.name)] = now
	return now, db.Set(l.name, v, pebble.NoSync)
}
