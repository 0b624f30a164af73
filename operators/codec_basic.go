package operators

import (
	"encoding/binary"
	"math"
)

// The codecs of basic types write CBOR by hand: a head byte of major type and length, big endian arguments in the
// shortest form (RFC 8949, section 3). They read what cborCodec writes, and the other way round.

const (
	majorUint   = 0 << 5
	majorNegint = 1 << 5
	majorBytes  = 2 << 5
	majorText   = 3 << 5
	simpleFalse = 0xf4
	simpleTrue  = 0xf5
	simpleNull  = 0xf6
	headFloat64 = 0xfb
)

func appendHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), n)
}

// cutHead splits b into its head and what follows.
func cutHead(b []byte) (major byte, n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, 0, nil, false
	}
	major, info := b[0]&0xe0, b[0]&0x1f
	b = b[1:]
	switch {
	case info < 24:
		return major, uint64(info), b, true
	case info == 24 && len(b) >= 1:
		return major, uint64(b[0]), b[1:], true
	case info == 25 && len(b) >= 2:
		return major, uint64(binary.BigEndian.Uint16(b)), b[2:], true
	case info == 26 && len(b) >= 4:
		return major, uint64(binary.BigEndian.Uint32(b)), b[4:], true
	case info == 27 && len(b) >= 8:
		return major, binary.BigEndian.Uint64(b), b[8:], true
	}
	return 0, 0, nil, false
}

type int64Codec struct{ codecID }

func (c int64Codec) Append(dst []byte, v int64) ([]byte, error) {
	if v < 0 {
		return appendHead(dst, majorNegint, uint64(^v)), nil
	}
	return appendHead(dst, majorUint, uint64(v)), nil
}

func (c int64Codec) Decode(b []byte) (int64, error) {
	major, n, rest, ok := cutHead(b)
	if !ok || len(rest) > 0 || n > math.MaxInt64 || major > majorNegint {
		return decode[int64](c.codecID, b)
	}
	if major == majorNegint {
		return ^int64(n), nil
	}
	return int64(n), nil
}

type uint64Codec struct{ codecID }

func (c uint64Codec) Append(dst []byte, v uint64) ([]byte, error) {
	return appendHead(dst, majorUint, v), nil
}

func (c uint64Codec) Decode(b []byte) (uint64, error) {
	major, n, rest, ok := cutHead(b)
	if !ok || len(rest) > 0 || major != majorUint {
		return decode[uint64](c.codecID, b)
	}
	return n, nil
}

type float64Codec struct{ codecID }

func (c float64Codec) Append(dst []byte, v float64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(append(dst, headFloat64), math.Float64bits(v)), nil
}

func (c float64Codec) Decode(b []byte) (float64, error) {
	if len(b) != 9 || b[0] != headFloat64 {
		return decode[float64](c.codecID, b)
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b[1:])), nil
}

type boolCodec struct{ codecID }

func (c boolCodec) Append(dst []byte, v bool) ([]byte, error) {
	if v {
		return append(dst, simpleTrue), nil
	}
	return append(dst, simpleFalse), nil
}

func (c boolCodec) Decode(b []byte) (bool, error) {
	if len(b) != 1 || b[0] != simpleTrue && b[0] != simpleFalse {
		return decode[bool](c.codecID, b)
	}
	return b[0] == simpleTrue, nil
}

type stringCodec struct{ codecID }

func (c stringCodec) Append(dst []byte, v string) ([]byte, error) {
	return append(appendHead(dst, majorText, uint64(len(v))), v...), nil
}

func (c stringCodec) Decode(b []byte) (string, error) {
	major, n, rest, ok := cutHead(b)
	if !ok || major != majorText || n != uint64(len(rest)) {
		return decode[string](c.codecID, b)
	}
	return string(rest), nil
}

type bytesCodec struct{ codecID }

func (c bytesCodec) Append(dst []byte, v []byte) ([]byte, error) {
	if v == nil {
		return append(dst, simpleNull), nil
	}
	return append(appendHead(dst, majorBytes, uint64(len(v))), v...), nil
}

func (c bytesCodec) Decode(b []byte) ([]byte, error) {
	if len(b) == 1 && b[0] == simpleNull {
		return nil, nil
	}
	major, n, rest, ok := cutHead(b)
	if !ok || major != majorBytes || n != uint64(len(rest)) {
		return decode[[]byte](c.codecID, b)
	}
	return append(make([]byte, 0, len(rest)), rest...), nil
}
