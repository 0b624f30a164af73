package source

import (
	"encoding/binary"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// The header of an lz4 frame ("LZ4 Frame format description", version 1.6): magic (4), flags (1), largest size of a block (1),
// then, if the flags say so, the size of the content (8) and the ID of a dictionary (4), and a checksum of the header (1).
// Blocks follow, each behind its size (4), whose highest bit says that it is not compressed; a size of 0 ends the frame.
const (
	lz4Magic = 0x184d2204

	lz4FlagVersion         = 0xc0 // 01
	lz4FlagIndependent     = 0x20
	lz4FlagBlockChecksum   = 0x10
	lz4FlagContentSize     = 0x08
	lz4FlagContentChecksum = 0x04
	lz4FlagDictionary      = 0x01

	lz4Stored = 1 << 31
)

// mostUnpacked is up to which size frames are read here.
const mostUnpacked = 1 << 30

// unpackLz4 appends what an lz4 frame holds to out, block by block to its place: a reader of streams copies it twice, and sums
// up checksums although the record batch has one of its own. ok is false for everything that Kafka's clients do not write
// (blocks that need those before them, dictionaries, several frames) and for what is damaged; out is lost then.
func unpackLz4(out, src []byte) (_ []byte, ok bool) {
	le := binary.LittleEndian
	if len(src) < 7 || le.Uint32(src) != lz4Magic {
		return nil, false
	}
	flags, largest := src[4], 1<<(8+2*(src[5]>>4&7))
	if flags&lz4FlagVersion != 0x40 || flags&lz4FlagIndependent == 0 || flags&lz4FlagDictionary != 0 || largest < 64<<10 {
		return nil, false
	}
	header := 7
	if flags&lz4FlagContentSize != 0 {
		header += 8
	}
	for src = src[min(header, len(src)):]; len(src) >= 4; {
		word := le.Uint32(src)
		src = src[4:]
		if word == 0 {
			if flags&lz4FlagContentChecksum != 0 {
				return out, len(src) == 4
			}
			return out, len(src) == 0
		}
		size := int(word &^ lz4Stored)
		if size > len(src) || size > largest {
			return nil, false
		}
		if word&lz4Stored != 0 {
			out = append(out, src[:size]...)
		} else if out, ok = unpackBlock(out, src[:size], largest); !ok {
			return nil, false
		}
		src = src[size:]
		if flags&lz4FlagBlockChecksum != 0 {
			src = src[min(4, len(src)):]
		}
	}
	return nil, false
}

// unpackBlock appends a block, which becomes no more than largest bytes. Mostly there is room for it; if not, how much it
// needs is found by trying.
func unpackBlock(out, block []byte, largest int) (_ []byte, ok bool) {
	for room := cap(out) - len(out); ; {
		room = min(room, largest)
		n, err := lz4.UncompressBlock(block, out[len(out):len(out)+room])
		if err == nil {
			return out[:len(out)+n], true
		}
		if room == largest || len(out) > mostUnpacked {
			return nil, false
		}
		room = max(2*room, 4*len(block))
		out = slices.Grow(out, min(room, largest))
	}
}
