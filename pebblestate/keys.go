package pebblestate

import (
	"encoding/binary"
	"fmt"

	"github.com/weirstream/weir/stream"
)

// A key in Pebble and in a delta (docs/formats/state-keys.md):
//
//	| key group | state id | length of key | key | namespace |
//	|  2 bytes  |  2 bytes |    uvarint    |     |           |
//
// Numbers are big endian, so a range of key groups is a range of keys. With its length before it no key is the beginning
// of another, and all namespaces of a key stand together. The namespace belongs to the state: a window's start, a map
// key, an index.

func appendState(dst []byte, group stream.KeyGroup, state uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(dst, uint16(group)), state)
}

func appendKey(dst []byte, group stream.KeyGroup, state uint16, key string, namespace []byte) []byte {
	dst = binary.AppendUvarint(appendState(dst, group, state), uint64(len(key)))
	return append(append(dst, key...), namespace...)
}

// splitKey takes a key apart; what it returns points into b.
func splitKey(b []byte) (group stream.KeyGroup, state uint16, key, namespace []byte, err error) {
	if len(b) >= 5 {
		n, size := binary.Uvarint(b[4:])
		if rest := b[4+max(size, 0):]; size > 0 && n <= uint64(len(rest)) {
			group, state = stream.KeyGroup(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint16(b[2:])
			return group, state, rest[:n], rest[n:], nil
		}
	}
	return 0, 0, nil, nil, fmt.Errorf("%w: %x is not a state key", ErrCorrupt, b)
}

// keyLen is the length that appendKey gives a key.
func keyLen(key string, namespace []byte) int {
	n := 4 + 1 + len(key) + len(namespace)
	for l := len(key); l >= 0x80; l >>= 7 {
		n++
	}
	return n
}

// prefixEnd appends the first key after all that begin with prefix, nothing if there is none such.
func prefixEnd(dst, prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			dst = append(dst, prefix[:i+1]...)
			dst[len(dst)-1]++
			return dst
		}
	}
	return dst
}
